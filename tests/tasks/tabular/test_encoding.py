"""Inputs are made of what the training rows say, and of nothing else."""

import json

import numpy as np
import pandas as pd
import pytest

from multiway.tasks.tabular.config import TableOptions
from multiway.tasks.tabular.encode import TableState
from tasks.tabular.rows import patients, read_table
from tolerances import ROUNDING32

ILL = TableOptions(target="ill")


def test_numbers_are_scaled_and_levels_get_an_input_each():
    table = read_table(patients(), ILL)
    encoding = TableState.fit(table)
    inputs = encoding.inputs(table.inputs)
    assert encoding.names == (
        "age", "weight", "city = Bonn", "city = Kiel", "city = Ulm", "smokes = False", "smokes = True",
    )  # fmt: skip
    age = patients()["age"]
    assert inputs[:, 0] == pytest.approx((age - age.mean()) / age.std(ddof=0), rel=ROUNDING32, abs=ROUNDING32)
    assert (inputs[:, 4] == (patients()["city"] == "Ulm")).all()
    assert (inputs[:, 2:5].sum(1) == 1).all()


def test_missing_numbers_take_the_median_and_say_so():
    frame = patients()
    frame.loc[:9, "weight"] = np.nan
    table = read_table(frame, ILL)
    encoding = TableState.fit(table)
    inputs = encoding.inputs(table.inputs)
    assert encoding.names[2] == "weight is missing" and encoding.medians[1] == frame["weight"].median()
    assert inputs[:, 2].tolist() == [1.0] * 10 + [0.0] * 50
    assert len(set(inputs[:10, 1].tolist())) == 1


def test_a_missing_category_is_a_level_and_an_unknown_one_is_none():
    frame = patients()
    frame.loc[:4, "city"] = None
    encoding = TableState.fit(read_table(frame, ILL))
    assert "city = (missing)" in encoding.names
    later = read_table(frame[:10].assign(city="Rom"), state=encoding)
    start = encoding.names.index("city = (missing)")
    assert (encoding.inputs(later.inputs)[:, start : start + 4] == 0).all()
    assert encoding.unknown(later.inputs) == {"city": 10} and encoding.unknown(read_table(frame, ILL).inputs) == {}


def test_many_levels_have_the_mean_of_the_target_in_each():
    city = ["a"] * 20 + ["b"] * 20 + ["c"] * 15 + ["d"] * 5
    encoding = TableState.fit(read_table(patients().assign(city=city), ILL), max_levels=3)
    assert encoding.levels[0] == () and encoding.means[0].levels == ("a", "b", "c", "d")
    assert encoding.names == ("age", "weight", "smokes = False", "smokes = True", "city: mean of yes")


def test_other_rows_change_nothing():
    frame = patients()
    train = np.arange(40)
    changed = frame.copy()
    changed.loc[40:, ["age", "weight"]] = 1e6
    encodings = [TableState.fit(read_table(each, ILL).take(train)) for each in (frame, changed)]
    assert encodings[0].plain() == encodings[1].plain()


def test_plain_values_come_back_from_json():
    table = read_table(patients(), TableOptions(target="weight"))
    encoding = TableState.fit(table)
    repeated = TableState.parse(json.loads(json.dumps(encoding.plain())))
    assert repeated.plain() == encoding.plain()
    assert (repeated.inputs(table.inputs) == encoding.inputs(table.inputs)).all()
    assert (repeated.encode(table).target == encoding.encode(table).target).all()


def test_targets_are_scaled_numbers_or_positions():
    numbers = read_table(patients(), TableOptions(target="weight"))
    scaled = TableState.fit(numbers).encode(numbers).target
    assert scaled.mean() == pytest.approx(0, abs=1e-6) and scaled.std() == pytest.approx(1, rel=1e-5)
    classes = read_table(patients(), ILL)
    assert TableState.fit(classes).encode(classes).target.tolist() == (patients()["ill"] == "yes").astype(int).tolist()


def test_what_training_held_constant_or_empty_and_huge_numbers_stay_finite():
    frame = pd.DataFrame(
        {"a": [1.0] * 5 + [9.0], "b": [np.nan] * 5 + [2.0], "c": [1.0, 2, 3, 4, 5, 1e300], "y": range(6)}
    )
    table = read_table(frame, TableOptions(target="y", kind="number", columns=("a", "b", "c")))
    inputs = TableState.fit(table.take(np.arange(5))).inputs(table.inputs)
    assert np.isfinite(inputs).all()
