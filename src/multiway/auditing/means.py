"""Columns that are a mean of the target over few rows, those rows themselves included."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FEWEST_GROUPS, FEWEST_ROWS = 20, 40
"""Values that rows share, and rows that share one, from which on means say something."""
EXACT = 0.1
"""Share of the squared error that means of so many rows have about any honest value, below which a column saw them."""
VARIED = 0.01
"""Share of the variance of the target that must lie within groups."""
CHANCE = 0.02
"""Chance that shares of classes agree with a column so closely."""
MOST_DIGITS, MOST_CLASSES = 6, 12

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def is_mean_of_numbers(column: Floats, target: Floats) -> bool:
    """Whether rows of equal cells have means that lie on a line of the cells, far nearer than means of few rows can.

    A mean of n targets differs from what an honest column says of them by their deviation over √n.
    """
    groups = pd.Series(target).groupby(column)
    count, mean, square = (np.asarray(each) for each in (groups.size(), groups.mean(), groups.var(ddof=0)))
    many = count > 1
    if many.sum() < FEWEST_GROUPS or count[many].sum() < FEWEST_ROWS:
        return False
    value, count, mean, square = (each[many] for each in (np.asarray(groups.mean().index), count, mean, square))
    within = (count * square).sum() / (count - 1).sum()
    if within <= VARIED * target.var():
        return False
    root = np.sqrt(count)
    line = np.column_stack([np.ones_like(value), (value - value.mean()) / max(value.std(), 1e-300)]) * root[:, None]
    left = mean * root - line @ np.linalg.lstsq(line, mean * root, rcond=None)[0]
    return bool(np.square(left).sum() < EXACT * within * (len(value) - 2))


def is_share_of_class(column: Floats, labels: Ints) -> bool:
    """Whether rows of equal cells have a class as often as the cells say, to the last digit written."""
    known = np.isfinite(column)
    values, group = np.unique(column[known], return_inverse=True)
    low, high = (values[0], values[-1]) if len(values) > 1 else (-1.0, 0.0)
    if low < 0 or high > 100 or len(values) > len(column) / 3:
        return False
    shares, step = (values, 1.0) if high <= 1 else (values / 100, 0.01)
    return any(_agrees(shares, group, told, step * _digit(values)) for told in _classes(labels[known]))


def _classes(labels: Ints) -> Iterator[NDArray[np.bool_]]:
    yield from (labels == each for each in np.unique(labels)[:MOST_CLASSES])


def _digit(values: Floats) -> float:
    """Half a unit of the last digit that the values are written with."""
    digits = next((n for n in range(MOST_DIGITS) if np.allclose(values, values.round(n), atol=1e-9)), MOST_DIGITS)
    return 0.5 * 10.0**-digits


def _agrees(shares: Floats, group: Ints, told: NDArray[np.bool_], reach: float) -> bool:
    """Whether the class's share in every group is that of the column, which chance would hardly make so."""
    count, hits = np.bincount(group), np.bincount(group, told)
    mixed = (shares > 0) & (shares < 1)
    if count[mixed].sum() < FEWEST_ROWS or (np.abs(hits / count - shares) > reach + 1e-9).any():
        return False
    deviation = np.sqrt(shares[mixed] * (1 - shares[mixed]) / count[mixed])
    near = 0.8 * np.maximum(reach, 0.5 / count[mixed]) / deviation  # of a normal density about the share
    return bool(np.minimum(near, 1).prod() < CHANCE)
