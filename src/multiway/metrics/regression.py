"""Errors of numbers, over whatever axes the arrays have; None where one is undefined."""

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
