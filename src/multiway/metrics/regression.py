"""Errors of numbers, over whatever axes the arrays have; None where one is undefined, as without any case."""

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


def smape(truth: Numbers, predicted: Numbers) -> float | None:
    """Mean of 2 |p - y| / (|p| + |y|), from 0 to 2; a zero that is predicted as zero counts 0."""
    size = np.abs(predicted) + np.abs(truth)
    shares = 2 * np.abs(predicted - truth) / np.where(size > 0, size, 1)
    return float(shares.mean()) if truth.size else None


def wape(truth: Numbers, predicted: Numbers) -> float | None:
    """Sum of absolute errors over the sum of absolute truths; None where all truths are zero."""
    total = float(np.abs(truth).sum())
    return float(np.abs(predicted - truth).sum()) / total if total else None


def mase(truth: Numbers, predicted: Numbers, training: Numbers, season: int = 1) -> float | None:
    """Mean absolute error over that of the seasonal naive forecast on the training rows (Hyndman & Koehler 2006).

    None where the training rows are no more than a season, or repeat themselves.
    """
    error = mae(truth, predicted)
    naive = mae(training[season:], training[:-season])
    return error / naive if error is not None and naive else None
