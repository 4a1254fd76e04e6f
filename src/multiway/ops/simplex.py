"""The convex weights of least squared error."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SMALLEST = 0.05
"""A weight below this is none: one model fewer serves as well."""


def simplex_weights(products: Floats) -> Floats:
    r"""Weights $w \ge 0$, $\sum w = 1$, that minimise $w^\top G w$, where G holds the products of models' errors.

    With $G = A^\top A$ they are the solution of non-negative least squares on $[A; 1] w = [0; 1]$, scaled to sum to
    one: along any direction of the simplex the best length falls as its error rises.

    Args:
        products: G, `(models, models)`, symmetric and positive semi-definite.
    """
    from scipy.optimize import nnls  # takes longer to import than most of what is here

    count = len(products)
    scale = float(np.trace(products)) / count
    if scale <= 0.0:
        return np.append(1.0, np.zeros(count - 1))
    values, vectors = np.linalg.eigh(products / scale)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    weights: Floats = nnls(np.vstack([root, np.ones(count)]), np.append(np.zeros(count), 1.0))[0]
    weights /= weights.sum()
    return weights


def few_weights(products: Floats) -> Floats:
    """The same, those below the smallest left out."""
    weights = simplex_weights(products)
    kept = np.flatnonzero(weights >= min(SMALLEST, weights.max()))
    few = np.zeros(len(weights))
    few[kept] = simplex_weights(products[np.ix_(kept, kept)])
    return few
