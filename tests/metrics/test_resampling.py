"""Intervals against two slow bootstraps written out, SciPy's, and the textbook's."""

import numpy as np
import pytest
from scipy import stats

from multiway.errors import ShapeError
from multiway.metrics import classes
from multiway.metrics.resampling import intervals, model_rows, resamples, score_rows
from tolerances import ROUNDING64


def mean(truth, predicted):
    return float(predicted.mean())


def interval(metric, truth, predicted, **options):
    return intervals({"": metric}, truth, predicted, **options)[""]


def of_cases(metric, truth, predicted, draws, seed, groups=None):
    """Cases, or whole groups, drawn one draw after another."""
    names = np.arange(len(truth)) if groups is None else groups
    units = [np.flatnonzero(names == name) for name in np.unique(names)]
    generator, values = np.random.default_rng(seed), []
    for _ in range(draws):
        rows = np.concatenate([units[unit] for unit in generator.integers(len(units), size=len(units))])
        values.append(metric(truth[rows], predicted[rows]))
    return tuple(np.percentile(values, [2.5, 97.5]))


def of_blocks(metric, truth, predicted, draws, seed, days, block):
    """Circular blocks of days, the starts of all draws at once."""
    units = [np.flatnonzero(days == day) for day in np.unique(days)]
    count, length = len(units), min(block, len(units))
    starts = np.random.default_rng(seed).integers(count, size=(draws, -(-count // length)))
    values = []
    for row in starts:
        chosen = [(start + step) % count for start in row for step in range(length)][:count]
        rows = np.concatenate([units[unit] for unit in chosen])
        values.append(metric(truth[rows], predicted[rows]))
    return tuple(np.percentile(values, [2.5, 97.5]))


def make_case(count=211, seed=2):
    """Labels, probabilities with ties, and units in no order, some with more cases than others."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(2, size=count)
    scores = np.round(0.3 * labels + 0.7 * chance.random(count), 2)
    return labels, np.stack([1 - scores, scores], 1), chance.integers(23, size=count)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("count", [210, 211])
def test_cases_and_groups_are_drawn_as_one_by_one(grouped, count):
    labels, probabilities, units = make_case(count)
    groups = np.char.add("patient ", units.astype(str)) if grouped else None
    expected = of_cases(classes.auc, labels, probabilities, 60, 4, groups)
    assert interval(classes.auc, labels, probabilities, units=groups, draws=60, seed=4) == expected


@pytest.mark.parametrize("block", [1, 2, 5, 100])
def test_blocks_are_drawn_as_all_at_once(block):
    labels, probabilities, days = make_case()
    days = np.datetime64("2015-10-01") + days
    expected = of_blocks(classes.accuracy, labels, probabilities, 60, 4, days, block)
    found = interval(classes.accuracy, labels, probabilities, units=days, block=block, draws=60, seed=4)
    assert found == expected


def test_the_interval_of_a_mean_is_scipys():
    values = np.random.default_rng(0).exponential(size=300)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=4000, method="percentile", rng=1).confidence_interval
    low, high = interval(mean, values, values, draws=4000)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.05 * (theirs.high - theirs.low))


@pytest.mark.parametrize("level, deviations", [(95, 1.96), (80, 1.2816)])
def test_the_interval_of_a_mean_is_the_textbooks(level, deviations):
    """Percentiles of bootstrap means: mean ± deviations standard errors, here within a tenth of the half-width."""
    right = (np.random.default_rng(0).random(400) < 0.7).astype(np.float64)
    half = deviations * right.std() / 20
    expected = pytest.approx((right.mean() - half, right.mean() + half), abs=half / 10)
    assert interval(mean, right, right, draws=4000, level=level) == expected


def test_cases_of_a_patient_stay_together():
    """Every patient has four equal cases: the interval is that of 90 patients, twice that of 360 cases."""
    values = np.repeat(np.random.default_rng(5).standard_normal(90), 4)
    patients = np.repeat([f"p{number}" for number in range(90)], 4)
    alone, together = (interval(mean, values, values, units=units, draws=2000) for units in (None, patients))
    assert (together[1] - together[0]) / (alone[1] - alone[0]) == pytest.approx(2, rel=0.1)
    for rows in resamples(patients, 20, 0):
        assert (np.unique(rows // 4, return_counts=True)[1] % 4 == 0).all() and len(rows) == 360


def test_blocks_are_consecutive_days_and_go_round():
    starts = set()
    for rows in resamples(np.arange(10), 200, 0, block=4):
        assert len(rows) == 10
        for start in (0, 4):
            assert (np.diff(rows[start : start + 4]) % 10 == 1).all()
        assert (rows[9] - rows[8]) % 10 == 1
        starts.add(int(rows[0]))
    assert starts == set(range(10))


def test_longer_blocks_widen_the_interval_where_neighbours_are_alike():
    labels, days = np.repeat(np.arange(60) // 10 % 2, 4), np.repeat(np.arange(60), 4)
    bounds = [interval(mean, labels, labels, units=days, block=block, draws=400) for block in (1, 10)]
    assert bounds[1][1] - bounds[1][0] > 1.5 * (bounds[0][1] - bounds[0][0])


def test_several_metrics_are_measured_on_the_same_draws():
    labels, probabilities, days = make_case()
    named = {"acc": classes.accuracy, "auc": classes.auc}
    together = intervals(named, labels, probabilities, units=days, draws=60, seed=4)
    for name, metric in named.items():
        assert together[name] == interval(metric, labels, probabilities, units=days, draws=60, seed=4)
        assert together[name] != interval(metric, labels, probabilities, units=days, draws=60, seed=5)
        assert together[name][0] < metric(labels, probabilities) < together[name][1]


def test_models_are_measured_on_the_same_draws_one_after_another():
    labels, probabilities, _ = make_case()
    named = {"acc": classes.accuracy, "auc": classes.auc}
    outputs = {"ours": probabilities, "other": probabilities[::-1]}
    rows = model_rows(named, labels, outputs, "test", draws=9)
    assert [(row.pop("model"), row.pop("split")) for row in rows] == [("ours", "test")] * 2 + [("other", "test")] * 2
    assert rows == [row for each in outputs.values() for row in score_rows(named, labels, each, draws=9)]


def test_no_interval_without_units_draws_or_a_defined_metric():
    labels, probabilities, _ = make_case()
    assert interval(classes.accuracy, labels, probabilities, draws=0) is None
    assert interval(classes.accuracy, labels[:1], probabilities[:1], draws=9) is None
    assert interval(classes.accuracy, labels, probabilities, units=np.zeros(len(labels)), draws=9) is None
    assert interval(classes.auc, np.ones_like(labels), probabilities, draws=9) is None
    assert interval(classes.accuracy, labels[:0], probabilities[:0], draws=9) is None


def test_a_metric_that_few_draws_leave_undefined_has_an_interval():
    """One positive case of three is missing from 8 of 27 draws."""
    labels, probabilities = np.array([0, 0, 1]), np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]])
    assert interval(classes.auc, labels, probabilities, draws=200) == pytest.approx((1, 1), rel=ROUNDING64)


def test_rows_that_do_not_belong_together_are_refused():
    with pytest.raises(ShapeError, match=r"one row per case\. Got 3, 3 and 2 rows"):
        interval(mean, np.ones(3), np.ones(3), units=np.ones(2))
