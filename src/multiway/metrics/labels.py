"""Scores of several labels a case: truth is 0 or 1 and probabilities lie between, both `(cases, labels)`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from multiway.metrics import classes
from multiway.metrics.classes import MIDDLE

Truth = NDArray[np.int64]
Shares = NDArray[np.float64]


def auc(truth: Truth, shares: Shares) -> float | None:
    """Mean area under the ROC curve over the labels that some cases have and others lack; None where none is so."""
    return _mean_over_labels(truth, shares, classes.auc)


def mean_precision(truth: Truth, shares: Shares) -> float | None:
    """Mean average precision over the labels that some cases have; None where there is none."""
    return _mean_over_labels(truth, shares, classes.average_precision)


def _mean_over_labels(truth: Truth, shares: Shares, score: Callable[..., float | None]) -> float | None:
    pairs = (np.stack([1 - own, own], axis=1) for own in shares.T)
    found = [value for label, pair in zip(truth.T, pairs, strict=True) if (value := score(label, pair)) is not None]
    return float(np.mean(found)) if found else None


def exact(truth: Truth, shares: Shares) -> float | None:
    """Share of cases all of whose labels are right, above one half each; None without cases."""
    return float(((shares > MIDDLE) == truth).all(1).mean()) if len(truth) else None


def micro_f1(truth: Truth, shares: Shares) -> float | None:
    """F1 of all pairs of a case and a label together; None where none is true or predicted."""
    return _f1(truth.reshape(-1, 1), shares.reshape(-1, 1))


def macro_f1(truth: Truth, shares: Shares) -> float | None:
    """Mean F1 over the labels that are true or predicted for some case; None where none is."""
    return _f1(truth, shares)


def _f1(truth: Truth, shares: Shares) -> float | None:
    named = shares > MIDDLE
    both, counted = (named & (truth == 1)).sum(0), named.sum(0) + truth.sum(0)
    return float((2 * both[counted > 0] / counted[counted > 0]).mean()) if counted.any() else None
