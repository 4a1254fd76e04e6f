"""Scores of class probabilities, as MedMNIST defines AUC and ACC; plain functions of arrays.

Labels are `(cases,)` positions of classes, probabilities `(cases, classes)`. With two classes the last column is the
score of the positive class, which is predicted where the score is above a threshold. Where `weights` are given, a case
counts as many times.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Probabilities = NDArray[np.float64]
Weights = NDArray[np.float64] | None

BINS = 15
MIDDLE = 0.5


def auc(labels: Labels, probabilities: Probabilities, *, weights: Weights = None) -> float | None:
    """Area under the ROC curve: of the last column for two classes, else the mean over one class against the rest.

    None where it is undefined: a class is absent, or no other is there.
    """
    count = probabilities.shape[1]
    if count == 2:
        return _binary_auc(labels == 1, probabilities[:, -1], weights)
    return _mean([_binary_auc(labels == position, probabilities[:, position], weights) for position in range(count)])


def _binary_auc(positive: NDArray[np.bool_], scores: NDArray[np.float64], weights: Weights) -> float | None:
    """Share of pairs in the right order, ties half (Mann and Whitney); a pair weighs the product of its cases."""
    if positive.all() or not positive.any():
        return None
    weights = np.ones(len(scores)) if weights is None else weights
    order = np.argsort(scores[~positive])
    negative, below = scores[~positive][order], np.cumsum([0.0, *weights[~positive][order]])
    ranks = [np.searchsorted(negative, scores[positive], side) for side in ("left", "right")]
    pairs = float(sum((below[rank] * weights[positive]).sum() for rank in ranks)) / 2
    return pairs / float(weights[positive].sum() * weights[~positive].sum())


def average_precision(
    labels: Labels, probabilities: Probabilities, position: int = 1, *, weights: Weights = None
) -> float | None:
    """Sum over thresholds of the precision times the recall that it adds, of one class; None where it is absent.

    Chance has the share of the class. Equal scores are taken together.
    """
    positive = labels == position
    if not positive.any():
        return None
    _, places = np.unique(-probabilities[:, position], return_inverse=True)
    own = positive if weights is None else positive * weights
    found, taken = (np.cumsum(np.bincount(places, weights=each)) for each in (own, weights))
    return float((np.diff(found, prepend=0.0) * found / taken).sum() / found[-1])


def predicted_classes(probabilities: Probabilities, threshold: float = MIDDLE) -> Labels:
    """Class of each case: above the threshold for two classes, else the first of the largest."""
    if probabilities.shape[1] == 2:
        return (probabilities[:, -1] > threshold).astype(np.int64)
    positions: Labels = probabilities.argmax(1).astype(np.int64)
    return positions


def accuracy(labels: Labels, probabilities: Probabilities, *, weights: Weights = None) -> float | None:
    """Share of cases whose class is predicted; None without cases."""
    return _share(predicted_classes(probabilities) == labels, np.full(len(labels), True), weights)


def sensitivity(labels: Labels, probabilities: Probabilities, threshold: float = MIDDLE) -> float | None:
    """Share of positive cases found; for more than two classes the mean over them. None where a class has no case."""
    predicted = predicted_classes(probabilities, threshold)
    return _mean_over_classes(probabilities, lambda position: _share(predicted == position, labels == position))


def specificity(labels: Labels, probabilities: Probabilities, threshold: float = MIDDLE) -> float | None:
    """Share of negative cases left alone; for more than two classes the mean over one against the rest."""
    predicted = predicted_classes(probabilities, threshold)
    return _mean_over_classes(probabilities, lambda position: _share(predicted != position, labels != position))


def balanced_accuracy(
    labels: Labels, probabilities: Probabilities, threshold: float = MIDDLE, *, weights: Weights = None
) -> float | None:
    """Mean over the classes of the share of each that is predicted; None where a class has no case."""
    predicted = predicted_classes(probabilities, threshold)
    hits = predicted == labels
    return _mean([_share(hits, labels == position, weights) for position in range(probabilities.shape[1])])


def macro_f1(labels: Labels, probabilities: Probabilities) -> float | None:
    """Mean F1 over the classes that occur or are predicted; None without cases."""
    values, _ = _f1_of_classes(labels, probabilities)
    return float(values.mean()) if len(values) else None


def weighted_f1(labels: Labels, probabilities: Probabilities) -> float | None:
    """Mean F1 of the cases, each of which has that of its class; None without cases."""
    values, cases = _f1_of_classes(labels, probabilities)
    return float(np.average(values, weights=cases)) if len(values) else None


def _f1_of_classes(labels: Labels, probabilities: Probabilities) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """F1 of the classes that occur or are predicted, and how many cases each has."""
    table = confusion_matrix(labels, predicted_classes(probabilities), probabilities.shape[1])
    counted = table.sum(0) + table.sum(1)
    return 2 * np.diag(table)[counted > 0] / counted[counted > 0], table.sum(1)[counted > 0]


def f1(
    labels: Labels,
    probabilities: Probabilities,
    threshold: float = MIDDLE,
    position: int = 1,
    *,
    weights: Weights = None,
) -> float | None:
    """F1 of one of two classes, the positive one if not given; None where it neither occurs nor is predicted."""
    true, named = labels == position, predicted_classes(probabilities, threshold) == position
    weights = np.ones(len(labels)) if weights is None else weights
    both, counted = weights[true & named].sum(), weights[true].sum() + weights[named].sum()
    return float(2 * both / counted) if counted else None


def mcc(labels: Labels, probabilities: Probabilities) -> float | None:
    """Matthews correlation of two classes; None where all labels or all predictions are the same."""
    table = confusion_matrix(labels, predicted_classes(probabilities), 2).astype(float)
    (right, false), (missed, true) = table.tolist()
    scale = float(np.sqrt(np.prod([true + false, true + missed, right + false, right + missed])))
    return (true * right - false * missed) / scale if scale else None


def top_accuracy(labels: Labels, probabilities: Probabilities, most: int = 5) -> float | None:
    """Share of cases whose class is among the `most` most probable; None without cases, or where all classes are."""
    if not len(labels) or probabilities.shape[1] <= most:
        return None
    ranked = np.argsort(-probabilities, axis=1, kind="stable")[:, :most]
    return float((ranked == labels[:, None]).any(1).mean())


def hard_auc(labels: Labels, probabilities: Probabilities) -> float | None:
    """AUC of the predicted classes in place of their probabilities: of two classes, the balanced accuracy."""
    return auc(labels, np.eye(probabilities.shape[1])[predicted_classes(probabilities)])


def _mean_over_classes(probabilities: Probabilities, share_of: Callable[[int], float | None]) -> float | None:
    """The positive class's alone if there are two classes."""
    count = probabilities.shape[1]
    return _mean([share_of(position) for position in ([1] if count == 2 else range(count))])


def _share(hits: NDArray[np.bool_], among: NDArray[np.bool_], weights: Weights = None) -> float | None:
    own = None if weights is None else weights[among]
    return float(np.average(hits[among], weights=own)) if among.any() else None


def _mean(shares: Sequence[float | None]) -> float | None:
    defined = [share for share in shares if share is not None]
    return float(np.mean(defined)) if len(defined) == len(shares) else None


def youden_threshold(labels: Labels, probabilities: Probabilities) -> float | None:
    """Threshold with the largest sensitivity + specificity - 1, halfway between two scores that occur.

    Of equally good ones, that nearest to 0.5, which also stands where no threshold is better than chance. None where
    a class is absent, or for more than two classes.
    """
    positive, scores = labels == 1, probabilities[:, -1]
    if probabilities.shape[1] != 2 or positive.all() or not positive.any():
        return None
    values, (negatives, positives) = _shares_up_to(positive, scores)
    gains = negatives[:-1] - positives[:-1]
    middles = (values[:-1] + values[1:]) / 2
    best = gains.max(initial=0.0)
    if best <= 0:
        return MIDDLE
    candidates = middles[np.isclose(gains, best, rtol=0, atol=1e-12)]
    return float(candidates[np.abs(candidates - MIDDLE).argmin()])


def f1_threshold(
    labels: Labels, probabilities: Probabilities, position: int = 1, *, weights: Weights = None
) -> float | None:
    """Threshold of the last of two classes with the largest F1 of one of them, halfway between two scores that occur.

    Of equally good ones, that nearest to 0.5, which also stands where all scores are one. None where a class is
    absent, or for more than two.
    """
    positive, scores = labels == position, probabilities[:, -1]
    if probabilities.shape[1] != 2 or positive.all() or not positive.any():
        return None
    values, places = np.unique(scores, return_inverse=True)
    counts = np.ones(len(labels)) if weights is None else weights
    below, found = (np.cumsum(np.bincount(places, weights=each))[:-1] for each in (counts, positive * counts))
    own = (positive * counts).sum()
    if position == 1:
        below, found = counts.sum() - below, own - found
    values, quality = (values[:-1] + values[1:]) / 2, 2 * found / (below + own)
    best = values[np.isclose(quality, quality.max(initial=0.0), rtol=0, atol=1e-12)]
    return float(best[np.abs(best - MIDDLE).argmin()]) if len(best) else MIDDLE


def roc_points(positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> dict[str, list[float]] | None:
    """False and true positive rates for every threshold that occurs, from (0, 0) to (1, 1); None for a lone class."""
    if positive.all() or not positive.any():
        return None
    values, (false, true) = _shares_up_to(positive, -scores)
    rates = {"false_positive_rate": [0.0, *false.tolist()], "true_positive_rate": [0.0, *true.tolist()]}
    return {**rates, "threshold": (-values).tolist()}


def _shares_up_to(
    positive: NDArray[np.bool_], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Scores that occur, in order, and the shares of negative and of positive cases up to each."""
    values, inverse = np.unique(scores, return_inverse=True)
    counts = [np.bincount(inverse, weights=group, minlength=len(values)) for group in (~positive, positive)]
    return values, [np.cumsum(count) / count.sum() for count in counts]


def confusion_matrix(labels: Labels, predicted: Labels, num_classes: int) -> NDArray[np.int64]:
    """Cases by true class (rows) and predicted class (columns)."""
    flat = np.bincount(labels * num_classes + predicted, minlength=num_classes**2)
    return flat.reshape(num_classes, num_classes).astype(np.int64)


def reliability_table(labels: Labels, probabilities: Probabilities, bins: int = BINS) -> list[dict[str, Any]]:
    """Stated against actual correctness of the predicted class, in equal bins of its probability; empty bins left out.

    Each row: low, high (excluded, but for 1), count, confidence (mean probability) and accuracy.
    """
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    places = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    return [
        {
            "low": bin_index / bins,
            "high": (bin_index + 1) / bins,
            "count": int((places == bin_index).sum()),
            "confidence": float(confidence[places == bin_index].mean()),
            "accuracy": float(right[places == bin_index].mean()),
        }
        for bin_index in np.unique(places).tolist()
    ]


def calibration_error(
    labels: Labels, probabilities: Probabilities, bins: int = BINS, *, weights: Weights = None
) -> float | None:
    """Expected calibration error: mean over cases of |confidence - accuracy| of their bin."""
    if not len(labels):
        return None
    weights = np.ones(len(labels)) if weights is None else weights
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    places = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    return float(np.abs(np.bincount(places, weights=weights * (confidence - right))).sum() / weights.sum())
