"""Curves of a report on classes, and the part on errors of numbers."""

import numpy as np
import pandas as pd
import pytest

from multiway.metrics import classes
from multiway.tasks.target_page import class_curves, number_errors

LABELS = np.array([0, 1, 2, 1, 0, 2])
SHARES = np.random.default_rng(0).dirichlet([1, 1, 1], 6)


def test_more_than_two_classes_have_a_curve_each_of_our_model():
    found = class_curves(["a", "b", "c"], LABELS, {"network": SHARES, "majority": SHARES[:, ::-1]})
    assert [each.name for each in found] == ["a", "b", "c"]
    assert np.mean([each.auc for each in found]) == pytest.approx(classes.auc(LABELS, SHARES))


def test_two_classes_have_a_curve_per_model():
    labels, shares = LABELS % 2, np.stack([SHARES[:, 0], 1 - SHARES[:, 0]], 1)
    found = class_curves(["a", "b"], labels, {"network": shares, "logistic": shares[:, ::-1]})
    assert [each.name for each in found] == ["network", "logistic"]
    assert found[0].auc == pytest.approx(classes.auc(labels, shares)) == pytest.approx(1 - found[1].auc)
    assert class_curves(["a", "b"], np.zeros(6, int), {"network": shares}) == []


def test_errors_of_numbers_are_shown_by_tenths_of_the_prediction():
    test = pd.DataFrame({"predicted": np.arange(20.0)[::-1], "label": np.arange(20.0)[::-1] + 1})
    (table,) = number_errors(test, "rows").content
    assert len(table.rows) == 10
    assert [float(cell) for cell in table.rows[0][:2]] == [0.5, 1.5]
