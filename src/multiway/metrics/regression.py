"""Errors of numbers, over whatever axes the arrays have; None where one is undefined.

Where `weights` are given, a case counts as many times.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
Weights = NDArray[np.float64] | None


def mse(truth: Numbers, predicted: Numbers, *, weights: Weights = None) -> float | None:
    """Mean squared error."""
    return float(np.average(np.square(predicted - truth), weights=weights)) if truth.size else None


def rmse(truth: Numbers, predicted: Numbers, *, weights: Weights = None) -> float | None:
    """Root of the mean squared error, in the units of the numbers."""
    squared = mse(truth, predicted, weights=weights)
    return None if squared is None else squared**0.5


def mae(truth: Numbers, predicted: Numbers, *, weights: Weights = None) -> float | None:
    """Mean absolute error."""
    return float(np.average(np.abs(predicted - truth), weights=weights)) if truth.size else None


def r2(truth: Numbers, predicted: Numbers, *, weights: Weights = None) -> float | None:
    """1 - squared error / squared deviation from the mean of the truth; None where the truth does not vary."""
    if not truth.size:
        return None
    counts = np.ones(truth.shape) if weights is None else weights
    variation = float((counts * np.square(truth - np.average(truth, weights=weights))).sum())
    return 1 - float((counts * np.square(predicted - truth)).sum()) / variation if variation else None
