"""Scores of levels that a number stays below with given probabilities.

Truths are `(cases,)`, levels `(cases, quantiles)` in ascending order.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def pinball(truth: Values, levels: Values, quantiles: Sequence[float]) -> float | None:
    """Mean pinball loss over cases and quantiles, about half the continuous ranked probability score."""
    if not len(truth):
        return None
    shares, error = np.array(quantiles), truth[:, None] - levels
    return float(np.maximum(shares * error, (shares - 1) * error).mean())


def median_error(truth: Values, levels: Values, quantiles: Sequence[float]) -> float | None:
    """Mean absolute error of the median."""
    return float(np.abs(truth - levels[:, list(quantiles).index(0.5)]).mean()) if len(truth) else None


def coverage(truth: Values, levels: Values) -> float | None:
    """Share of truths between the lowest and the highest level."""
    if not len(truth):
        return None
    return float(((levels[:, 0] <= truth) & (truth <= levels[:, -1])).mean())


def share_above_zero(levels: Values, quantiles: Sequence[float]) -> Values:
    """Probability of a positive number that the levels say, linear between them and held beyond them."""
    flat = levels.reshape(-1, levels.shape[-1])
    below = [float(np.interp(0.0, row, quantiles)) for row in flat]
    return 1 - np.array(below, np.float64).reshape(levels.shape[:-1])
