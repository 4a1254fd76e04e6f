"""How sure the mean of paired differences is, where cases of one unit are alike."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ONE_SIDED = 0.8413447460685429
"""Probability below one standard deviation."""


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
