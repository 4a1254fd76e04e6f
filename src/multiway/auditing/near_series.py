"""Near copies of stretches of a series: what its own past leaves unexplained is the same twice."""

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.near import check_near, far_above, unit_rows
from multiway.auditing.report import Verdict

SHORTEST, LONGEST = 32, 96
"""Rows of a stretch."""
MOST = 128
"""Stretches that are compared with all of the training rows."""
LEAST = 0.999
"""Correlation of surprises; those of radiation under clear skies reach 0.997 on different days."""
SPREAD = 0.15
"""Least effective share of the rows of a stretch, which is 0.33 for normal surprises and 1 / rows for one jump."""
CALM, LEAST_CALM = 0.75, 0.9
"""Share of the rows, without the largest surprises, that must correlate too: few jumps are like any others."""
MOST_SERIES = 16
MOST_LAGS = 24

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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
    surprises = _surprises(values, max(min(lags, MOST_LAGS, len(values) // 8), 1))
    chosen = np.unique(np.linspace(0, len(names) - 1, min(len(names), MOST_SERIES)).astype(int))
    pairs: dict[str, list[tuple[str, str, float]]] = {split: [] for split in tested}
    looked = 0
    for series in chosen.tolist():
        column, now = surprises[:, series], values[:, series]
        known = _starts(training & np.isfinite(column), size)
        if len(known) < 2 * size:
            continue
        stretches = _stretches(column, known, size)
        usual = _usual(stretches, known, size)
        for split, rows in tested.items():
            starts = _starts(rows & np.isfinite(column), size)
            starts = starts[:: max(size // 4, -(-len(starts) // MOST))]
            near, best = _nearest(_stretches(column, starts, size), stretches)
            looked += len(starts)
            places = [
                place for place in np.flatnonzero(far_above(near, usual, LEAST))
                if _are_alike(*_cut(column, np.array([starts[place], known[best[place]]]), size))
                and not np.array_equal(*_cut(now, np.array([starts[place], known[best[place]]]), size))
            ]  # fmt: skip
            pairs[split] += [
                (f"{names[series]} from row {starts[place]}", f"row {known[best[place]]}", float(near[place]))
                for place in _in_line(places, starts, known[best], size)
            ]
    return check_near(pairs, looked, f"stretches of {size} rows") if looked else None


def _surprises(values: Floats, lags: int) -> Floats:
    """Each change without what the changes before it say, by least squares; NaN where one is missing or settled."""
    changes = np.diff(values, axis=0)
    surprises = np.full(values.shape, np.nan)
    for series, column in enumerate(changes.T):
        past = np.lib.stride_tricks.sliding_window_view(column[:-1], lags)
        following, good = column[lags:], np.isfinite(column[lags:]) & np.isfinite(past).all(1)
        if good.sum() < 4 * lags:
            continue
        weights = np.linalg.lstsq(past[good], following[good], rcond=1e-9)[0]
        left = np.where(good, following - np.nan_to_num(past) @ weights, np.nan)
        if np.nanstd(left) > 1e-4 * np.nanstd(column):
            surprises[lags + 1 :, series] = left
    return surprises


def _starts(rows: Flags, size: int) -> NDArray[np.int64]:
    """Rows from which on so many are all chosen."""
    total = np.concatenate([[0], rows.cumsum()])
    return np.flatnonzero(total[size:] - total[:-size] == size)


def _cut(column: Floats, starts: NDArray[np.int64], size: int) -> Floats:
    return np.asarray(column[starts[:, None] + np.arange(size)])


def _stretches(column: Floats, starts: NDArray[np.int64], size: int) -> NDArray[np.float32]:
    """Stretches of length one; those that few rows make are 0."""
    rows = unit_rows(_cut(column, starts, size))
    return np.where((rows**4).sum(1, keepdims=True) * SPREAD * size < 1, rows, 0)


def _in_line(places: list[np.intp], starts: NDArray[np.int64], others: NDArray[np.int64], size: int) -> list[np.intp]:
    """Those of which another one, that shares no row, is as many rows away from its like: a copy goes on."""
    return [
        one for one in places
        if any(
            starts[one] - others[one] == starts[two] - others[two] and abs(starts[one] - starts[two]) >= size
            for two in places
        )
    ]  # fmt: skip


def _are_alike(stretch: Floats, other: Floats) -> bool:
    """Whether two stretches correlate where the first one is calm."""
    calm = np.abs(stretch) <= np.quantile(np.abs(stretch), CALM)
    first, second = unit_rows(np.stack([stretch[calm], other[calm]]))
    return bool(abs(first @ second) > LEAST_CALM)


def _nearest(
    stretches: NDArray[np.float32], known: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    if not len(stretches):
        return np.empty(0, np.float32), np.empty(0, np.int64)
    value = np.abs(stretches @ known.T)
    return value.max(1), value.argmax(1)


def _usual(stretches: NDArray[np.float32], starts: NDArray[np.int64], size: int) -> NDArray[np.float32]:
    """Nearest correlation of some training stretches among those that share no row with them."""
    some = np.unique(np.linspace(0, len(starts) - 1, MOST).astype(int))
    value = np.abs(stretches[some] @ stretches.T)
    value[np.abs(starts[some][:, None] - starts) < size] = 0
    return np.asarray(value.max(1))
