"""Scores of rises and falls pooled over days and tickers; plain functions of arrays.

Labels are `(movements,)`, 1 for a rise and 0 for a fall; scores are `(movements,)`, and a rise is predicted where the
score is above one half, so probabilities and predictions of 0 and 1 both serve.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MIDDLE = 0.5


def hit_rate(labels: NDArray[Any], scores: NDArray[Any]) -> float | None:
    """Share of movements whose direction is predicted; None without movements."""
    hits, misses = _hits(labels, scores)
    total = hits.sum() + misses.sum()
    return float(hits.sum() / total) if total else None


def f1(labels: NDArray[Any], scores: NDArray[Any]) -> float | None:
    """Harmonic mean of precision and recall of rises; None where no rise is there or predicted."""
    hits, misses = _hits(labels, scores)
    return _f1(int(hits[1]), int(misses.sum()))


def mean_f1(labels: NDArray[Any], scores: NDArray[Any]) -> float | None:
    """Mean of the F1 of rises and that of falls; None where either is undefined."""
    hits, misses = _hits(labels, scores)
    both = [_f1(int(hit), int(misses.sum())) for hit in hits]
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
