"""Near copies among series: whole ones by their bends, stretches and pieces by what their past leaves unexplained."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.duplicates import Names
from multiway.auditing.near import FEWEST, near_pairs, near_verdict, search, thin_rows, unit_rows
from multiway.auditing.report import Verdict
from multiway.data.scaling import evenly

SHORTEST, LONGEST = 32, 96
"""Rows of a stretch."""
MOST = 128
"""Stretches that are compared with all of the training rows."""
LEAST_OF_SURPRISES = 0.999
"""Correlation of surprises; those of radiation under clear skies reach 0.997 on different days."""
SPREAD = 0.15
"""Least effective share of the rows of a stretch, which is 0.33 for normal surprises and 1 / rows for one jump."""
CALM, LEAST_CALM = 0.75, 0.9
"""Share of the rows, without the largest surprises, that must correlate too: few jumps are like any others."""
MOST_SERIES = 16
MOST_LAGS = 24

LEAST_OF_BENDS = 0.98
"""Correlation of what steps do not share with their neighbours, from which on series may be copies with noise."""
MOST_TRAIN, MOST_REST = 4000, 2000

Ints = NDArray[np.int64]
Array32 = NDArray[np.float32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
LAGS = 4
"""Steps by which a next one is explained; few, as windows may share a short end."""
NUMBERS, STEPS = 24, 12
"""Of a piece at least, over all variates; and its steps."""
MOST_VARIATES = 8
MOST_NUMBERS = 2_000_000
"""Of all pieces of the training series, so that memory is bounded."""
MOST_HELD = 300
MOST_STRANGERS = 100
"""Training series by which the usual is measured."""
SOUND = "none of {:,} series shares a piece with a training series"


def check_near_series(
    values: NDArray[np.float64], splits: Mapping[str, Ints], names: Names, digests: Sequence[bytes | None]
) -> Verdict | None:
    """Whether series `(series, steps, variates)` of other splits are nearly training series."""
    train = thin_rows(splits["train"], MOST_TRAIN)
    if len(train) < FEWEST or values.shape[1] < FEWEST:
        return None
    held = {split: thin_rows(rows, MOST_REST) for split, rows in splits.items() if split != "train"}
    return near_verdict(near_pairs(Bends(values, train), held, names, digests), sum(map(len, held.values())), "series")


class Bends:
    """Series by their second differences: what steps do not share with their neighbours."""

    least = LEAST_OF_BENDS

    def __init__(self, values: NDArray[np.float64], known: Ints) -> None:
        self.values, self.known = values, known
        self.units = self._units(known)
        among = self.similarities(known)
        np.fill_diagonal(among, 0)
        self.usual = among.max(1)

    def similarities(self, rows: Ints) -> Array32:
        """Absolute correlations."""
        return np.asarray(np.abs(self._units(rows) @ self.units.T))

    def _units(self, rows: Ints) -> NDArray[np.float32]:
        bends = np.diff(np.nan_to_num(self.values[rows]), 2, axis=1)
        return unit_rows(bends.reshape(len(rows), -1))


def check_near_stretches(
    values: Floats, names: tuple[str, ...], training: Flags, tested: dict[str, Flags], length: int, lags: int
) -> Verdict | None:
    """Whether a stretch of evaluated rows is nearly one of the training rows, be it scaled or negative.

    Args:
        values: `(rows, variates)`, NaN where missing.
        names: Of the variates.
        training: Rows that are trained on and no target of another split.
        tested: Target rows of each other split.
        length: Rows of a window.
        lags: Rows of the past by which a next value is explained.
    """
    size = int(np.clip(length, SHORTEST, LONGEST))
    unexplained = surprises(values, max(min(lags, MOST_LAGS, len(values) // 8), 1))
    pairs, looked = list[tuple[str, str, str, float]](), 0
    for series in evenly(len(names), MOST_SERIES).tolist():
        column = unexplained[:, series]
        known = _starts(training & np.isfinite(column), size)
        if len(known) < 2 * size:
            continue
        stretches = _Stretches(column, known, size)
        for split, rows in tested.items():
            starts = _starts(rows & np.isfinite(column), size)
            starts = starts[:: max(size // 4, -(-len(starts) // MOST))]
            looked += len(starts)
            copies = stretches.copies(starts, values[:, series])
            pairs += [(split, f"{names[series]} from row {one}", f"row {other}", value) for one, other, value in copies]
    return near_verdict(pairs, looked, f"stretches of {size} rows") if looked else None


class _Stretches:
    """Stretches of one series, by what its own past leaves unexplained; those that few rows make are 0."""

    least = LEAST_OF_SURPRISES

    def __init__(self, column: Floats, known: Ints, size: int) -> None:
        self.column, self.known, self.size = column, known, size
        self.units = self._units(known)
        some = evenly(len(known), MOST)
        value = self.similarities(known[some])
        value[np.abs(known[some][:, None] - known) < size] = 0  # of those that share no row
        self.usual = value.max(1)

    def similarities(self, rows: Ints) -> Array32:
        """Absolute correlations of stretches that begin at these rows."""
        return np.asarray(np.abs(self._units(rows) @ self.units.T))

    def copies(self, starts: Ints, values: Floats) -> Iterator[tuple[int, int, float]]:
        """Near copies that go on: another one, that shares no row, is as many rows away from its like."""
        cuts = np.lib.stride_tricks.sliding_window_view(values, self.size)
        pairs = [
            (start, like, value)
            for start, like, value in search(self, starts)
            if self._are_alike(start, like) and not np.array_equal(cuts[start], cuts[like])
        ]
        for one, other, value in pairs:
            if any(one - other == start - like and abs(one - start) >= self.size for start, like, _ in pairs):
                yield one, other, value

    def _units(self, starts: Ints) -> Array32:
        rows = unit_rows(self.column[starts[:, None] + np.arange(self.size)])
        return np.where((rows**4).sum(1, keepdims=True) * SPREAD * self.size < 1, rows, 0)

    def _are_alike(self, start: int, other: int) -> bool:
        """Whether two stretches correlate where the first one is calm."""
        one, two = (self.column[row : row + self.size] for row in (start, other))
        calm = np.abs(one) <= np.quantile(np.abs(one), CALM)
        first, second = unit_rows(np.stack([one[calm], two[calm]]))
        return bool(abs(first @ second) > LEAST_CALM)


def surprises(values: Floats, lags: int) -> Floats:
    """Each change without what the changes before it say, by least squares; NaN where one is missing or settled."""
    changes = np.diff(values, axis=0)
    unexplained = np.full(values.shape, np.nan)
    for series, column in enumerate(changes.T):
        past = np.lib.stride_tricks.sliding_window_view(column[:-1], lags)
        following, good = column[lags:], np.isfinite(column[lags:]) & np.isfinite(past).all(1)
        if good.sum() < 4 * lags:
            continue
        weights = np.linalg.lstsq(past[good], following[good], rcond=1e-9)[0]
        left = np.where(good, following - np.nan_to_num(past) @ weights, np.nan)
        if np.nanstd(left) > 1e-4 * np.nanstd(column):
            unexplained[lags + 1 :, series] = left
    return unexplained


def _starts(rows: Flags, size: int) -> Ints:
    """Rows from which on so many are all chosen."""
    total = np.concatenate([[0], rows.cumsum()])
    return np.flatnonzero(total[size:] - total[:-size] == size)


class Pieces:
    """Surprises of series, compared from any step on.

    What a series' own past explains is left out, so that machines that hum alike are no copies.

    Args:
        values: `(series, steps, variates)` of surprises, NaN where missing.
        known: Training series.
        labels: Class of each; those of other classes say how alike strangers are.
    """

    least = 0.97

    def __init__(self, values: Floats, known: Ints, labels: Ints) -> None:
        self.values = values
        self.size = max(-(-NUMBERS // max(self.values.shape[2], 1)), STEPS)
        self.known = thin_rows(known, max(MOST_NUMBERS // max(self.values[0].size * self.size, 1), 1))
        self.owners, starts = np.nonzero(self._begins(self.values[self.known]))
        self.starts = starts
        self.units = self._units(self.values[self.known[self.owners][:, None], starts[:, None] + np.arange(self.size)])
        some = thin_rows(self.known, MOST_STRANGERS)
        strangers = self._compare(self.values, some, labels[some][:, None] != labels[self.known])
        backwards = self._compare(self.values[:, ::-1], some, some[:, None] != self.known)
        self.usual = np.maximum(strangers.max(1), backwards.max(1))

    def similarities(self, rows: Ints) -> Floats:
        """Correlation of all that each shares with each training series, where they are most alike."""
        return self._compare(self.values, rows, rows[:, None] != self.known)

    def _begins(self, values: Floats) -> NDArray[np.bool_]:
        """`(series, steps)`, from which on a piece has no gap."""
        total = np.pad(np.isfinite(values).all(2).cumsum(1), ((0, 0), (1, 0)))
        return np.asarray(total[:, self.size :] - total[:, : -self.size] == self.size)

    def _units(self, pieces: Floats) -> Array32:
        return unit_rows(pieces.reshape(len(pieces), math.prod(pieces.shape[1:])))

    def _compare(self, values: Floats, rows: Ints, allowed: NDArray[np.bool_]) -> Floats:
        """The first, the middle and the last piece of each row and every training piece of the series allowed."""
        alike = np.zeros(allowed.shape)
        for at, row in enumerate(rows.tolist()):
            starts = np.flatnonzero(self._begins(values[row][None])[0])
            if not len(starts) or not len(self.owners):
                continue
            starts = np.unique(starts[[0, len(starts) // 2, -1]])
            pieces = self._units(values[row][starts[:, None] + np.arange(self.size)])
            value = np.abs(pieces @ self.units.T) * allowed[at][self.owners]
            for start, best in zip(starts.tolist(), value.argmax(1).tolist(), strict=True):
                other = self.owners[best]
                shared = _correlate(values[row], self.values[self.known[other]], int(self.starts[best]) - start)
                alike[at, other] = max(alike[at, other], shared)
        return alike


def _find_surprises(values: Floats, known: Ints) -> Floats:
    """Surprises of each series in deviations of the training series; variates that hold none are left out."""
    chosen = evenly(values.shape[2], MOST_VARIATES)
    apart = np.pad(values[:, :, chosen], ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
    rows = surprises(apart.reshape(-1, len(chosen)), LAGS).reshape(apart.shape)[:, :-1]
    spread = np.array([np.nanstd(column) if np.isfinite(column).any() else 0.0 for column in rows[known].T])
    return np.asarray(rows[:, :, spread > 0] / spread[spread > 0])


def _correlate(one: Floats, other: Floats, offset: int) -> float:
    """Absolute correlation of all steps that two series share at an offset, also without the largest surprises."""
    first, second = one[max(-offset, 0) :], other[max(offset, 0) :]
    steps = min(len(first), len(second))
    both = np.isfinite(first[:steps]).all(1) & np.isfinite(second[:steps]).all(1)
    first, second = (part[:steps][both].ravel() for part in (first, second))
    calm = np.abs(first) <= np.quantile(np.abs(first), CALM)
    value, quiet = (_correlation(first[rows], second[rows]) for rows in (slice(None), calm))
    return value if quiet > LEAST_CALM else 0.0


def _correlation(one: Floats, other: Floats) -> float:
    first, second = unit_rows(np.stack([one, other]))
    return float(abs(first @ second))


def check_pieces(
    values: Floats, splits: Mapping[str, Ints], names: Names, labels: Ints, digests: Sequence[bytes | None]
) -> Verdict | None:
    """Whether series `(series, steps, variates)` of other splits share a piece with training series."""
    if len(splits["train"]) < FEWEST or values.shape[1] < STEPS + LAGS + 1:
        return None
    surprising = _find_surprises(values, splits["train"])
    if not surprising.shape[2]:
        return None
    kind = Pieces(surprising, splits["train"], labels)
    held = {split: thin_rows(rows, MOST_HELD) for split, rows in splits.items() if split != "train"}
    pairs = near_pairs(kind, held, names, digests)
    looked = sum(map(len, held.values()))
    return near_verdict(pairs, looked, "series") if pairs else SOUND.format(looked)
