"""Temperatures against a grid, sets of classes and net benefit against loops, and what they promise of new cases."""

import math

import numpy as np
import pytest

from multiway.metrics import confidence
from tolerances import ROUNDING64


def draw(count, classes, seed, sharpness=1.0):
    """Labels that come as often as is said, and what is said at another sharpness."""
    chance = np.random.default_rng(seed)
    honest = chance.dirichlet(np.full(classes, 0.7), count)
    labels = np.array([chance.choice(classes, p=row) for row in honest])
    said = honest**sharpness
    return labels, honest, said / said.sum(1, keepdims=True)


@pytest.mark.parametrize("sharpness", [0.4, 3.0])
def test_the_temperature_is_the_best_of_a_grid_and_undoes_what_was_overdone(sharpness):
    labels, honest, said = draw(2003, 3, seed=1, sharpness=sharpness)
    found = confidence.find_temperature(labels, said)
    grid = np.exp(np.linspace(-2, 2, 4001))
    losses = [confidence.log_losses(labels, confidence.temper(said, each)).mean() for each in grid]
    assert found == pytest.approx(grid[np.argmin(losses)], rel=2e-3)
    assert found == pytest.approx(sharpness, rel=0.15)
    np.testing.assert_allclose(confidence.temper(said, sharpness), honest, rtol=1e-6, atol=1e-9)


def test_probabilities_that_hold_and_few_cases_stay_as_they_are():
    labels, honest, _ = draw(2003, 3, seed=2)
    assert confidence.find_temperature(labels, honest) == 1
    labels, _, said = draw(203, 2, seed=3, sharpness=3.0)
    assert confidence.find_temperature(labels, said) > 2
    assert confidence.find_temperature(labels[:1], said[:1]) == 1
    sure = np.tile([1e-6, 1 - 1e-6], (30, 1))
    assert confidence.find_temperature(np.ones(30, int), sure) > 2
    assert confidence.find_temperature(np.ones(29, int), sure[:29]) == 1


def test_scans_of_few_patients_decide_nothing_though_they_are_many():
    few, _, said = draw(12, 2, seed=3, sharpness=1.6)
    labels, said, patients = (np.repeat(part, 40, 0) for part in (few, said, np.arange(12).astype(str)))
    assert confidence.find_temperature(labels, said) != 1
    assert confidence.find_temperature(labels, said, patients) == 1


def test_cases_that_are_all_right_ask_for_no_endless_certainty():
    said = np.tile([0.2, 0.8], (50, 1))
    found = confidence.find_temperature(np.ones(50, int), said)
    assert confidence.temper(said, found)[0, 1] == pytest.approx(1 - 1 / 52, abs=1e-4)


def test_temperatures_leave_the_order_of_classes():
    _, _, said = draw(101, 5, seed=4)
    assert np.array_equal(confidence.temper(said, 2.5).argsort(1), said.argsort(1))
    assert np.isfinite(confidence.temper(np.array([[1.0, 0.0]]), 3.0)).all()


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_limits_are_those_of_a_loop_and_missing_where_a_class_has_too_few(level):
    labels, _, said = draw(97, 4, seed=5)
    least = confidence.least_cases(level)
    assert least == {0.8: 4, 0.9: 9}[level]
    labels = np.concatenate([labels[labels != 3], np.full(least - 1, 3)])
    said = said[: len(labels)]
    limits = confidence.set_limits(labels, said, level)
    for label in range(3):
        lacks = sorted(1 - said[row, label] for row in range(len(labels)) if labels[row] == label)
        assert limits[label] == lacks[math.ceil((len(lacks) + 1) * level - ROUNDING64) - 1]
    assert math.isinf(limits[3]) and confidence.class_sets(said, limits)[:, 3].all()


def test_sets_hold_the_class_of_new_cases_as_often_as_they_say():
    held = []
    for seed in range(40):
        labels, _, said = draw(400, 3, seed=seed, sharpness=2.0)
        inside = confidence.class_sets(said[200:], confidence.set_limits(labels[:200], said[:200], 0.9))
        held.append([inside[labels[200:] == label, label].mean() for label in range(3)])
    assert (np.mean(held, 0) >= 0.89).all() and (np.mean(held, 0) <= 0.94).all()


def test_answers_above_a_limit_and_sets_of_a_class_are_counted():
    shares = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.55, 0.45]])
    labels = np.array([0, 0, 1, 1])
    assert [confidence.accuracy_above(labels, shares, limit) for limit in (0.0, 0.6, 0.85, 0.95)] == [
        0.5,
        2 / 3,
        1,
        None,
    ]
    limits = np.array([0.5, 0.3])
    assert confidence.class_sets(shares, limits).tolist() == [[1, 0], [0, 0], [0, 1], [1, 0]]
    assert [confidence.share_held(labels, shares, limits, label) for label in (0, 1)] == [0.5, 0.5]
    assert confidence.share_held(labels[:2], shares[:2], limits, 1) is None


def test_net_benefit_counts_cases_found_and_false_alarms_at_the_odds():
    labels, scores = np.array([1, 0, 1, 0, 0]), np.array([0.9, 0.8, 0.2, 0.1, 0.4])
    assert confidence.net_benefit(labels, scores, 0.2) == pytest.approx(2 / 5 - 2 / 5 * 0.25)
    assert confidence.net_benefit(labels, scores, 0.5) == pytest.approx(1 / 5 - 1 / 5)
    assert confidence.net_benefit(labels, scores, 0.95) == 0
