"""Scores that published results on stocks have: means over batches, and what quantiles of a movement say of a rise."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.metrics.classes import Labels, Probabilities, f1
from multiway.metrics.quantiles import Numbers


def mean_f1(labels: Labels, probabilities: Probabilities) -> float | None:
    """Mean of the F1 of both classes; None where either neither occurs nor is predicted."""
    values = (f1(labels, probabilities, position=position) for position in (0, 1))
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == 2 else None


def over_batches(
    metric: Callable[[Labels, NDArray[np.float64]], float | None],
    labels: Labels,
    scores: NDArray[np.float64],
    units: NDArray[Any],
    size: int,
) -> float:
    """Mean of a metric over batches of `size` consecutive units, by their units; where it is undefined it counts 0.

    Training loops log this. It depends on how cases are batched: of few cases a batch it is not what all cases have.
    """
    known, places = np.unique(units, return_inverse=True)
    batches = places // size
    values = [metric(labels[batches == each], scores[batches == each]) or 0.0 for each in range(batches.max() + 1)]
    return float(np.average(values, weights=np.bincount(np.arange(len(known)) // size)))


def median_error(truth: Numbers, levels: Numbers, quantiles: Sequence[float]) -> float | None:
    """Mean absolute error of the median."""
    return float(np.abs(truth - levels[:, list(quantiles).index(0.5)]).mean()) if len(truth) else None


def share_above_zero(levels: Numbers, quantiles: Sequence[float]) -> Numbers:
    """Probability of a positive number that the levels say, linear between them and held beyond them."""
    flat = levels.reshape(-1, levels.shape[-1])
    below = [float(np.interp(0.0, row, quantiles)) for row in flat]
    return 1 - np.array(below, np.float64).reshape(levels.shape[:-1])
