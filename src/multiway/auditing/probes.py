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
CROSSED, FEWEST_STEPS = 0.002, 5
"""Share of the rows whose target lies in the range of another step of a column, and rows of a step at least."""
CLOSE = 3.0
"""A cut between rows leaves a gap of at most so many usual ones."""
FEWEST_CUT, MOST_STEPS = 10, 100
"""Rows of all steps but the largest one at least, and steps at most."""


def split_halves(train: Ints, rest: Ints, labels: Ints, groups: Ints | None = None) -> Parts:
    """Either half of the training rows by the other, each with every class, and all other rows by the training rows."""
    half = half_of(labels[train], np.arange(len(train)) if groups is None else groups[train])
    return [(train[half], train[~half]), (train[~half], train[half]), (train, rest)]


def upper_bound(count: int) -> float:
    """Of a Poisson count, with 97.5 %."""
    return count + 2 * float(np.sqrt(count)) + 3


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeErrors:
    """Errors on rows held out, and those of the commonest class there."""

    count: int
    usual: int
    rows: int

    @property
    def gain(self) -> float:
        """Share of the commonest class's errors that are not made."""
        return 1 - self.count / max(self.usual, 1)

    @property
    def sure_gain(self) -> float:
        """Share that is removed at least, with the upper bound of a Poisson count in place of the errors."""
        return 1 - upper_bound(self.count) / max(self.usual, 1)

    @property
    def share(self) -> float:
        """Of the rows that surely are errors at most, with the same bound."""
        return upper_bound(self.count) / max(self.rows, 1)

    @classmethod
    def of_column(cls, column: Floats, labels: Ints, parts: Parts, neighbours: int = NEIGHBOURS) -> Self:
        """Errors of the nearest training rows' vote."""
        said = [votes(column[learnt], labels[learnt], column[judged], neighbours) for learnt, judged in parts]
        return cls.of_said(said, labels, parts)

    @classmethod
    def of_codes(cls, codes: Floats, labels: Ints, parts: Parts) -> Self:
        """Errors of the commonest class of each code in the training rows; of all where a code is new."""
        numbers, classes = pd.factorize(codes, use_na_sentinel=False)[0], int(labels.max()) + 1
        said = []
        for learnt, judged in parts:
            table = np.bincount(numbers[learnt] * classes + labels[learnt], minlength=(numbers.max() + 1) * classes)
            table = table.reshape(-1, classes)
            table[table.sum(1) == 0] = table.sum(0)
            said.append(table.argmax(1)[numbers[judged]])
        return cls.of_said(said, labels, parts)

    @classmethod
    def of_said(cls, said: Sequence[Ints], labels: Ints, parts: Parts) -> Self:
        """Errors of what is said of the rows that are judged."""
        wrong = [each != labels[judged] for each, (_, judged) in zip(said, parts, strict=True)]
        commonest = [np.bincount(labels[learnt]).argmax() != labels[judged] for learnt, judged in parts]
        count, usual = (int(np.concatenate(flags).sum()) for flags in (wrong, commonest))
        return cls(count, usual, sum(map(len, wrong)))


def class_numbers(values: Iterable[Hashable]) -> Ints:
    """A whole number for each distinct value."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def questions_of(labels: Ints) -> list[Ints]:
    """Labels, and of three classes or some more each class against the rest."""
    classes = np.unique(labels)
    each = [(labels == one).astype(np.int64) for one in classes] if 2 < len(classes) <= MOST_CLASSES else []
    return [labels, *each]


def first_near(ordered: Floats, queries: Floats, count: int) -> Ints:
    """Place of the first of so many rows around each query; of one alone the nearest."""
    middle = (np.searchsorted(ordered, queries) + np.searchsorted(ordered, queries, "right")) // 2
    if count > 1:
        return np.asarray(np.clip(middle - count // 2, 0, len(ordered) - count), np.int64)
    before, after = np.maximum(middle - 1, 0), np.minimum(middle, len(ordered) - 1)
    is_before = queries - ordered[before] <= ordered[after] - queries
    return np.asarray(np.where(is_before, before, after), np.int64)


def votes(known: Floats, labels: Ints, queries: Floats, neighbours: int = NEIGHBOURS) -> Ints:
    """Commonest class of the nearest known rows by one column; missing cells are near each other."""
    known, queries = (np.where(np.isnan(column), -np.inf, column) for column in (known, queries))
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    count = min(neighbours, len(known))
    first = first_near(ordered, queries, count)
    near = labels[order][first[:, None] + np.arange(count)]
    classes = int(labels.max()) + 1
    table = np.bincount((np.arange(len(queries))[:, None] * classes + near).ravel(), minlength=len(queries) * classes)
    return np.asarray(table.reshape(-1, classes).argmax(1), np.int64)


def mean_near(known: Floats, wanted: Floats, queries: Floats, neighbours: int = NEIGHBOURS) -> Floats:
    """Means `(queries, targets)` over the rows of the nearest cells, `wanted` `(known, targets)`."""
    order = np.argsort(known, kind="stable")
    ordered, total = known[order], np.vstack([np.zeros(wanted.shape[1]), wanted[order].cumsum(0)])
    count = min(neighbours, len(known))
    first = first_near(ordered, queries, count)
    return np.asarray((total[first + count] - total[first]) / count)


def r2_of_column(column: Floats, target: Floats, parts: Parts) -> float:
    """R² of the target's ranks on rows held out, interpolated from one column; also where it rises and falls."""
    ranks = np.argsort(np.argsort(target, kind="stable"), kind="stable").astype(np.float64)
    column = np.where(np.isnan(column), np.nanmin(column, initial=0) - 1, column)
    said = []
    for learnt, judged in parts:  # the mean target at the two nearest values, by their distance
        values, code = np.unique(column[learnt], return_inverse=True)
        said.append(np.interp(column[judged], values, np.bincount(code, ranks[learnt]) / np.bincount(code)))
    truth = np.concatenate([ranks[judged] for _, judged in parts])
    return share_explained(np.concatenate(said), truth)


def r2_of_sum(columns: Floats, target: Floats, learnt: Ints, judged: Ints) -> float:
    """R² of a weighted sum of columns on rows held out, after least squares on the others."""
    centre, spread = columns[learnt].mean(0), columns[learnt].std(0)
    scaled = (columns - centre) / np.where(spread > 0, spread, 1)
    weights = ridge(scaled[learnt], target[learnt] - target[learnt].mean())
    return share_explained(scaled[judged] @ weights + target[learnt].mean(), target[judged])


def ridge(columns: Floats, target: Floats, share: float = RIDGE) -> Floats:
    """Weights of least squares, drawn to 0 by a share of the columns' mean square."""
    square = columns.T @ columns
    size = share * np.trace(square) / max(len(square), 1) + np.finfo(np.float64).tiny
    return np.asarray(np.linalg.solve(square + size * np.eye(len(square)), columns.T @ target))


def share_explained(said: Floats, truth: Floats) -> float:
    """R²; 0 where the truth never varies."""
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


def _agrees(shares: Floats, group: Ints, right: NDArray[np.bool_], reach: float) -> bool:
    """Whether the class's share in every group is that of the column, which chance would hardly make so."""
    count, hits = np.bincount(group), np.bincount(group, right)
    mixed = (shares > 0) & (shares < 1)
    if count[mixed].sum() < FEWEST_ROWS or (np.abs(hits / count - shares) > reach + 1e-9).any():
        return False
    deviation = np.sqrt(shares[mixed] * (1 - shares[mixed]) / count[mixed])
    near = 0.8 * np.maximum(reach, 0.5 / count[mixed]) / deviation  # of a normal density about the share
    return bool(np.minimum(near, 1).prod() < CHANCE)


def is_cut(column: Floats, target: Floats) -> bool:
    """Whether a column of few steps parts the target into ranges that touch, and do not cross.

    Honest classes of numbers overlap, or lie apart; a cut through a crowd of values does neither.
    """
    known = np.isfinite(column) & np.isfinite(target)
    steps, code, count = np.unique(column[known], return_inverse=True, return_counts=True)
    if not 2 <= len(steps) <= known.sum() / FEWEST_STEPS or np.sort(count)[-2] < FEWEST_CUT:
        return False
    values = target[known] if np.corrcoef(code, target[known])[0, 1] > 0 else -target[known]
    ranges = pd.Series(values).groupby(code).agg(["min", "max"]).to_numpy()
    above = np.maximum.accumulate(ranges[:, 1])[:-1]
    crossed = sum(
        int(((values < low) & (code > step)).sum()) for step, low in enumerate(above) if len(steps) <= MOST_STEPS
    )
    if len(steps) > MOST_STEPS or crossed > CROSSED * known.sum():
        return False
    gaps = np.diff(np.sort(values))
    usual = np.quantile(gaps[gaps > 0], 0.9) if (gaps > 0).any() else 0.0
    near = [low <= high + CLOSE * usual for high, low in zip(above, ranges[1:, 0], strict=True)]
    inner = [len(np.unique(values[code == step])) > 2 for step in range(len(steps)) if count[step] >= FEWEST_STEPS]
    return bool(np.mean(near) > 0.5 and np.mean(inner) > 0.5)
