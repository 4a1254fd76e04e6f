"""What every estimator promises: it is copied, stored and searched over as scikit-learn does it."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from multiway.errors import MultiwayError
from tasks.tiny_estimators import ESTIMATORS, estimators


@pytest.fixture(scope="module", params=list(estimators()))
def tiny(request):
    return ESTIMATORS[request.param]()


@pytest.fixture(scope="module")
def fitted(tiny):
    return tiny.make().fit(*tiny.fit)


def assert_same_predictions(left, right, tiny):
    np.testing.assert_array_equal(np.asarray(left.predict(*tiny.new)), np.asarray(right.predict(*tiny.new)))


def test_an_unfitted_one_is_copied(tiny, fitted):
    model = tiny.make()
    for duplicate in (clone, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))):
        model = duplicate(model)
        assert repr(model) == repr(tiny.make()) and not hasattr(model, "run_")
    assert_same_predictions(model.fit(*tiny.fit), fitted, tiny)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_fitted_one_and_a_loaded_one_are_copied(duplicate, tiny, fitted, tmp_path):
    refitted = duplicate(fitted)
    assert_same_predictions(refitted, fitted, tiny)
    fitted.save(tmp_path / "run")
    loaded = type(fitted).load(tmp_path / "run")
    assert_same_predictions(loaded, fitted, tiny)
    assert_same_predictions(duplicate(loaded), fitted, tiny)


def test_it_is_scored_by_cross_validation_in_a_pipeline(tiny):
    """As it is a search over a grid does so."""
    scores = cross_val_score(make_pipeline(tiny.make()), *tiny.fit, cv=[tiny.split], error_score="raise")
    assert scores.shape == (1,) and np.isfinite(scores).all()


def test_a_pipeline_is_fitted_and_answers_as_its_estimator(tiny, fitted):
    pipeline = make_pipeline(tiny.make()).fit(*tiny.fit)
    assert_same_predictions(pipeline, fitted, tiny)


def test_data_without_rows_are_refused_in_one_line(tiny):
    empty = [part[:0] if hasattr(part, "__getitem__") else part for part in tiny.fit]
    with pytest.raises((MultiwayError, ValueError)) as caught:
        tiny.make().fit(*empty)
    assert "\n" not in str(caught.value)


def test_few_rows_are_refused_in_one_line(tiny):
    with pytest.raises(MultiwayError) as caught:
        tiny.make().fit(*(part[:2] for part in tiny.fit))
    assert "\n" not in str(caught.value)


def test_a_search_over_a_grid_runs(tiny):
    search = GridSearchCV(tiny.make(), tiny.grid, cv=[tiny.split], refit=False, error_score="raise")
    search.fit(*tiny.fit)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
