"""Losses of forecasts by quantiles, as fev-bench and GIFT-Eval define them; a truth of NaN is left out.

`truth` has the shape `cells`, `levels` the numbers that are forecast, `(*cells, quantiles)`, and `quantiles` their
probabilities. A loss that is undefined is None.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
TENTHS = tuple(tenth / 10 for tenth in range(1, 10))
"""Probabilities that both benchmarks score."""


def crps(truth: Numbers, levels: Numbers, quantiles: Sequence[float]) -> float | None:
    """Continuous ranked probability score, 2 ∫ pinball dp, as the mean over the quantiles that there are."""
    loss = pinball(truth, levels, quantiles)
    return None if loss is None else 2 * loss


def wql(truth: Numbers, levels: Numbers, quantiles: Sequence[float]) -> float | None:
    """Weighted quantile loss: the sum of 2 pinball, mean over quantiles, over the sum of |y|."""
    size = float(np.nansum(np.abs(truth)))
    return 2 * float(np.nansum(pinball_errors(truth, levels, quantiles).mean(-1))) / size if size else None


def sql(truth: Numbers, levels: Numbers, quantiles: Sequence[float], scale: Numbers) -> float | None:
    """Scaled quantile loss: mean of 2 pinball over the error of a seasonal naive forecast.

    scale: That error by series, mean |y_t - y_{t-season}| of the past; of a shape that broadcasts with the truth.
        Cells where it is zero or unknown are left out.
    """
    own = np.broadcast_to(scale, truth.shape)
    used = np.isfinite(truth) & (own > 0)
    losses = 2 * pinball_errors(truth[used], levels[used], quantiles).mean(-1) / own[used]
    return float(losses.mean()) if losses.size else None


def pinball(truth: Numbers, levels: Numbers, quantiles: Sequence[float]) -> float | None:
    """Mean pinball loss over cells and quantiles."""
    return float(np.nanmean(pinball_errors(truth, levels, quantiles))) if np.isfinite(truth).any() else None


def pinball_errors(truth: Numbers, levels: Numbers, quantiles: Sequence[float]) -> Numbers:
    """Pinball loss max(p e, (p - 1) e) of each cell and quantile, e = y - q, `(*cells, quantiles)`."""
    shares, error = np.array(quantiles), truth[..., None] - levels
    return np.asarray(np.maximum(shares * error, (shares - 1) * error))


def coverage(truth: Numbers, levels: Numbers) -> float | None:
    """Share of truths between the lowest and the highest level."""
    if not len(truth):
        return None
    return float(((levels[:, 0] <= truth) & (truth <= levels[:, -1])).mean())
