"""Levels in order, their loss, and the names of their scores."""

import dataclasses

import numpy as np
import pytest
import torch

from multiway.metrics.quantiles import pinball
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


def test_the_loss_is_the_score(generator):
    levels, returns = torch.randn(9, 3, generator=generator).double(), torch.randn(9, generator=generator).double()
    expected = pinball(returns.numpy(), levels.numpy(), LEVELS)
    assert float(quantiles.pinball_terms(levels, returns, LEVELS).mean()) == pytest.approx(expected, rel=ROUNDING64)


def test_metrics_are_named_by_their_levels():
    assert list(quantiles.quantile_metrics(LEVELS)) == ["pinball", "mae", "coverage_80"]
    assert list(quantiles.quantile_metrics((0.5,))) == ["pinball", "mae"]
