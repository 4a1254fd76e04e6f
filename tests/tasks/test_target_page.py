"""Curves of a report on classes, and the part on errors of numbers."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from multiway.metrics import classes
from multiway.tasks.target_page import class_curves, number_errors, target_headline

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


@pytest.mark.parametrize(
    ("shift", "words"), [(0.1234, "off by 0.123 on average; 92\u202f% better"), (2, "33\u202f% worse")]
)
def test_numbers_are_told_by_how_far_they_are_off_in_three_digits(shift, words):
    """The labels lie 1.5 from the mean, which is a candidate of its own."""
    of_answer = {"model": "ridge", "split": "test", "label": [0.0, 3.0], "predicted": [shift, 3 + shift]}
    rows = [pd.DataFrame(of_answer), pd.DataFrame({**of_answer, "model": "mean", "predicted": 1.5})]
    run = SimpleNamespace(
        tables={"predictions": pd.concat(rows)}, answer=SimpleNamespace(name="ridge"),
        state=SimpleNamespace(classes=None, target_name="weight"),
    )  # fmt: skip
    said = target_headline(None, run)
    assert said.startswith("Weight is off by ") and words in said and said.endswith(" than the mean alone.")


def test_what_is_always_named_is_the_most_frequent_class_of_the_training():
    """Most test rows are of the other class: that nobody could have known, and the table of scores does not say."""
    labels, shares = np.repeat(["a", "b"], [2, 6]), {"network": (0.2, 0.8), "majority": (0.7, 0.3)}
    rows = [
        pd.DataFrame({"model": name, "split": "test", "label": labels, "predicted": "b", "p_a": a, "p_b": b})
        for name, (a, b) in shares.items()
    ]
    assert headline_of(rows).endswith(
        "75.0\u202f% of 8 test rows are named correctly; "
        "always naming a, the most frequent class in training, is right in 25.0\u202f%."
    )
    assert headline_of(rows[:1]) == "75.0\u202f% of 8 test rows are named correctly."


def headline_of(rows):
    run = SimpleNamespace(
        tables={"predictions": pd.concat(rows)}, answer=SimpleNamespace(name="network"),
        state=SimpleNamespace(classes=("a", "b")),
    )  # fmt: skip
    return target_headline(SimpleNamespace(rows="rows"), run)
