"""Levels that a movement stays below with given probabilities: they never cross, and their scores."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway.metrics.quantiles import coverage, median_error, pinball
from multiway.metrics.resampling import Metric
from multiway.tasks.stocks.scale import StockScale

SMALLEST_GAP = 1e-3
"""Between two levels of the training days, in spreads, so that a network can widen it."""


def levels_of(outputs: Tensor, scale: StockScale) -> Tensor:
    """Ascending levels of movement: the first moved from that of the training days, each gap stretched from theirs.

    A network that says 0 says the quantiles of the training days.
    """
    base = torch.tensor(scale.movement_levels, dtype=outputs.dtype, device=outputs.device)
    first = base[:1] + outputs[..., :1] * scale.movement_spread
    gaps = base.diff().clamp_min(SMALLEST_GAP * scale.movement_spread) * F.softplus(outputs[..., 1:]) / math.log(2)
    return torch.cat([first, gaps], dim=-1).cumsum(-1)


def pinball_terms(levels: Tensor, returns: Tensor, quantiles: Sequence[float]) -> Tensor:
    """Pinball loss of every movement, averaged over the quantiles."""
    shares = torch.tensor(quantiles, dtype=levels.dtype, device=levels.device)
    error = returns[..., None] - levels
    return torch.maximum(shares * error, (shares - 1) * error).mean(-1)


def coverage_name(quantiles: Sequence[float]) -> str:
    """What the coverage is called: by the share that it should be, `coverage_80`."""
    return f"coverage_{round(100 * (quantiles[-1] - quantiles[0]))}"


def quantile_metrics(quantiles: Sequence[float]) -> dict[str, Metric]:
    """Every metric of quantiles, by name."""
    metrics: dict[str, Metric] = {
        "pinball": lambda returns, levels: pinball(returns, levels, quantiles),
        "mae": lambda returns, levels: median_error(returns, levels, quantiles),
    }
    return metrics | ({coverage_name(quantiles): coverage} if len(quantiles) > 1 else {})
