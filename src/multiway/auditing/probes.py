"""Probes of plain columns: what one of them, or a sum of them, tells of the target; whether one is its mean."""

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.lookup import half_of

NEIGHBOURS = 5
"""Rows that vote on a class."""
RIDGE = 1e-9
"""Share of the mean square that is added, so that columns that say the same do no harm."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Parts = Sequence[tuple[Ints, Ints]]
"""Rows that are learnt from, and rows held out that are judged by it."""
FEWEST_GROUPS, FEWEST_ROWS = 20, 40
"""Values that rows share, and rows that share one, from which on means say something."""
EXACT = 0.1
"""Share of the squared error that means of so many rows have about any honest value, below which a column saw them."""
VARIED = 0.01
"""Share of the variance of the target that must lie within groups."""
CHANCE = 0.02
"""Chance that shares of classes agree with a column so closely."""
MOST_DIGITS, MOST_CLASSES = 6, 12


def split_halves(train: Ints, rest: Ints, labels: Ints, groups: Ints | None = None) -> Parts:
    """Either half of the training rows by the other, each with every class, and all other rows by the training rows."""
    half = half_of(labels[train], np.arange(len(train)) if groups is None else groups[train])
    return [(train[half], train[~half]), (train[~half], train[half]), (train, rest)]


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeErrors:
    """Errors on rows held out, and those of the commonest class there."""

    count: int
    usual: int

    @property
    def gain(self) -> float:
        """Share of the commonest class's errors that are not made."""
        return 1 - self.count / max(self.usual, 1)

    @property
    def sure_gain(self) -> float:
        """Share that is removed at least, with the upper bound of a Poisson count in place of the errors."""
        return 1 - (self.count + 2 * float(np.sqrt(self.count)) + 3) / max(self.usual, 1)

    @classmethod
    def of_column(cls, column: Floats, labels: Ints, parts: Parts) -> Self:
        """Errors of the nearest training rows' vote."""
        wrong = [votes(column[learnt], labels[learnt], column[judged]) != labels[judged] for learnt, judged in parts]
        commonest = [np.bincount(labels[learnt]).argmax() != labels[judged] for learnt, judged in parts]
        return cls(*(int(np.concatenate(counts).sum()) for counts in (wrong, commonest)))


def class_numbers(values: Iterable[Hashable]) -> Ints:
    """A whole number for each distinct value."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def votes(known: Floats, labels: Ints, queries: Floats) -> Ints:
    """Commonest class of the nearest known rows by one column; missing cells are near each other."""
    known, queries = (np.where(np.isnan(column), -np.inf, column) for column in (known, queries))
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    middle = (np.searchsorted(ordered, queries) + np.searchsorted(ordered, queries, "right")) // 2
    count = min(NEIGHBOURS, len(known))
    first = np.clip(middle - count // 2, 0, len(known) - count)
    near = labels[order][first[:, None] + np.arange(count)]
    classes = int(labels.max()) + 1
    table = np.bincount((np.arange(len(queries))[:, None] * classes + near).ravel(), minlength=len(queries) * classes)
    return np.asarray(table.reshape(-1, classes).argmax(1), np.int64)


def r2_of_column(column: Floats, target: Floats, parts: Parts) -> float:
    """R² of the target's ranks on rows held out, interpolated from one column; also where it rises and falls."""
    ranks = np.argsort(np.argsort(target, kind="stable"), kind="stable").astype(np.float64)
    column = np.where(np.isnan(column), np.nanmin(column, initial=0) - 1, column)
    said = []
    for learnt, judged in parts:  # the mean target at the two nearest values, by their distance
        values, code = np.unique(column[learnt], return_inverse=True)
        said.append(np.interp(column[judged], values, np.bincount(code, ranks[learnt]) / np.bincount(code)))
    truth = np.concatenate([ranks[judged] for _, judged in parts])
    return _r2(np.concatenate(said), truth)


def r2_of_sum(columns: Floats, target: Floats, learnt: Ints, judged: Ints) -> float:
    """R² of a weighted sum of columns on rows held out, after least squares on the others."""
    centre, spread = columns[learnt].mean(0), columns[learnt].std(0)
    scaled = (columns - centre) / np.where(spread > 0, spread, 1)
    weights = ridge(scaled[learnt], target[learnt] - target[learnt].mean())
    return _r2(scaled[judged] @ weights + target[learnt].mean(), target[judged])


def ridge(columns: Floats, target: Floats, share: float = RIDGE) -> Floats:
    """Weights of least squares, drawn to 0 by a share of the columns' mean square."""
    square = columns.T @ columns
    size = share * np.trace(square) / max(len(square), 1) + np.finfo(np.float64).tiny
    return np.asarray(np.linalg.solve(square + size * np.eye(len(square)), columns.T @ target))


def _r2(said: Floats, truth: Floats) -> float:
    spread = np.square(truth - truth.mean()).sum()
    return float(1 - np.square(truth - said).sum() / spread) if spread > 0 else 0.0


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
    digits = next((n for n in range(MOST_DIGITS) if np.allclose(values, values.round(n), atol=1e-9)), MOST_DIGITS)
    reach, labels = step * (0.5 * 10.0**-digits), labels[known]  # half a unit of the last digit that is written
    return any(_agrees(shares, group, labels == each, reach) for each in np.unique(labels)[:MOST_CLASSES])


def _agrees(shares: Floats, group: Ints, told: NDArray[np.bool_], reach: float) -> bool:
    """Whether the class's share in every group is that of the column, which chance would hardly make so."""
    count, hits = np.bincount(group), np.bincount(group, told)
    mixed = (shares > 0) & (shares < 1)
    if count[mixed].sum() < FEWEST_ROWS or (np.abs(hits / count - shares) > reach + 1e-9).any():
        return False
    deviation = np.sqrt(shares[mixed] * (1 - shares[mixed]) / count[mixed])
    near = 0.8 * np.maximum(reach, 0.5 / count[mixed]) / deviation  # of a normal density about the share
    return bool(np.minimum(near, 1).prod() < CHANCE)
