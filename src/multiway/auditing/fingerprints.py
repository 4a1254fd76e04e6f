"""Fingerprints of images, which keep their finest detail, and of stretches of a series, which keep their surprises."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.common import Common, fine_detail
from multiway.auditing.lookup import half_of
from multiway.auditing.moved import Moved, middle_of
from multiway.auditing.near import FEWEST, near_verdict, search, unit_rows
from multiway.auditing.probes import class_numbers
from multiway.auditing.report import Verdict

SIDE = 16
"""Places along each axis at which detail is compared."""
LEAST_OF_DETAIL = 0.15
"""Correlation of detail from which on two images may be one; that of strangers is about 0."""
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

Ints = NDArray[np.int64]
Array32 = NDArray[np.float32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Details:
    """What each image has that its neighbouring voxels do not, at places that mirroring exchanges."""

    def __init__(self) -> None:
        self.rows: list[Array32] = []
        self.middles: list[Array32] = []

    def add(self, image: NDArray[Any]) -> None:
        """Take in one image `(channels, *sizes)`; smaller ones than three voxels are not compared."""
        if min(image.shape[1:]) >= 3:
            detail = fine_detail(image)
            self.rows.append(_thinned(detail))
            self.middles.append(middle_of(detail))
        else:
            self.rows.append(np.empty(0, np.float32))

    def check(
        self, splits: dict[str, Ints], names: Sequence[str], groups: Sequence[str], digests: Sequence[bytes | None]
    ) -> Verdict | None:
        """Whether images of other splits are nearly training images, be they noisy, scaled, negatives or mirrored."""
        if len({row.shape for row in self.rows}) > 1 or not self.middles or len(splits["train"]) < FEWEST:
            return None
        placed = _Images(np.stack(self.rows), splits["train"], groups)
        kinds = placed, Moved(np.stack(self.middles), splits["train"], placed.usual)
        held = {split: rows for split, rows in splits.items() if split != "train"}
        pairs = {(split, pair[0]): pair for kind in kinds for split, rows in held.items()
                 for pair in search(kind, rows, digests)}  # fmt: skip
        told = [(split, names[row], names[other], value) for (split, _), (row, other, value) in sorted(pairs.items())]
        return near_verdict(told, sum(map(len, held.values())), "images")


class _Images:
    """Details of images without what many share, which either half of the training images learns for the other."""

    least = LEAST_OF_DETAIL

    def __init__(self, stack: Array32, train: Ints, groups: Sequence[str]) -> None:
        half = half_of(np.zeros(len(train), np.int64), class_numbers(groups[row] for row in train))
        self.stack, self.halves = stack, [(_Placed(stack[rows]), rows) for rows in (train[half], train[~half])]
        self.known = np.concatenate([rows for _, rows in self.halves])
        strangers = zip(self.halves, reversed(self.halves), strict=True)
        nearest = [common.correlations(stack[rows], stack[own]).max(1) for (common, own), (_, rows) in strangers]
        self.usual = np.concatenate(nearest)

    def similarities(self, rows: Ints) -> Array32:
        """Largest absolute correlation over all ways to mirror."""
        return np.hstack([common.correlations(self.stack[rows], self.stack[known]) for common, known in self.halves])


class _Placed(Common):
    """Details place by place."""

    def correlations(self, images: Array32, known: Array32) -> Array32:
        """`(images, known)`."""
        against = self.own(known).T
        best = np.zeros((len(images), len(known)), np.float32)
        axes = range(2, images.ndim)
        for count in range(len(axes) + 1):
            for flipped in itertools.combinations(axes, count):
                np.maximum(best, np.abs(self.own(np.flip(images, flipped)) @ against), out=best)
        return best


def _thinned(detail: Array32) -> Array32:
    """Detail at places that mirroring exchanges, of length one."""
    thinned = detail[np.ix_(np.arange(len(detail)), *map(_places, detail.shape[1:]))]
    length = np.linalg.norm(thinned)
    return np.asarray(thinned / length if length > 0 else thinned)


def _places(size: int) -> Ints:
    """Evenly spaced places, the same from either end."""
    count = min(size, SIDE)
    first = np.linspace(0, (size - 1) / 2, count // 2, endpoint=False).astype(np.int64)
    middle = [] if count % 2 == 0 else [size // 2]
    return np.concatenate([first, middle, size - 1 - first[::-1]]).astype(np.int64)


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
    for series in np.unique(np.linspace(0, len(names) - 1, min(len(names), MOST_SERIES)).astype(int)).tolist():
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
        some = np.unique(np.linspace(0, len(known) - 1, MOST).astype(int))
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
            (start, like, value) for start, like, value in search(self, starts)
            if self._are_alike(start, like) and not np.array_equal(cuts[start], cuts[like])
        ]  # fmt: skip
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
