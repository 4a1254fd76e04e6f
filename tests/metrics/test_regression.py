"""Errors of numbers against scikit-learn's, and what they say where they are undefined."""

import numpy as np
import pytest
from sklearn import metrics

from multiway.metrics import regression
from tolerances import ROUNDING64

SAME = {
    regression.mse: metrics.mean_squared_error,
    regression.rmse: metrics.root_mean_squared_error,
    regression.mae: metrics.mean_absolute_error,
    regression.r2: metrics.r2_score,
}


def make_case(sizes=(211,), seed=3):
    chance = np.random.default_rng(seed)
    truth = 5 + chance.standard_normal(sizes)
    return truth, truth + chance.standard_normal(sizes)


@pytest.mark.parametrize("metric", SAME, ids=lambda metric: metric.__name__)
def test_scores_are_scikit_learns(metric):
    truth, predicted = make_case()
    assert metric(truth, predicted) == pytest.approx(SAME[metric](truth, predicted), rel=ROUNDING64)


@pytest.mark.parametrize("metric", SAME, ids=lambda metric: metric.__name__)
def test_axes_do_not_matter(metric):
    truth, predicted = make_case((7, 5, 3))
    assert metric(truth, predicted) == pytest.approx(metric(truth.ravel(), predicted.ravel()), rel=ROUNDING64)


@pytest.mark.parametrize("metric", SAME, ids=lambda metric: metric.__name__)
def test_nothing_has_no_score(metric):
    assert metric(np.empty(0), np.empty(0)) is None


def test_what_cannot_be_said_is_none():
    zeros, ones = np.zeros(3), np.ones(3)
    assert regression.r2(ones, zeros) is None
