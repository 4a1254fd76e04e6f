"""Levels in order, and their scores by their definitions."""

import dataclasses

import numpy as np
import pytest
import torch

from multiway.tasks.stocks import quantiles
from multiway.tasks.stocks.scale import StockScale
from tolerances import ROUNDING64

LEVELS = (0.1, 0.5, 0.9)


@pytest.fixture
def scale():
    one = np.ones(1, np.float32)
    return StockScale(
        centre=one, spread=one, text_centre=None, text_spread=None, years=(2020, 2020), movement_spread=0.02,
        movement_levels=(-0.02, 0.01, 0.03),
    )  # fmt: skip


def test_levels_ascend_whatever_the_network_says(scale, generator):
    found = quantiles.levels_of(20 * torch.randn(50, 4, 3, generator=generator, dtype=torch.float64), scale)
    assert (found.diff(dim=-1) >= 0).all()
    assert (found[..., 1] > found[..., 0]).any()


def test_a_network_that_says_nothing_says_the_training_days(scale):
    found = quantiles.levels_of(torch.zeros(1, 3, dtype=torch.float64), scale)[0]
    assert found.tolist() == pytest.approx(scale.movement_levels, rel=ROUNDING64)
    moved = quantiles.levels_of(torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64), scale)[0]
    assert moved.tolist() == pytest.approx([level + 0.02 for level in scale.movement_levels], rel=ROUNDING64)


def test_levels_of_days_that_never_move_can_still_part(scale):
    still = dataclasses.replace(scale, movement_levels=(0.0, 0.0, 0.0))
    assert (quantiles.levels_of(torch.zeros(1, 3), still).diff() > 0).all()


def test_pinball_by_hand():
    """A miss from below costs its share, one from above the rest."""
    returns, levels = np.array([0.02, -0.01]), np.array([[-0.01, 0.0, 0.01], [-0.02, 0.0, 0.02]])
    terms = [0.1 * 0.03, 0.5 * 0.02, 0.9 * 0.01, 0.1 * 0.01, 0.5 * 0.01, 0.1 * 0.03]
    assert quantiles.pinball(returns, levels, LEVELS) == pytest.approx(np.mean(terms), rel=ROUNDING64)
    assert quantiles.median_error(returns, levels, LEVELS) == pytest.approx(0.015)
    assert quantiles.coverage(returns, levels) == 0.5


def test_the_loss_is_the_score(generator):
    levels, returns = torch.randn(9, 3, generator=generator).double(), torch.randn(9, generator=generator).double()
    expected = quantiles.pinball(returns.numpy(), levels.numpy(), LEVELS)
    assert float(quantiles.pinball_terms(levels, returns, LEVELS).mean()) == pytest.approx(expected, rel=ROUNDING64)


def test_the_true_quantiles_have_the_lowest_pinball(generator):
    returns = torch.randn(20_000, generator=generator, dtype=torch.float64).numpy()
    best = np.broadcast_to(np.quantile(returns, LEVELS), (len(returns), 3))
    lowest = quantiles.pinball(returns, best, LEVELS)
    for place in range(3):
        for move in (-0.2, 0.2):
            other = best.copy()
            other[:, place] += move
            assert quantiles.pinball(returns, other, LEVELS) > lowest


def test_nothing_has_no_score():
    for score in (quantiles.pinball, quantiles.median_error):
        assert score(np.empty(0), np.empty((0, 3)), LEVELS) is None
    assert quantiles.coverage(np.empty(0), np.empty((0, 3))) is None


def test_metrics_are_named_by_their_levels():
    assert list(quantiles.quantile_metrics(LEVELS)) == ["pinball", "mae", "coverage_80"]
    assert list(quantiles.quantile_metrics((0.5,))) == ["pinball", "mae"]


def test_the_share_above_zero_lies_on_the_line_between_the_levels():
    levels = np.array([[-0.02, 0.0, 0.02], [-0.01, 0.03, 0.04], [0.01, 0.02, 0.03], [-0.03, -0.02, -0.01]])
    found = quantiles.share_above_zero(levels, LEVELS)
    np.testing.assert_allclose(found, [0.5, 1 - (0.1 + 0.4 / 4), 0.9, 0.1], rtol=ROUNDING64)
    assert quantiles.share_above_zero(levels[None], LEVELS).shape == (1, 4)
