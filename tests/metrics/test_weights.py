"""Weighted scores are scikit-learn's, or those of cases that stand there as often as they count."""

import numpy as np
import pytest
from sklearn import metrics

from multiway.metrics import classes, regression, resampling
from tolerances import ROUNDING64

COUNT = 97


@pytest.fixture
def chance():
    return np.random.default_rng(11)


def shares_of(chance, num_classes, digits=2):
    """Rounded scores, so that ties occur, and weights."""
    labels = chance.integers(num_classes, size=COUNT)
    raw = chance.random((COUNT, num_classes)) + 0.4 * np.eye(num_classes)[labels]
    first = np.round(raw / raw.sum(1, keepdims=True), digits)[:, 1:]
    return labels, np.concatenate([1 - first.sum(1, keepdims=True), first], 1), chance.uniform(0.1, 5, COUNT)


def test_scores_of_two_classes(chance):
    labels, shares, weights = shares_of(chance, 2)
    named, how = shares[:, 1] > 0.4, {"sample_weight": weights}
    for found, expected in (
        (classes.auc, metrics.roc_auc_score(labels, shares[:, 1], **how)),
        (classes.average_precision, metrics.average_precision_score(labels, shares[:, 1], **how)),
        (classes.accuracy, metrics.accuracy_score(labels, shares[:, 1] > 0.5, **how)),
        (classes.balanced_accuracy, metrics.balanced_accuracy_score(labels, shares[:, 1] > 0.5, **how)),
    ):
        assert found(labels, shares, weights=weights) == pytest.approx(expected, rel=ROUNDING64)
        assert found(labels, shares) != pytest.approx(expected, rel=ROUNDING64)
    found = classes.f1(labels, shares, 0.4, weights=weights)
    assert found == pytest.approx(metrics.f1_score(labels, named, **how), rel=ROUNDING64)


def test_auc_of_more_classes_is_the_mean_over_one_against_the_rest(chance):
    labels, shares, weights = shares_of(chance, 5)
    each = [metrics.roc_auc_score(labels == i, shares[:, i], sample_weight=weights) for i in range(5)]
    assert classes.auc(labels, shares, weights=weights) == pytest.approx(np.mean(each), rel=ROUNDING64)


def test_errors_of_numbers(chance):
    truth, predicted, weights = chance.normal(size=(3, COUNT))
    weights = np.abs(weights) + 0.1
    for found, expected in (
        (regression.mse, metrics.mean_squared_error),
        (regression.rmse, metrics.root_mean_squared_error),
        (regression.mae, metrics.mean_absolute_error),
        (regression.r2, metrics.r2_score),
    ):
        value = expected(truth, predicted, sample_weight=weights)
        assert found(truth, predicted, weights=weights) == pytest.approx(value, rel=ROUNDING64)


@pytest.mark.parametrize("metric", [classes.calibration_error, classes.f1_threshold, classes.auc])
def test_a_weight_is_the_case_so_many_times(metric, chance):
    labels, shares, _ = shares_of(chance, 2)
    counts = chance.integers(1, 4, COUNT) * (1 + 5 * labels)
    repeated = np.repeat(labels, counts), np.repeat(shares, counts, axis=0)
    assert metric(labels, shares, weights=counts.astype(float)) == pytest.approx(metric(*repeated), rel=ROUNDING64)
    assert metric(labels, shares) != pytest.approx(metric(*repeated), rel=ROUNDING64)


def test_a_drawn_case_keeps_its_weight(chance):
    labels, shares, weights = shares_of(chance, 2)
    how = {"units": np.arange(COUNT), "draws": 50, "seed": 3}
    drawn = [classes.accuracy(labels[rows], shares[rows], weights=weights[rows]) for rows in draws_of(**how)]
    (row,) = resampling.score_rows({"acc": classes.accuracy}, labels, shares, weights=weights, **how)
    assert row["value"] == classes.accuracy(labels, shares, weights=weights)
    assert (row["low"], row["high"]) == tuple(np.percentile(drawn, [2.5, 97.5]))


def draws_of(units, draws, seed):
    return resampling.resamples(units, draws, seed)
