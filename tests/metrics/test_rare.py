"""A rare class: its average precision, and the threshold at which its F1 is best."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score

from multiway.metrics.classes import MIDDLE, average_precision, f1, f1_threshold, predicted_classes

LABELS = np.array([0, 0, 1, 0, 1, 0, 0])
SCORES = np.array([0.1, 0.2, 0.3, 0.35, 0.4, 0.05, 0.4])
CASES = list(itertools.product(range(4), (0, 1)))


def shares(scores):
    return np.stack([1 - scores, scores], axis=1)


def test_average_precision_by_hand():
    """From the top: 0.4 holds one of two, 0.35 none, 0.3 the second of four."""
    assert average_precision(LABELS, shares(SCORES)) == pytest.approx(1 / 2 * 1 / 2 + 1 / 2 * 2 / 4)
    assert average_precision(LABELS[:2], shares(SCORES[:2])) is None


@pytest.mark.parametrize(("seed", "position"), CASES)
def test_average_precision_is_that_of_scikit_learn(seed, position):
    chance = np.random.default_rng(seed)
    labels, scores = chance.integers(0, 2, 53), chance.random(53).round(1 if seed % 2 else 3)
    found = average_precision(labels, shares(scores), position)
    assert found == pytest.approx(average_precision_score(labels == position, shares(scores)[:, position]))


def test_the_threshold_of_the_best_f1_by_hand():
    """Above 0.25 stand four, two of them right: F1 is 4 / 6; no other threshold has more."""
    assert f1_threshold(LABELS, shares(SCORES)) == pytest.approx(0.25)
    assert f1(LABELS, shares(SCORES), 0.25) == pytest.approx(4 / 6)
    assert f1_threshold(LABELS, shares(np.full(7, 0.2))) == MIDDLE
    assert f1_threshold(np.ones(7, int), shares(SCORES)) is None


@pytest.mark.parametrize(("seed", "position"), CASES)
def test_no_threshold_has_a_better_f1_of_either_class(seed, position):
    chance = np.random.default_rng(seed)
    labels, scores = (chance.random(61) < 0.15).astype(int), chance.random(61).round(1 + seed)
    best = f1_threshold(labels, shares(scores), position)
    found = f1(labels, shares(scores), best, position)
    assert found == pytest.approx(f1_score(labels, predicted_classes(shares(scores), best), pos_label=position))
    others = [f1(labels, shares(scores), each, position) for each in np.linspace(scores.min(), scores.max(), 301)[:-1]]
    assert found >= max(others) - 1e-12
