"""Levels that a movement stays below with given probabilities: they never cross, and their scores."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from multiway.tasks.stocks.scale import StockScale

Values = NDArray[np.float64]
SMALLEST_GAP = 1e-3
"""Between two levels of the training days, in spreads, so that a network can widen it."""

QuantileMetric = Callable[[Values, Values], float | None]


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


def pinball(returns: Values, levels: Values, quantiles: Sequence[float]) -> float | None:
    """Mean pinball loss over movements and quantiles, about half the continuous ranked probability score."""
    if not len(returns):
        return None
    shares, error = np.array(quantiles), returns[:, None] - levels
    return float(np.maximum(shares * error, (shares - 1) * error).mean())


def median_error(returns: Values, levels: Values, quantiles: Sequence[float]) -> float | None:
    """Mean absolute error of the median."""
    return float(np.abs(returns - levels[:, list(quantiles).index(0.5)]).mean()) if len(returns) else None


def coverage(returns: Values, levels: Values) -> float | None:
    """Share of movements between the lowest and the highest level."""
    if not len(returns):
        return None
    return float(((levels[:, 0] <= returns) & (returns <= levels[:, -1])).mean())


def coverage_name(quantiles: Sequence[float]) -> str:
    """What the coverage is called: by the share that it should be, `coverage_80`."""
    return f"coverage_{round(100 * (quantiles[-1] - quantiles[0]))}"


def quantile_metrics(quantiles: Sequence[float]) -> dict[str, QuantileMetric]:
    """Every metric of quantiles, by name."""
    metrics: dict[str, QuantileMetric] = {
        "pinball": lambda returns, levels: pinball(returns, levels, quantiles),
        "mae": lambda returns, levels: median_error(returns, levels, quantiles),
    }
    return metrics | ({coverage_name(quantiles): coverage} if len(quantiles) > 1 else {})


def share_above_zero(levels: Values, quantiles: Sequence[float]) -> Values:
    """Probability of a rise that the levels say, linear between them and held beyond them."""
    flat = levels.reshape(-1, levels.shape[-1])
    below = [float(np.interp(0.0, row, quantiles)) for row in flat]
    return 1 - np.array(below, np.float64).reshape(levels.shape[:-1])
