"""The loss of levels, and the names of their scores."""

import pytest
import torch

from multiway.metrics.regression import pinball
from multiway.tasks.stocks.network import stock_metrics
from multiway.training.losses import pinball_terms
from tasks.stocks.quotes import make_config
from tolerances import ROUNDING64

LEVELS = (0.1, 0.5, 0.9)


def test_the_loss_is_the_score(generator):
    levels, returns = torch.randn(9, 3, generator=generator).double(), torch.randn(9, generator=generator).double()
    expected = pinball(returns.numpy(), levels.numpy(), LEVELS)
    assert float(pinball_terms(levels, returns, LEVELS).mean()) == pytest.approx(expected, rel=ROUNDING64)


def test_metrics_are_named_by_their_levels():
    def names(levels):
        return list(stock_metrics(make_config(target="quantiles", quantiles=levels)))

    assert names(LEVELS) == ["pinball", "mae", "coverage_80"]
    assert names((0.5,)) == ["pinball", "mae"]
