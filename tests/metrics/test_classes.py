"""Scores of class probabilities against scikit-learn's, and what they say where they are undefined."""

import functools

import numpy as np
import pytest
from sklearn import metrics

from multiway.metrics import classes
from multiway_papers.stocks.metrics import mean_f1, over_batches
from tolerances import ROUNDING64


def make_case(num_classes, count=211, seed=3, digits=2):
    """Rounded scores, so that ties occur."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(num_classes, size=count)
    raw = chance.random((count, num_classes)) + 0.4 * np.eye(num_classes)[labels]
    first = np.round(raw / raw.sum(1, keepdims=True), digits)[:, 1:]
    return labels, np.concatenate([1 - first.sum(1, keepdims=True), first], 1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [1, 2, 9])
def test_auc_of_two_classes_is_that_of_the_last_column(seed, digits):
    labels, probabilities = make_case(2, seed=seed, digits=digits)
    expected = metrics.roc_auc_score(labels, probabilities[:, -1])
    assert classes.auc(labels, probabilities) == pytest.approx(expected, rel=ROUNDING64)


@pytest.mark.parametrize("num_classes", [3, 11])
def test_auc_of_more_is_the_mean_over_one_against_the_rest(num_classes):
    """MedMNIST's loop over the classes, written out."""
    labels, probabilities = make_case(num_classes)
    expected = np.mean([metrics.roc_auc_score(labels == i, probabilities[:, i]) for i in range(num_classes)])
    assert classes.auc(labels, probabilities) == pytest.approx(expected, rel=ROUNDING64)


def test_auc_is_undefined_where_a_class_is_absent():
    labels, probabilities = make_case(3)
    assert classes.auc(np.zeros_like(labels), probabilities) is None
    assert classes.auc(labels[labels < 2], probabilities[labels < 2]) is None
    assert classes.auc(np.ones(5, dtype=np.int64), np.full((5, 2), 0.5)) is None


@pytest.mark.parametrize("num_classes", [2, 3, 11])
def test_accuracies(num_classes):
    labels, probabilities = make_case(num_classes)
    predicted = (probabilities[:, -1] > 0.5).astype(int) if num_classes == 2 else probabilities.argmax(1)
    assert classes.accuracy(labels, probabilities) == pytest.approx(metrics.accuracy_score(labels, predicted))
    assert classes.balanced_accuracy(labels, probabilities) == pytest.approx(
        metrics.balanced_accuracy_score(labels, predicted), rel=ROUNDING64
    )
    matrix = classes.confusion_matrix(labels, predicted, num_classes)
    assert np.array_equal(matrix, metrics.confusion_matrix(labels, predicted))


def test_a_score_of_one_half_is_negative():
    assert classes.accuracy(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]])) == 0.5


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.71])
def test_sensitivity_and_specificity(threshold):
    labels, probabilities = make_case(2)
    predicted = probabilities[:, 1] > threshold
    expected = metrics.recall_score(labels, predicted), metrics.recall_score(labels, predicted, pos_label=0)
    found = classes.sensitivity(labels, probabilities, threshold), classes.specificity(labels, probabilities, threshold)
    assert found == pytest.approx(expected, rel=ROUNDING64)


def test_sensitivity_of_more_classes_is_their_mean():
    labels, probabilities = make_case(3)
    predicted = probabilities.argmax(1)
    assert classes.sensitivity(labels, probabilities) == pytest.approx(
        metrics.recall_score(labels, predicted, average="macro"), rel=ROUNDING64
    )
    expected = np.mean([metrics.recall_score(labels != i, predicted != i) for i in range(3)])
    assert classes.specificity(labels, probabilities) == pytest.approx(expected, rel=ROUNDING64)


def test_shares_of_nothing_are_undefined():
    positive = np.ones(3, dtype=np.int64)
    probabilities = np.full((3, 2), 0.5)
    assert classes.specificity(positive, probabilities) is None
    assert classes.sensitivity(1 - positive, probabilities) is None
    assert classes.balanced_accuracy(positive, probabilities) is None
    nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    assert classes.accuracy(*nothing) is None
    assert classes.calibration_error(*nothing) is None


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_has_the_largest_youden_index(seed):
    labels, probabilities = make_case(2, seed=seed, digits=1)
    rates = metrics.roc_curve(labels, probabilities[:, 1], drop_intermediate=False)
    best = (rates[1] - rates[0]).max()
    threshold = classes.youden_threshold(labels, probabilities)
    index = (
        classes.sensitivity(labels, probabilities, threshold)
        + classes.specificity(labels, probabilities, threshold)
        - 1
    )
    assert index == pytest.approx(best, rel=ROUNDING64)
    assert threshold not in probabilities[:, 1]


def test_the_threshold_is_one_half_where_scores_say_nothing():
    labels = np.array([1, 1, 0, 0])
    scores = np.array([0.1, 0.2, 0.8, 0.9])
    assert classes.youden_threshold(labels, np.stack([1 - scores, scores], 1)) == 0.5
    assert classes.youden_threshold(labels, np.full((4, 2), 0.3)) == 0.5
    assert classes.youden_threshold(np.ones(4, dtype=np.int64), np.stack([1 - scores, scores], 1)) is None
    assert classes.youden_threshold(labels, np.full((4, 3), 1 / 3)) is None


def test_roc_points():
    labels, probabilities = make_case(2, digits=1)
    points = classes.roc_points(labels == 1, probabilities[:, 1])
    rates = metrics.roc_curve(labels, probabilities[:, 1], drop_intermediate=False)
    assert points["false_positive_rate"] == pytest.approx(rates[0], rel=ROUNDING64)
    assert points["true_positive_rate"] == pytest.approx(rates[1], rel=ROUNDING64)
    assert points["threshold"] == pytest.approx(rates[2][1:], rel=ROUNDING64)
    assert classes.roc_points(np.ones(3, dtype=bool), np.zeros(3)) is None


def test_calibration_error_by_hand():
    """Two bins: confidence 0.6 with 1 of 2 right, confidence 0.9 with 3 of 3."""
    labels = np.array([0, 1, 0, 0, 0])
    first = np.array([0.6, 0.6, 0.9, 0.9, 0.9])
    probabilities = np.stack([first, 1 - first], 1)
    table = classes.reliability_table(labels, probabilities, bins=10)
    assert [(row["count"], row["accuracy"]) for row in table] == [(2, 0.5), (3, 1.0)]
    assert [row["confidence"] for row in table] == pytest.approx([0.6, 0.9])
    assert classes.calibration_error(labels, probabilities, bins=10) == pytest.approx(0.4 * 0.1 + 0.6 * 0.1)


def test_certainty_lies_in_the_last_bin():
    table = classes.reliability_table(np.array([1]), np.array([[0.0, 1.0]]), bins=15)
    assert [(row["low"], row["high"]) for row in table] == [(14 / 15, 1.0)]


@pytest.mark.parametrize("num_classes", [2, 3, 7])
def test_weighted_f1_is_over_the_cases(num_classes):
    labels, probabilities = make_case(num_classes, count=23)
    for rows in (labels >= 0, labels == 0):
        predicted = classes.predicted_classes(probabilities[rows])
        expected = metrics.f1_score(labels[rows], predicted, average="weighted", zero_division=0)
        assert classes.weighted_f1(labels[rows], probabilities[rows]) == pytest.approx(expected, rel=ROUNDING64)
    assert classes.weighted_f1(labels[:0], probabilities[:0]) is None


@pytest.mark.parametrize("num_classes", [2, 3, 7])
def test_macro_f1_is_over_the_classes_that_occur_or_are_predicted(num_classes):
    labels, probabilities = make_case(num_classes, count=23)
    expected = metrics.f1_score(labels, classes.predicted_classes(probabilities), average="macro")
    assert classes.macro_f1(labels, probabilities) == pytest.approx(expected, rel=ROUNDING64)
    few = labels == 0
    expected = metrics.f1_score(labels[few], classes.predicted_classes(probabilities[few]), average="macro")
    assert classes.macro_f1(labels[few], probabilities[few]) == pytest.approx(expected, rel=ROUNDING64)
    assert classes.macro_f1(labels[:0], probabilities[:0]) is None


def test_accuracy_among_five_needs_more_classes_than_five():
    labels, probabilities = make_case(7, digits=9)
    expected = metrics.top_k_accuracy_score(labels, probabilities, k=5, labels=np.arange(7))
    assert classes.top_accuracy(labels, probabilities) == pytest.approx(expected, rel=ROUNDING64)
    assert classes.top_accuracy(labels, probabilities[:, :5]) is None


def test_the_auc_of_hard_answers_is_the_balanced_accuracy_of_two_classes():
    labels, probabilities = make_case(2)
    assert classes.hard_auc(labels, probabilities) == pytest.approx(classes.balanced_accuracy(labels, probabilities))
    assert classes.hard_auc(labels, probabilities) != classes.auc(labels, probabilities)


def make_rises(count=311, seed=2):
    chance = np.random.default_rng(seed)
    labels = chance.integers(2, size=count)
    return labels, np.round(0.3 * labels + 0.7 * chance.random(count), 2)


def of_two(metric, labels, scores):
    """A metric of the probability of the second class."""
    return metric(labels.astype(np.int64), np.stack([1 - scores, scores], axis=1))


OF_TWO = {
    classes.accuracy: metrics.accuracy_score,
    classes.f1: metrics.f1_score,
    mean_f1: lambda labels, predicted: metrics.f1_score(labels, predicted, average="macro"),
    classes.mcc: metrics.matthews_corrcoef,
}


@pytest.mark.parametrize("metric", OF_TWO, ids=lambda metric: metric.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_scores_of_two_classes_are_scikit_learns(metric, seed):
    labels, scores = make_rises(seed=seed)
    predicted = (scores > 0.5).astype(int)
    expected = pytest.approx(OF_TWO[metric](labels, predicted), rel=ROUNDING64)
    assert of_two(metric, labels, scores) == expected
    assert of_two(metric, labels, predicted) == expected


def test_a_score_of_one_half_is_no_rise():
    assert of_two(classes.accuracy, np.array([0, 1]), np.array([0.5, 0.5])) == 0.5


def test_means_over_batches_of_days_count_an_undefined_batch_as_zero():
    labels, scores = make_rises(seed=5)
    days = np.sort(np.random.default_rng(0).integers(0, 7, len(labels))) * 3
    scores[days < 6], labels[days < 6] = 0.9, 1  # the first two days, of which no correlation is defined
    found = over_batches(functools.partial(of_two, classes.mcc), labels, scores, days, size=2)
    chunks = [np.isin(days, np.unique(days)[first : first + 2]) for first in (2, 4, 6)]
    values = [metrics.matthews_corrcoef(labels[each], scores[each] > 0.5) for each in chunks]
    assert found == pytest.approx((0 + 2 * values[0] + 2 * values[1] + values[2]) / 7, rel=ROUNDING64)


def test_what_cannot_be_said_of_two_classes_is_none():
    ones, zeros = np.ones(5), np.zeros(5)
    mixed = np.array([0, 1, 0, 1, 1])
    assert of_two(classes.accuracy, np.array([]), np.array([])) is None
    assert of_two(classes.mcc, mixed, ones) is None
    assert of_two(classes.mcc, ones, mixed) is None
    assert of_two(classes.f1, zeros, zeros) is None
    assert of_two(mean_f1, ones, ones) is None
    assert of_two(classes.f1, ones, zeros) == 0.0
    assert of_two(classes.f1, mixed, zeros) == 0.0


def test_large_counts_do_not_overflow():
    labels = np.repeat([0, 1], 200_000)
    assert of_two(classes.mcc, labels, labels) == 1.0
