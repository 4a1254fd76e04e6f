"""Scores of two classes, such as rises and falls, beside scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics

from multiway.metrics import classes
from tolerances import ROUNDING64


def make_case(count=311, seed=2):
    chance = np.random.default_rng(seed)
    labels = chance.integers(2, size=count)
    return labels, np.round(0.3 * labels + 0.7 * chance.random(count), 2)


def of_two(metric, labels, scores):
    """A metric of the probability of the second class."""
    return metric(labels.astype(np.int64), np.stack([1 - scores, scores], axis=1))


SAME = {
    classes.accuracy: metrics.accuracy_score,
    classes.f1: metrics.f1_score,
    classes.mean_f1: lambda labels, predicted: metrics.f1_score(labels, predicted, average="macro"),
    classes.mcc: metrics.matthews_corrcoef,
}


@pytest.mark.parametrize("metric", SAME, ids=lambda metric: metric.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_scikit_learns(metric, seed):
    labels, scores = make_case(seed=seed)
    predicted = (scores > 0.5).astype(int)
    expected = pytest.approx(SAME[metric](labels, predicted), rel=ROUNDING64)
    assert of_two(metric, labels, scores) == expected
    assert of_two(metric, labels, predicted) == expected


def test_a_score_of_one_half_is_no_rise():
    assert of_two(classes.accuracy, np.array([0, 1]), np.array([0.5, 0.5])) == 0.5


def test_what_cannot_be_said_is_none():
    ones, zeros = np.ones(5), np.zeros(5)
    mixed = np.array([0, 1, 0, 1, 1])
    assert of_two(classes.accuracy, np.array([]), np.array([])) is None
    assert of_two(classes.mcc, mixed, ones) is None
    assert of_two(classes.mcc, ones, mixed) is None
    assert of_two(classes.f1, zeros, zeros) is None
    assert of_two(classes.mean_f1, ones, ones) is None
    assert of_two(classes.f1, ones, zeros) == 0.0
    assert of_two(classes.f1, mixed, zeros) == 0.0


def test_large_counts_do_not_overflow():
    labels = np.repeat([0, 1], 200_000)
    assert of_two(classes.mcc, labels, labels) == 1.0
