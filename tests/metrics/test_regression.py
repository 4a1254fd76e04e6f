"""Errors of numbers and of levels beside scikit-learn's, and what they say where they are undefined."""

import numpy as np
import pytest
import torch
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


LEVELS = (0.1, 0.5, 0.9)


def test_pinball_is_scikit_learns():
    chance = np.random.default_rng(4)
    truth, levels = chance.standard_normal(53), np.sort(chance.standard_normal((53, 3)), 1)
    terms = [metrics.mean_pinball_loss(truth, levels[:, i], alpha=share) for i, share in enumerate(LEVELS)]
    assert regression.pinball(truth, levels, LEVELS) == pytest.approx(np.mean(terms), rel=ROUNDING64)


def test_pinball_by_hand():
    """A miss from below costs its share, one from above the rest."""
    returns, levels = np.array([0.02, -0.01]), np.array([[-0.01, 0.0, 0.01], [-0.02, 0.0, 0.02]])
    terms = [0.1 * 0.03, 0.5 * 0.02, 0.9 * 0.01, 0.1 * 0.01, 0.5 * 0.01, 0.1 * 0.03]
    assert regression.pinball(returns, levels, LEVELS) == pytest.approx(np.mean(terms), rel=ROUNDING64)
    assert regression.median_error(returns, levels, LEVELS) == pytest.approx(0.015)
    assert regression.coverage(returns, levels) == 0.5


def test_the_true_quantiles_have_the_lowest_pinball(generator):
    returns = torch.randn(20_000, generator=generator, dtype=torch.float64).numpy()
    best = np.broadcast_to(np.quantile(returns, LEVELS), (len(returns), 3))
    lowest = regression.pinball(returns, best, LEVELS)
    for place in range(3):
        for move in (-0.2, 0.2):
            other = best.copy()
            other[:, place] += move
            assert regression.pinball(returns, other, LEVELS) > lowest


def test_no_levels_have_no_score():
    for score in (regression.pinball, regression.median_error):
        assert score(np.empty(0), np.empty((0, 3)), LEVELS) is None
    assert regression.coverage(np.empty(0), np.empty((0, 3))) is None


def test_the_share_above_zero_lies_on_the_line_between_the_levels():
    levels = np.array([[-0.02, 0.0, 0.02], [-0.01, 0.03, 0.04], [0.01, 0.02, 0.03], [-0.03, -0.02, -0.01]])
    found = regression.share_above_zero(levels, LEVELS)
    np.testing.assert_allclose(found, [0.5, 1 - (0.1 + 0.4 / 4), 0.9, 0.1], rtol=ROUNDING64)
    assert regression.share_above_zero(levels[None], LEVELS).shape == (1, 4)
