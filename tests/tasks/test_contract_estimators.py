"""What every estimator promises: it is copied, stored and searched over as scikit-learn does it."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from tasks.tiny_estimators import ESTIMATORS, every


@pytest.fixture(scope="module", params=ESTIMATORS)
def tiny(request):
    return ESTIMATORS[request.param]()


@pytest.fixture(scope="module")
def fitted(tiny):
    return tiny.make().fit(*tiny.fit)


def assert_same_predictions(left, right, tiny):
    np.testing.assert_array_equal(np.asarray(left.predict(*tiny.new)), np.asarray(right.predict(*tiny.new)))


def test_every_estimator_is_held_to_this():
    assert set(ESTIMATORS) == set(every())


@pytest.mark.parametrize("duplicate", [clone, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_an_unfitted_one_is_copied(duplicate, tiny, fitted):
    again = duplicate(tiny.make())
    assert repr(again) == repr(tiny.make()) and not hasattr(again, "run_")
    assert_same_predictions(again.fit(*tiny.fit), fitted, tiny)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_fitted_one_and_a_loaded_one_are_copied(duplicate, tiny, fitted, tmp_path):
    fitted_again = duplicate(fitted)
    assert_same_predictions(fitted_again, fitted, tiny)
    fitted.save(tmp_path / "run")
    loaded = type(fitted).load(tmp_path / "run")
    assert_same_predictions(loaded, fitted, tiny)
    assert_same_predictions(duplicate(loaded), fitted, tiny)


def test_a_search_over_a_grid_runs(tiny):
    search = GridSearchCV(tiny.make(), tiny.grid, cv=[tiny.split], refit=False, error_score="raise")
    search.fit(*tiny.fit)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
