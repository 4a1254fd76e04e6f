"""The size of recent errors, which bands follow: it may change long after validation."""

import collections
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HORIZONS, LEAST = 2, 24
"""After so many horizons, and at least so many rows, an error counts half."""
FLOOR = 0.2
"""The least of a size relative to the usual one."""


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
