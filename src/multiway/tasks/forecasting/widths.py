"""How wide bands are from window to window: by a network's quantiles, by covariates, by the size of recent errors."""

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway import ops

Errors = NDArray[np.float32]
Floats = NDArray[np.float64]
HORIZONS, LEAST = 2, 24
"""After so many horizons, and at least so many rows, an error counts half."""
FLOOR = 0.2
"""The least of a size relative to the usual one."""
NARROWEST, WIDEST = 0.2, 20.0
"""Of widths relative to the usual one."""


def of_network(spread: Tensor, usual: Tensor) -> Tensor:
    """Distances of quantiles below and above a forecast `(2, ..., variates)`, over the usual one; 1 where that is 0."""
    return torch.where(usual > 0, spread / usual, 1).clamp(NARROWEST, WIDEST).float()


def usual_of_network(spread: Tensor) -> Tensor:
    """Mean distance by variate, of `(2, windows, horizon, variates)`."""
    return spread.double().mean((0, 1, 2))


def of_covariates(known: Tensor, slopes: Tensor) -> Tensor:
    """Widths by what is known ahead of a step, `(..., variates or 1, features)`, on both sides, `(2, ..., variates)`.

    slopes: `(1 + features, variates)`, of the logarithm of a width; the first is its constant. Zeros are a width of 1.
    """
    start, rest = slopes[0], slopes[1:].to(known.dtype)
    alike = known.shape[-2] == 1
    logs: Tensor = start + (known.squeeze(-2) @ rest if alike else (known * rest.T).sum(-1))
    return logs.exp().clamp(NARROWEST, WIDEST).float().expand(2, *logs.shape)


def slopes_of_covariates(errors: Errors, known: Tensor, steps: int) -> Tensor:
    """Those of `of_covariates`, from errors `(horizon, variates, windows)`.

    known: `(windows, horizon, variates or 1, features)`.
    """
    features = known.permute(1, 2, 0, 3).numpy()
    slopes = ops.size_slopes(errors, features, steps)
    constant = -(features.mean((0, 2), dtype=np.float64) * slopes.T).sum(1)
    return torch.from_numpy(np.stack([constant, *slopes]))


def stretch(offsets: Tensor, widths: Tensor) -> Tensor:
    """Offsets times the width of their side, the first of which is that below."""
    low, high = widths
    return torch.where(offsets < 0, offsets * low, offsets * high)


def in_widths(errors: Tensor, widths: Tensor) -> Tensor:
    """Errors over the width of their side."""
    low, high = widths
    return errors / torch.where(errors < 0, low, high)


def features_ahead(inputs: tuple[Any, ...], horizon: int, variates: int) -> Tensor | None:
    """Features of the steps to forecast, of what a forecast is called with, `(batch, horizon, variates or 1, …)`."""
    covariates = inputs[2] if len(inputs) > 2 else None
    known = None if covariates is None else covariates.of_last(variates).known[:, -horizon:]
    return known if known is not None and known.shape[-1] else None


class RecentErrors:
    r"""Mean absolute errors of the windows that had ended before another starts, the later the heavier.

    $$s \leftarrow s + (1 - 2^{-1/h}) (|e| - s)$$

    usual: `(series,)`, the size before any window has ended.
    half_life: Windows after which an error counts half.
    """

    def __init__(self, usual: Floats, horizon: int, half_life: float) -> None:
        self.size, self.least = usual, FLOOR * usual
        self.horizon, self.rate = horizon, 1 - 0.5 ** (1 / half_life)
        self.open = collections.deque[tuple[int, Floats]]()

    def before(self, start: int) -> Floats:
        """Of the windows that had ended when one starts at a row, `(series,)`."""
        while self.open and self.open[0][0] + self.horizon <= start:
            ended = self.open.popleft()[1]
            self.size = self.size + self.rate * np.where(np.isnan(ended), 0.0, ended - self.size)
        return np.maximum(self.size, self.least)

    def add(self, starts: Sequence[int], errors: Floats) -> None:
        """Windows that come next in the order of time, `(windows, series)`; NaN is no error."""
        self.open.extend(zip(starts, errors, strict=True))

    def along(self, starts: Sequence[int], errors: Floats) -> Floats:
        """Before each of the next windows, `(windows, series)`, as they are added."""
        self.add(starts, errors)
        return np.stack([self.before(start) for start in starts])


def half_life(horizon: int, starts: Sequence[int]) -> float:
    """Windows, of which the first rows are given, after which an error counts half."""
    gap = (starts[-1] - starts[0]) / (len(starts) - 1) if len(starts) > 1 else 1
    return max(HORIZONS * horizon, LEAST) / max(gap, 1)


def mean_sizes(errors: NDArray[np.floating]) -> Floats:
    """Mean absolute errors over the steps, which are the first axis; NaN where none was observed."""
    total, count = np.zeros(errors.shape[1:]), np.zeros(errors.shape[1:], np.int64)
    for step in errors:  # one at a time, as there are many windows
        there = ~np.isnan(step)
        total, count = total + np.where(there, np.abs(step), 0), count + there
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))
