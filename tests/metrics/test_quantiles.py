"""Losses of quantiles against scikit-learn's, by hand, and by loops as their definitions read."""

import itertools
import math

import numpy as np
import pytest
import torch
from sklearn import metrics

from multiway.metrics import quantiles
from multiway_papers.stocks.metrics import median_error, share_above_zero
from tolerances import ROUNDING64

LEVELS = (0.1, 0.5, 0.9)


def test_pinball_is_scikit_learns():
    chance = np.random.default_rng(4)
    truth, levels = chance.standard_normal(53), np.sort(chance.standard_normal((53, 3)), 1)
    terms = [metrics.mean_pinball_loss(truth, levels[:, i], alpha=share) for i, share in enumerate(LEVELS)]
    assert quantiles.pinball(truth, levels, LEVELS) == pytest.approx(np.mean(terms), rel=ROUNDING64)


def test_pinball_by_hand():
    """A miss from below costs its share, one from above the rest."""
    returns, levels = np.array([0.02, -0.01]), np.array([[-0.01, 0.0, 0.01], [-0.02, 0.0, 0.02]])
    terms = [0.1 * 0.03, 0.5 * 0.02, 0.9 * 0.01, 0.1 * 0.01, 0.5 * 0.01, 0.1 * 0.03]
    assert quantiles.pinball(returns, levels, LEVELS) == pytest.approx(np.mean(terms), rel=ROUNDING64)
    assert median_error(returns, levels, LEVELS) == pytest.approx(0.015)
    assert quantiles.coverage(returns, levels) == 0.5


def test_the_true_quantiles_have_the_lowest_pinball(generator):
    returns = torch.randn(20_000, generator=generator, dtype=torch.float64).numpy()
    best = np.broadcast_to(np.quantile(returns, LEVELS), (len(returns), 3))
    lowest = quantiles.pinball(returns, best, LEVELS)
    for place in range(3):
        for move in (-0.2, 0.2):
            other = best.copy()
            other[:, place] += move
            assert quantiles.pinball(returns, other, LEVELS) > lowest


def test_no_levels_have_no_score():
    for score in (quantiles.pinball, quantiles.crps, quantiles.wql, median_error):
        assert score(np.empty(0), np.empty((0, 3)), LEVELS) is None
    assert quantiles.coverage(np.empty(0), np.empty((0, 3))) is None


def test_the_share_above_zero_lies_on_the_line_between_the_levels():
    levels = np.array([[-0.02, 0.0, 0.02], [-0.01, 0.03, 0.04], [0.01, 0.02, 0.03], [-0.03, -0.02, -0.01]])
    found = share_above_zero(levels, LEVELS)
    np.testing.assert_allclose(found, [0.5, 1 - (0.1 + 0.4 / 4), 0.9, 0.1], rtol=ROUNDING64)
    assert share_above_zero(levels[None], LEVELS).shape == (1, 4)


def panel(chance):
    """Truths of 3 series and 5 steps, some missing, and nine numbers forecast for each."""
    truth = 4 + chance.standard_normal((3, 5))
    truth[chance.random((3, 5)) < 0.2] = np.nan
    return truth, np.sort(4 + chance.standard_normal((3, 5, 9)), -1)


def by_loops(truth, levels):
    """2 |(y - q) (1{y <= q} - p)| of every cell that is there, mean over probabilities, by series."""
    found = [[], [], []]
    for series, step in np.ndindex(truth.shape):
        y = truth[series, step]
        if not math.isnan(y):
            losses = [
                2 * abs((y - q) * ((1.0 if y <= q else 0.0) - p))
                for q, p in zip(levels[series, step], quantiles.TENTHS, strict=True)
            ]
            found[series].append(sum(losses) / 9)
    return found


def test_losses_of_quantiles_are_those_of_their_definitions():
    truth, levels = panel(np.random.default_rng(6))
    losses, scale = by_loops(truth, levels), np.array([[0.5], [0.0], [2.0]])
    every = list(itertools.chain(*losses))
    assert quantiles.crps(truth, levels, quantiles.TENTHS) == pytest.approx(sum(every) / len(every), rel=ROUNDING64)
    size = sum(abs(y) for y in truth.ravel() if not math.isnan(y))
    assert quantiles.wql(truth, levels, quantiles.TENTHS) == pytest.approx(sum(every) / size, rel=ROUNDING64)
    scaled = [loss / 0.5 for loss in losses[0]] + [loss / 2.0 for loss in losses[2]]  # a scale of zero is left out
    expected = sum(scaled) / len(scaled)
    assert quantiles.sql(truth, levels, quantiles.TENTHS, scale) == pytest.approx(expected, rel=ROUNDING64)


def test_the_score_of_many_quantiles_is_the_one_of_a_normal_distribution():
    """Gneiting and Raftery (2007): CRPS(N(0, 1), y) = y (2 Φ(y) - 1) + 2 φ(y) - 1 / √π."""
    from scipy.stats import norm

    shares = (np.arange(4000) + 0.5) / 4000
    for y in (-1.3, 0.0, 2.1):
        exact = y * (2 * norm.cdf(y) - 1) + 2 * norm.pdf(y) - 1 / math.sqrt(math.pi)
        levels = norm.ppf(shares)[None]
        assert quantiles.crps(np.array([y]), levels, shares) == pytest.approx(exact, rel=1e-3)


def test_losses_without_a_size_or_a_scale_are_undefined():
    truth, levels = np.zeros(4), np.ones((4, 9))
    assert quantiles.wql(truth, levels, quantiles.TENTHS) is None
    assert quantiles.sql(truth, levels, quantiles.TENTHS, np.zeros(1)) is None
