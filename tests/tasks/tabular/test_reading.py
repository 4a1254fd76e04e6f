"""Columns get their kinds, the target its own, and later files are matched by name."""

import gzip

import numpy as np
import pandas as pd
import polars
import pytest

from multiway.errors import ConfigError, DataError
from multiway.tasks.tabular.config import TableOptions
from multiway.tasks.tabular.encode import TableState
from tasks.tabular.rows import as_csv, match_table, patients, read_table

ILL = TableOptions(target="ill")


def test_numbers_words_and_truth_values():
    table = read_table(patients(), ILL)
    assert table.inputs.of_numbers == ("age", "weight") and table.inputs.of_words == ("city", "smokes")
    assert table.target_name == "ill" and table.classes == ("no", "yes")
    assert table.inputs.numbers.shape == (60, 2) and set(table.inputs.words[:, 1]) == {"False", "True"}
    assert (np.array(table.classes)[table.labels] == patients()["ill"]).all()


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "pandas", "polars", "semicolons"])
def test_one_table_in_every_form(form, tmp_path):
    frame, path = patients(), tmp_path / f"patients.{form}"
    source: object = path
    if form == "csv":
        path.write_text(as_csv(frame))
    elif form == "csv.gz":
        path.write_bytes(gzip.compress(as_csv(frame).encode()))
    elif form == "parquet":
        frame.to_parquet(path)
    elif form == "semicolons":
        path.write_text(frame.to_csv(index=False, sep=";", decimal=","))
    else:
        source = frame if form == "pandas" else polars.from_pandas(frame)
    options = TableOptions(target="ill", decimal="," if form == "semicolons" else ".")
    table, wanted = read_table(source, options), read_table(frame, ILL)
    assert table.columns == wanted.columns
    assert (table.inputs.numbers == wanted.inputs.numbers).all() and (table.inputs.words == wanted.inputs.words).all()


def test_blanks_around_words_are_not_part_of_them():
    frame = patients().assign(city=lambda frame: frame["city"] + "  ")
    assert set(read_table(frame, ILL).inputs.words[:, 0]) == {"Ulm", "Bonn", "Kiel"}


def test_identifiers_constants_and_empty_columns_are_left_out_with_a_note():
    frame = patients().assign(row=range(60), code=[f"p{i}" for i in range(60)], unit="kg", spare=np.nan)
    table = read_table(frame, ILL)
    assert table.columns == ("age", "weight", "city", "smokes")
    notes = " ".join(table.notes)
    assert "never change and are left out: column 'unit'" in notes
    assert "hold no value and are left out: column 'spare'" in notes
    assert "say which row it is (nearly every value differs) and are left out: column 'row'; column 'code'" in notes


def test_a_column_that_the_user_names_is_kept():
    frame = patients().assign(row=range(60), unit="kg")
    table = read_table(frame, TableOptions(target="ill", columns=("row", "unit", "age")))
    assert table.inputs.of_numbers == ("row", "age") and table.inputs.of_words == ("unit",)


def test_columns_are_dropped_and_numbers_taken_as_categories():
    table = read_table(patients(), TableOptions(target="ill", drop=("weight",), categories=("age",)))
    assert table.columns == ("age", "city", "smokes") and table.inputs.of_numbers == ()


def test_a_column_of_numbers_written_as_words_is_one_of_numbers():
    table = read_table(patients().assign(year=[str(1950 + i % 9) for i in range(60)]), ILL)
    assert table.inputs.of_numbers == ("age", "weight", "year")


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["no", "yes"], ("no", "yes")),
        ([True, False], ("False", "True")),
        ([10, 9, 2], ("2", "9", "10")),
        ([1.0, 0.0], ("0", "1")),
        ([0.5, 0.25], None),
        (list(range(12)), None),
        (["10", "9"], ("9", "10")),
    ],
    ids=str,
)
def test_the_kind_of_a_target(values, classes):
    frame = patients().assign(ill=(values * 60)[:60])
    assert read_table(frame, ILL).classes == classes


def test_the_kind_of_a_target_can_be_said():
    frame = patients().assign(ill=[i % 2 for i in range(60)], score=[i % 12 for i in range(60)])
    assert read_table(frame, TableOptions(target="ill", kind="number")).classes is None
    assert len(read_table(frame, TableOptions(target="score", kind="classes")).classes) == 12


def test_missing_cells_of_every_spelling():
    frame = patients().astype({"age": "string"})
    frame.loc[:3, "age"] = ["", "NA", None, "null"]
    frame.loc[4, "city"] = None
    table = read_table(frame, ILL)
    assert table.inputs.missing() == {"age": 4, "city": 1}
    assert "5 inputs are missing: column 'age', 4 cells; column 'city', 1 cells" in table.notes[-1]


def test_later_rows_are_matched_by_name_and_need_no_target():
    state = TableState.fit(read_table(patients(), ILL))
    later = patients(8).drop(columns="ill").assign(more=1.5).iloc[:, ::-1]
    table = match_table(later, ILL, state, has_target=False).raw
    assert table.columns == state.numbers + state.categories and table.target is None
    assert table.notes == ("columns more are not used.",)
    with pytest.raises(DataError, match=r"matched by name, and age, city are lacking\. It has"):
        match_table(later.drop(columns=["age", "city"]), ILL, state, has_target=False)


def test_a_later_class_that_training_has_not_seen_is_refused():
    state = TableState.fit(read_table(patients(), ILL))
    with pytest.raises(DataError, match=r"1 targets are none of the classes no, yes: row 2, column 'ill', value 'may"):
        read_table(patients(5).assign(ill=["no", "yes", "maybe", "no", "no"]), state=state)


def test_options_that_contradict_each_other():
    with pytest.raises(ConfigError, match=r"rows are split by group or by time"):
        TableOptions.parse({"target": "a", "group": "b", "time": "c"})
    with pytest.raises(ConfigError, match=r"three different columns\. Got a, a"):
        TableOptions.parse({"target": "a", "group": "a"})
    with pytest.raises(ConfigError, match=r"drop holds input columns, and a is the target"):
        TableOptions.parse({"target": "a", "drop": ["a"]})


def test_a_frame_comes_back():
    frame = read_table(patients(), ILL).inputs.frame()
    pd.testing.assert_series_equal(frame["city"], patients()["city"], check_dtype=False)
