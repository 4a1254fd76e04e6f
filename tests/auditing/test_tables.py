"""What an audit of a table finds: copies of the target, repeated rows, and scaling that saw other rows."""

import numpy as np
import pandas as pd
import pytest

from multiway.auditing.tables import audit_table, check_formula, tolerance
from multiway.data.options import SplitShares
from multiway.tasks.tabular.config import TableOptions
from multiway.tasks.tabular.encode import TableState
from tasks.tabular.rows import patients, prepare_table


def prepared(frame, target):
    return prepare_table(frame, TableOptions(target=target), SplitShares())


def words(report):
    return "\n".join(report.lines())


def test_copies_of_the_target_and_repeated_rows_leak():
    frame = patients(200).assign(code=lambda frame: np.where(frame["ill"] == "yes", 7, 3))
    leaky = pd.concat([frame, frame[:60]], ignore_index=True)
    report = audit_table(prepared(leaky, "ill"))
    assert report.leaks and "1 columns are the target under another name: code" in words(report)
    assert "rows are in two splits" in words(report)
    assert "no column is the target" in words(audit_table(prepared(leaky, "weight")))


def test_scaling_is_that_of_the_training_rows():
    table = prepared(patients(200), "ill")
    right = "comes from the training rows alone"
    assert right in words(audit_table(table))
    assert right not in words(audit_table(table, TableState.fit(table.raw).scaler))


@pytest.mark.parametrize("has_levels", [True, False])
def test_a_target_that_columns_and_levels_sum_to_is_a_formula(has_levels):
    draw = np.random.default_rng(3)
    numbers = {"weight": draw.normal(size=200), "length": draw.normal(size=200)}
    city = draw.choice(["a", "b", "c"], 200).astype(object)
    levels = {"city": city} if has_levels else {}
    steps = np.select([city == "a", city == "b"], [0.0, 7.0], 30.0) if has_levels else 0.0
    target = 3 * numbers["weight"] - 2 * numbers["length"] + steps
    learnt, judged = np.arange(150), np.arange(150, 200)
    assert check_formula(numbers, levels, target, learnt, judged).kind == "formula"
    noisy = check_formula(numbers, levels, target + draw.normal(size=200), learnt, judged)
    assert noisy == "no formula of the columns gives the target"


def test_cells_that_are_there_for_some_rows_alone_and_tell_their_class_leak():
    chance = np.random.default_rng(3)
    ill = chance.random(400) < 0.4
    note = np.where(chance.random(400) < 0.4, np.where(ill, "referred", "home"), "")
    frame = pd.DataFrame({"age": chance.normal(size=400), "note": note, "ill": np.where(ill, "yes", "no")})
    said = words(audit_table(prepared(frame, "ill")))
    assert "column note, where it is not empty, alone tells the target" in said
    frame["note"] = np.where(note == "", "", chance.choice(["referred", "home"], 400))
    assert "where it is not empty" not in words(audit_table(prepared(frame, "ill")))


def test_rows_measured_twice_leak_in_many_dimensions():
    chance = np.random.default_rng(4)
    rows = chance.normal(size=(300, 12)) @ chance.normal(size=(12, 12))
    twice = np.vstack([rows, rows[:40] + 0.3 * chance.normal(size=(40, 12))])
    for values, leaks in ((rows, False), (twice, True)):
        frame = pd.DataFrame(values, columns=[f"c{place}" for place in range(12)]).assign(
            y=chance.choice(["a", "b"], len(values))
        )
        assert ("training rows but for a little noise" in words(audit_table(prepared(frame, "y")))) == leaks


def test_two_repeated_rows_of_a_split_are_no_leak():
    chance = np.random.default_rng(5)
    table = prepared(pd.DataFrame(chance.normal(size=(60, 3)), columns=list("abc")).assign(y=["p", "q"] * 30), "y")
    smallest = min(len(table.rows(split)) for split in ("validation", "test"))
    assert tolerance(table) == 2 / smallest
