"""Errors of numbers and of their quantiles, over whatever axes the arrays have; None where one is undefined."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]


def mse(truth: Numbers, predicted: Numbers) -> float | None:
    """Mean squared error."""
    return float(np.square(predicted - truth).mean()) if truth.size else None


def rmse(truth: Numbers, predicted: Numbers) -> float | None:
    """Root of the mean squared error, in the units of the numbers."""
    squared = mse(truth, predicted)
    return None if squared is None else squared**0.5


def mae(truth: Numbers, predicted: Numbers) -> float | None:
    """Mean absolute error."""
    return float(np.abs(predicted - truth).mean()) if truth.size else None


def r2(truth: Numbers, predicted: Numbers) -> float | None:
    """1 - squared error / squared deviation from the mean of the truth; None where the truth does not vary."""
    variation = float(np.square(truth - truth.mean()).sum()) if truth.size else 0.0
    return 1 - float(np.square(predicted - truth).sum()) / variation if variation else None


def pinball(truth: Numbers, levels: Numbers, quantiles: Sequence[float]) -> float | None:
    """Mean pinball loss over cases and quantiles, about half the continuous ranked probability score."""
    return float(pinball_errors(truth, levels, quantiles).mean()) if len(truth) else None


def pinball_errors(truth: Numbers, levels: Numbers, quantiles: Sequence[float]) -> Numbers:
    """Pinball loss of each case and quantile, `(cases, quantiles)`."""
    shares, error = np.array(quantiles), truth[:, None] - levels
    return np.asarray(np.maximum(shares * error, (shares - 1) * error))


def median_error(truth: Numbers, levels: Numbers, quantiles: Sequence[float]) -> float | None:
    """Mean absolute error of the median."""
    return float(np.abs(truth - levels[:, list(quantiles).index(0.5)]).mean()) if len(truth) else None


def coverage(truth: Numbers, levels: Numbers) -> float | None:
    """Share of truths between the lowest and the highest level."""
    if not len(truth):
        return None
    return float(((levels[:, 0] <= truth) & (truth <= levels[:, -1])).mean())


def share_above_zero(levels: Numbers, quantiles: Sequence[float]) -> Numbers:
    """Probability of a positive number that the levels say, linear between them and held beyond them."""
    flat = levels.reshape(-1, levels.shape[-1])
    below = [float(np.interp(0.0, row, quantiles)) for row in flat]
    return 1 - np.array(below, np.float64).reshape(levels.shape[:-1])
