"""Scores of rises and falls beside scikit-learn's, and intervals over blocks of days."""

import numpy as np
import pytest
from sklearn import metrics

from multiway.training import movements
from tolerances import ROUNDING64


def make_case(count=311, seed=2, days=23):
    """Movements in no order, some days with more than others."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(2, size=count)
    scores = np.round(0.3 * labels + 0.7 * chance.random(count), 2)
    return labels, scores, np.datetime64("2015-10-01") + chance.integers(days, size=count)


SAME = {
    movements.accuracy: metrics.accuracy_score,
    movements.f1: metrics.f1_score,
    movements.macro_f1: lambda labels, predicted: metrics.f1_score(labels, predicted, average="macro"),
    movements.mcc: metrics.matthews_corrcoef,
}


@pytest.mark.parametrize("metric", SAME, ids=lambda metric: metric.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_scikit_learns(metric, seed):
    labels, scores, _ = make_case(seed=seed)
    predicted = (scores > 0.5).astype(int)
    expected = pytest.approx(SAME[metric](labels, predicted), rel=ROUNDING64)
    assert metric(labels, scores) == expected
    assert metric(labels, predicted) == expected


def test_a_score_of_one_half_is_no_rise():
    assert movements.accuracy(np.array([0, 1]), np.array([0.5, 0.5])) == 0.5


def test_what_cannot_be_said_is_none():
    ones, zeros = np.ones(5), np.zeros(5)
    mixed = np.array([0, 1, 0, 1, 1])
    assert movements.accuracy(np.array([]), np.array([])) is None
    assert movements.mcc(mixed, ones) is None
    assert movements.mcc(ones, mixed) is None
    assert movements.f1(zeros, zeros) is None
    assert movements.macro_f1(ones, ones) is None
    assert movements.f1(ones, zeros) == 0.0
    assert movements.f1(mixed, zeros) == 0.0


def test_large_counts_do_not_overflow():
    labels = np.repeat([0, 1], 200_000)
    assert movements.mcc(labels, labels) == 1.0


def mean_label(labels, scores):
    return float(labels.mean())


def test_all_movements_of_a_day_are_drawn_together():
    """Each day has one label, and as many movements; a mean of whole days is a multiple of 1 / days."""
    days = np.repeat(np.arange(7), 3)[np.random.default_rng(0).permutation(21)]
    seen = []

    def collect(labels, scores):
        seen.append(labels)
        return 0.0

    movements.block_bootstrap(collect, days, days, days, draws=50, block_days=2, seed=1)
    for drawn in seen:
        assert len(drawn) == 21
        assert (np.unique(drawn, return_counts=True)[1] % 3 == 0).all()


def test_blocks_are_consecutive_days_and_go_round():
    days, seen = np.arange(10), set()

    def collect(labels, scores):
        assert len(labels) == 10
        for start in (0, 4):
            assert (np.diff(labels[start : start + 4]) % 10 == 1).all()
        assert (labels[9] - labels[8]) % 10 == 1
        seen.update(labels[:1].tolist())
        return 0.0

    movements.block_bootstrap(collect, days, days, days, draws=200, block_days=4)
    assert seen == set(range(10))


def test_longer_blocks_widen_the_interval_where_neighbours_are_alike():
    labels = np.repeat(np.arange(60) // 10 % 2, 4)
    days = np.repeat(np.arange(60), 4)
    widths = []
    for block_days in (1, 10):
        low, high = movements.block_bootstrap(mean_label, labels, labels, days, draws=400, block_days=block_days)
        widths.append(high - low)
    assert widths[1] > 1.5 * widths[0]


def test_single_days_give_the_standard_error_of_a_mean():
    """Independent days: the interval spans about 2 x 1.96 standard errors."""
    chance = np.random.default_rng(5)
    labels = chance.standard_normal(500)
    low, high = movements.block_bootstrap(mean_label, labels, labels, np.arange(500), draws=2000, block_days=1)
    standard_error = labels.std() / 500**0.5
    assert low < labels.mean() < high
    assert (high - low) / (2 * 1.96 * standard_error) == pytest.approx(1, abs=0.1)


def test_several_metrics_are_measured_on_the_same_draws():
    labels, scores, days = make_case()
    named = {"acc": movements.accuracy, "mcc": movements.mcc}
    together = movements.block_bootstrap(named, labels, scores, days, draws=60, seed=4)
    assert list(together) == ["acc", "mcc"]
    for name, metric in named.items():
        assert together[name] == movements.block_bootstrap(metric, labels, scores, days, draws=60, seed=4)
    assert together["acc"] != movements.block_bootstrap(movements.accuracy, labels, scores, days, draws=60, seed=5)
    low, high = together["acc"]
    assert low < movements.accuracy(labels, scores) < high


def test_scores_of_several_columns_keep_their_rows():
    labels, scores, days = make_case()
    both = np.stack([scores, -scores], 1)

    def check(drawn, columns):
        assert np.array_equal(columns[:, 0], -columns[:, 1])
        return float(columns.shape[1])

    assert movements.block_bootstrap(check, labels, both, days, draws=5) == (2.0, 2.0)


def test_no_interval_without_days_draws_or_a_defined_metric():
    labels, scores, days = make_case()
    assert movements.block_bootstrap(movements.accuracy, labels, scores, days, draws=0) is None
    assert movements.block_bootstrap(movements.accuracy, labels, scores, np.zeros(len(days))) is None
    assert movements.block_bootstrap(movements.mcc, np.ones_like(labels), scores, days, draws=9) is None
    none = np.array([])
    assert movements.block_bootstrap({"acc": movements.accuracy}, none, none, none, draws=9) == {"acc": None}
