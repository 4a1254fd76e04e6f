"""How sure scores are: intervals by the bootstrap for cases, groups or blocks of days, and errors of differences."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.errors import ShapeError

Rows = NDArray[np.int64]
ScoreFunction = Callable[..., float | None]
Interval = tuple[float, float] | None
Floats = NDArray[np.float64]
ONE_SIDED = 0.8413447460685429
"""Probability below one standard deviation."""


def intervals(
    metrics: Mapping[str, ScoreFunction],
    truth: NDArray[Any],
    predicted: NDArray[Any],
    *,
    units: NDArray[Any] | None = None,
    weights: Floats | None = None,
    block: int = 1,
    draws: int = 1000,
    seed: int = 0,
    level: float = 95.0,
) -> dict[str, Interval]:
    """Percentile interval of every metric, all over the same draws.

    Args:
        metrics: By name; each a function of the drawn rows of truth and predictions, and of `weights` if given.
        truth: One row per case.
        predicted: One row per case.
        units: What each case belongs to, such as its patient or day; each case alone if not given.
        weights: How often each case counts; all alike if not given.
        block: Neighbouring units that are drawn together.
        draws: How often to draw; 0 gives no interval.
        seed: Of the draws.
        level: In percent.

    Returns:
        Low and high by name; None for fewer than two units, or where most draws leave the metric undefined.
    """
    units = np.arange(len(truth)) if units is None else np.asarray(units)
    if not len(truth) == len(predicted) == len(units):
        raise ShapeError(
            f"intervals: truth, predictions and units need one row per case. Got {len(truth)}, {len(predicted)} and "
            f"{len(units)} rows."
        )
    values: dict[str, list[float]] = {name: [] for name in metrics}
    for rows in resamples(units, draws, seed, block):
        drawn, how = (truth[rows], predicted[rows]), {} if weights is None else {"weights": weights[rows]}
        for name, metric in metrics.items():
            value = metric(*drawn, **how)
            if value is not None:
                values[name].append(value)
    return {name: percentiles(samples, draws, level) for name, samples in values.items()}


def score_rows(
    metrics: Mapping[str, ScoreFunction],
    truth: NDArray[Any],
    predicted: NDArray[Any],
    *,
    weights: Floats | None = None,
    **resampling: Any,
) -> list[dict[str, Any]]:
    """Name, value and interval of every metric, None where undefined; `weights` and the rest as of `intervals`."""
    bounds = intervals(metrics, truth, predicted, weights=weights, **resampling)
    rows, how = [], {} if weights is None else {"weights": weights}
    for name, metric in metrics.items():
        low, high = bounds[name] or (None, None)
        rows.append({"metric": name, "value": metric(truth, predicted, **how), "low": low, "high": high})
    return rows


def model_rows(
    metrics: Mapping[str, ScoreFunction],
    truth: NDArray[Any],
    outputs: Mapping[str, NDArray[Any]],
    split: str,
    **resampling: Any,
) -> list[dict[str, Any]]:
    """The `score_rows` of every model on one split, all over the same draws."""
    return [
        {"model": model, "split": split, **row}
        for model, predicted in outputs.items()
        for row in score_rows(metrics, truth, predicted, **resampling)
    ]


def resamples(units: NDArray[Any], draws: int, seed: int, block: int = 1) -> Iterator[Rows]:
    """Rows of each draw of whole units with replacement; the same seed draws the same units.

    Cases of one patient are alike, and so are movements of neighbouring days; drawing them one by one would make an
    interval too narrow. A block of more than one starts at any unit, in sorted order, and goes on from the last to
    the first (Politis & Romano 1992, the circular block bootstrap); the last block is cut at the number of units.

    Args:
        units: What each row belongs to, in any order.
        draws: How often to draw; nothing is drawn from fewer than two units.
        seed: Of the draws.
        block: Neighbouring units that are drawn together.
    """
    _, member = np.unique(units, return_inverse=True)
    sizes = np.bincount(member)
    count, length = len(sizes), min(block, len(sizes))
    if count < 2:
        return
    order, starts = np.argsort(member, kind="stable"), np.cumsum(sizes) - sizes
    generator = np.random.default_rng(seed)
    for _ in range(draws):
        first = generator.integers(count, size=(-(-count // length), 1))
        chosen = ((first + np.arange(length)) % count).ravel()[:count]
        lengths = sizes[chosen]
        offset = np.repeat(starts[chosen] - (np.cumsum(lengths) - lengths), lengths)
        yield order[offset + np.arange(len(offset))]  # rows of the chosen units, one unit after another


def percentiles(values: Sequence[float], draws: int, level: float = 95.0) -> Interval:
    """Low and high of what the draws gave; None where most of them left the metric undefined."""
    if draws < 1 or 2 * len(values) <= draws:
        return None
    tail = (100.0 - level) / 2
    low, high = np.percentile(values, [tail, 100.0 - tail])
    return float(low), float(high)


def clusters_of(count: int, units: NDArray[np.generic] | None = None, block: int = 1) -> NDArray[np.int64]:
    """Number of the cluster of each case: its unit, or its block of neighbouring units in sorted order.

    Args:
        count: Cases.
        units: What each belongs to, such as its patient or day; each case alone if not given.
        block: Units of a cluster. Of fewer than two clusters nothing is known; cases then stand for themselves.
    """
    members = np.arange(count) if units is None else np.unique(np.asarray(units), return_inverse=True)[1]
    clusters: NDArray[np.int64] = (members // max(block, 1)).astype(np.int64)
    return clusters if clusters.any() else np.arange(count)


def standard_error(differences: Floats, clusters: NDArray[np.int64]) -> float:
    r"""Standard error of the mean of differences d over G clusters of unequal sizes n; infinite for fewer than two.

    $$s^2 = \frac{G}{G - 1} \sum_g \Bigl(\sum_{i \in g} d_i - n_g \bar d\Bigr)^2 / N^2$$

    times the quantile of Student's t with G - 1 degrees of freedom that one deviation has in a normal law: few clusters
    know little of s.
    """
    from scipy.special import stdtrit  # takes longer to import than most of what is here

    sizes = np.bincount(clusters)
    count = int((sizes > 0).sum())
    if count < 2:
        return float("inf")
    residuals = np.bincount(clusters, weights=differences - differences.mean())
    spread = np.sqrt(count / (count - 1) * np.square(residuals).sum()) / len(differences)
    return float(spread * stdtrit(count - 1, ONE_SIDED))
