"""What every estimator promises: it is copied, stored and searched over as scikit-learn does it."""

import copy
import functools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from fewer import few
from multiway.errors import DataError, MultiwayError, MultiwayWarning
from tasks.tiny_estimators import ESTIMATORS, estimators

FITTED = few(
    estimators(), "Forecaster", "GridForecaster", "LanguageModel", "StockMovementClassifier",
    "TabularClassifier", "TabularRegressor", "VolumeClassifier",
)  # fmt: skip
"""Those that are fitted once more: the ones with no base but that of all, and of every other base at least one."""


@pytest.fixture(scope="module", params=list(estimators()))
def tiny(request):
    return ESTIMATORS[request.param]()


@pytest.fixture(scope="module")
def fitted(tiny):
    return tiny.make().fit(*tiny.fit)


def assert_same_predictions(left, right, tiny):
    np.testing.assert_array_equal(np.asarray(left.predict(*tiny.new)), np.asarray(right.predict(*tiny.new)))


@pytest.mark.parametrize("tiny", FITTED, indirect=True)
def test_an_unfitted_one_is_copied_and_fitted_in_a_pipeline(tiny, fitted):
    model = tiny.make()
    for duplicate in (clone, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))):
        model = duplicate(model)
        assert repr(model) == repr(tiny.make()) and not hasattr(model, "run_")
    assert_same_predictions(make_pipeline(model).fit(*tiny.fit), fitted, tiny)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
@pytest.mark.parametrize("tiny", FITTED, indirect=True)
def test_a_fitted_one_and_a_loaded_one_are_copied(duplicate, tiny, fitted, tmp_path):
    refitted = duplicate(fitted)
    assert_same_predictions(refitted, fitted, tiny)
    fitted.save(tmp_path / "run")
    loaded = type(fitted).load(tmp_path / "run")
    assert_same_predictions(loaded, fitted, tiny)
    assert_same_predictions(duplicate(loaded), fitted, tiny)


def test_data_without_rows_are_refused_in_one_line(tiny):
    empty = [part[:0] if hasattr(part, "__getitem__") else part for part in tiny.fit]
    with pytest.raises((MultiwayError, ValueError)) as caught:
        tiny.make().fit(*empty)
    assert "\n" not in str(caught.value)


def test_few_rows_are_refused_in_one_line(tiny):
    with pytest.raises(MultiwayError) as caught:
        tiny.make().fit(*(part[:2] for part in tiny.fit))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tiny", FITTED, indirect=True)
def test_a_search_over_a_grid_of_a_pipeline_runs(tiny):
    pipeline = make_pipeline(tiny.make())
    (step,) = pipeline.named_steps
    grid = {f"{step}__{name}": values for name, values in tiny.grid.items()}
    search = GridSearchCV(pipeline, grid, cv=[tiny.split], refit=False, error_score="raise").fit(*tiny.fit)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def times(factor, *parts):
    """Numbers in another unit."""
    return [part * np.float32(factor) for part in parts]


FAR = {
    "Forecaster": lambda frame: [frame.set_index("date") * 1000],
    "VolumeClassifier": functools.partial(times, 1000),
    "VolumeRegressor": functools.partial(times, 1000),
    "Segmenter": functools.partial(times, 1000),
    "StockMovementClassifier": lambda prices: [prices.assign(high=100 * prices["high"])],
    "SeriesClassifier": lambda series: [times(1e5, *series)],
    "TabularClassifier": lambda rows: [rows.assign(weight=1000 * rows["weight"])],
    "TabularRegressor": functools.partial(times, 1000),
    "TextClassifier": lambda texts: [[f"zwei{row} drei{row} vier{row}" for row in range(9)]],
    "ImageClassifier": lambda pixels: [pixels // 128],
    "GridForecaster": functools.partial(times, 1000),
    "LanguageModel": lambda texts: [["\u043a\u043e\u0448\u043a\u0430" * 9]],
}


def test_what_lies_far_outside_the_training_is_refused(tiny, fitted, request):
    later = FAR[request.node.callspec.params["tiny"]](*tiny.new)
    with pytest.raises(DataError, match=r"far=True"):
        fitted.predict(*later)
    with pytest.warns(MultiwayWarning, match="training"):
        assert len(fitted.predict(*later, far=True))
    fitted.predict(*tiny.new)
