"""Scores of rises and falls pooled over days and tickers, with intervals over blocks of days; functions of arrays.

Labels are `(movements,)`, 1 for a rise and 0 for a fall; scores are `(movements,)`, and a rise is predicted where the
score is above one half, so probabilities and predictions of 0 and 1 both serve.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

MIDDLE = 0.5
BLOCK_DAYS = 5

Metric = Callable[[Any, Any], float | None]
Interval = tuple[float, float] | None


def accuracy(labels: NDArray[Any], scores: NDArray[Any]) -> float | None:
    """Share of movements whose direction is predicted; None without movements."""
    hits, misses = _hits(labels, scores)
    total = hits.sum() + misses.sum()
    return float(hits.sum() / total) if total else None


def f1(labels: NDArray[Any], scores: NDArray[Any]) -> float | None:
    """Harmonic mean of precision and recall of rises; None where no rise is there or predicted."""
    hits, misses = _hits(labels, scores)
    return _f1(int(hits[1]), int(misses.sum()))


def macro_f1(labels: NDArray[Any], scores: NDArray[Any]) -> float | None:
    """Mean of the F1 of rises and that of falls; None where either is undefined."""
    hits, misses = _hits(labels, scores)
    both = [_f1(int(found), int(misses.sum())) for found in hits]
    return None if None in both else float(np.mean([value for value in both if value is not None]))


def mcc(labels: NDArray[Any], scores: NDArray[Any]) -> float | None:
    """Matthews correlation of all movements pooled; None where all labels or all predictions are the same."""
    (true_falls, true_rises), (false_rises, false_falls) = (part.astype(float) for part in _hits(labels, scores))
    sides = (true_rises + false_rises, true_rises + false_falls, true_falls + false_rises, true_falls + false_falls)
    scale = float(np.sqrt(np.prod(sides)))
    return float((true_rises * true_falls - false_rises * false_falls) / scale) if scale else None


def _hits(labels: NDArray[Any], scores: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Falls and rises that were predicted, and falls and rises that were not."""
    rises = np.asarray(labels) == 1
    table = np.bincount(2 * rises + (np.asarray(scores) > MIDDLE), minlength=4)
    return table[[0, 3]], table[[1, 2]]


def _f1(hits: int, misses: int) -> float | None:
    """2 hits / (2 hits + misses): every miss is a false positive of one class and a false negative of the other."""
    return 2 * hits / (2 * hits + misses) if hits + misses else None


@overload
def block_bootstrap(
    metrics: Metric,
    labels: NDArray[Any],
    scores: NDArray[Any],
    days: NDArray[Any],
    *,
    draws: int = ...,
    block_days: int = ...,
    seed: int = ...,
    level: float = ...,
) -> Interval: ...
@overload
def block_bootstrap(
    metrics: Mapping[str, Metric],
    labels: NDArray[Any],
    scores: NDArray[Any],
    days: NDArray[Any],
    *,
    draws: int = ...,
    block_days: int = ...,
    seed: int = ...,
    level: float = ...,
) -> dict[str, Interval]: ...
def block_bootstrap(
    metrics: Metric | Mapping[str, Metric],
    labels: NDArray[Any],
    scores: NDArray[Any],
    days: NDArray[Any],
    *,
    draws: int = 1000,
    block_days: int = BLOCK_DAYS,
    seed: int = 0,
    level: float = 95.0,
) -> Interval | dict[str, Interval]:
    """Percentile interval of a metric over days drawn in blocks, with all movements of a day together.

    Movements of one day are alike, and so are those of neighbouring days; drawing them one by one would make the
    interval too narrow. Blocks start at any target day and go on from the last to the first (Politis & Romano 1992,
    the circular block bootstrap), as many as give the number of days there are; the last block is cut. The same seed
    draws the same days.

    Args:
        metrics: Of labels and scores; or several by name, all over the same draws.
        labels: One row per movement.
        scores: One row per movement.
        days: Target day of each movement, in any order.
        draws: How often to draw; 0 gives no interval.
        block_days: Consecutive target days drawn together.
        seed: Of the draws.
        level: In percent.

    Returns:
        Low and high, for several metrics by name; None for fewer than two days, or where most draws leave the metric
        undefined.
    """
    named = metrics if isinstance(metrics, Mapping) else {"": metrics}
    values: dict[str, list[float]] = {name: [] for name in named}
    for rows in _drawn_rows(np.asarray(days), draws, block_days, seed):
        drawn = labels[rows], scores[rows]
        for name, metric in named.items():
            value = metric(*drawn)
            if value is not None:
                values[name].append(value)
    intervals = {name: _percentiles(found, draws, level) for name, found in values.items()}
    return intervals if isinstance(metrics, Mapping) else intervals[""]


def _drawn_rows(days: NDArray[Any], draws: int, block_days: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Rows of each draw; none for fewer than two days."""
    _, inverse = np.unique(days, return_inverse=True)
    sizes = np.bincount(inverse)
    count = len(sizes)
    if count < 2 or draws < 1:
        return
    order, starts = np.argsort(inverse, kind="stable"), np.cumsum(sizes) - sizes
    length = min(block_days, count)
    first = np.random.default_rng(seed).integers(count, size=(draws, -(-count // length), 1))
    chosen = ((first + np.arange(length)) % count).reshape(draws, -1)[:, :count]
    for drawn in chosen:
        yield _rows_of(drawn, order, starts, sizes)


def _rows_of(
    drawn: NDArray[np.int64], order: NDArray[np.int64], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rows of the drawn days, one day after another."""
    lengths = sizes[drawn]
    offset = np.repeat(starts[drawn] - (np.cumsum(lengths) - lengths), lengths)
    rows: NDArray[np.int64] = order[offset + np.arange(len(offset))]
    return rows


def _percentiles(values: list[float], draws: int, level: float) -> Interval:
    if draws < 1 or 2 * len(values) <= draws:
        return None
    tail = (100.0 - level) / 2
    low, high = np.percentile(values, [tail, 100.0 - tail])
    return float(low), float(high)
