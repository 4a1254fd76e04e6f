"""Cells: a consistent thousands separator is a number, and no table that we write runs anything in a spreadsheet."""

import csv

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multiway.data import ReadOptions
from multiway.data.looking import read_frame
from multiway.data.sources.cells import escape, unescape
from multiway.data.writing import csv_text, write_table
from multiway.errors import DataError
from multiway.tasks.forecasting.read import check_file, read_panel
from multiway.tasks.tabular.config import TableOptions


def written(path, cells):
    rows = "".join(f"2024-01-{day:02d};{cell};1\n" for day, cell in enumerate(cells, start=1))
    path.write_text(f"date;a;b\n{rows}")
    return path


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,234.5", "999", "12,345,678.25"], [1234.5, 999, 12345678.25]),
        (["1,234,567", "-2,000", "+10.5"], [1234567, -2000, 10.5]),
        (["1,234.", "56", "7"], [1234, 56, 7]),
        (["999"] * 20 + ["1,234.5"], [999] * 20 + [1234.5]),
    ],
)
def test_a_consistent_column_is_read_and_said(cells, values, tmp_path):
    panel = read_panel(written(tmp_path / "sales.csv", cells))
    assert panel.values[:, 0].tolist() == values
    assert "commas separate thousands in columns a." in panel.notes


def test_missing_cells_stay_missing(tmp_path):
    panel = read_panel(written(tmp_path / "sales.csv", ["1,234.5", "", "NA", "2"]), ReadOptions(missing="mask"))
    assert panel.values[:, 0].tolist()[::3] == [1234.5, 2] and np.isnan(panel.values).any()


@pytest.mark.parametrize(
    "cells",
    [["1,234", "5,678", "9"], ["1,234.5", "1234.5", "1"], ["1,234.5", "12,34.5", "1"], ["1,234.5", "1,2345.6", "1"]],
    ids=["could be a decimal comma", "not always", "pairs", "fours"],
)
def test_what_is_not_certain_is_refused(cells, tmp_path):
    with pytest.raises(DataError, match=r"no finite number: line 2, column 'a', value '1,234"):
        read_panel(written(tmp_path / "sales.csv", cells))


def test_commas_next_to_a_column_with_points_separate_thousands(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text("date,a,b\n" + "".join(f'2024-01-{day:02d},"1,20{day}",{day}.5\n' for day in range(1, 7)))
    panel = read_panel(path)
    assert panel.values[0].tolist() == [1201, 1.5] and "commas separate thousands in columns a." in panel.notes


@pytest.mark.parametrize(("decimal", "first"), [(".", 1234.0), (",", 1.234)])
def test_an_option_says_what_a_comma_is(decimal, first, tmp_path):
    path = written(tmp_path / "sales.csv", ["1,234", "5,678", "9,101"])
    assert read_panel(path, ReadOptions(decimal=decimal)).values[0, 0] == first


def test_names_are_no_numbers(tmp_path):
    path = tmp_path / "long.csv"
    rows = "".join(f'"1,234.5";2024-01-{day:02d};{day}\n"2";2024-01-{day:02d};{day}\n' for day in range(1, 13))
    path.write_text(f"unique_id;ds;y\n{rows}")
    assert read_panel(path).names == ("1,234.5", "2")
    assert check_file(path).is_usable


FORMULAS = ("=1+1", "+SUM(A1)", "-2+3", "@import", "\tx", "\rx", "'=1", "''@x", '=HYPERLINK("http://x";"y")')
HARMLESS = ("north", "1-1", "a=b", "-1", "+2.5", "-3e5", "'quoted'", "", "'")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_marked_and_comes_back(text):
    assert escape(text) == f"'{text}"
    assert unescape(escape(text)) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_and_numbers_stay(text):
    assert escape(text) == unescape(text) == text


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="'=+-@\t\r\nab1 .", max_size=6))
def test_every_text_comes_back(text):
    assert unescape(escape(text)) == text
    assert escape(text)[:1] not in ("=", "@", "\t", "\r")


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".xlsx"])
def test_names_and_cells_come_back_from_a_file(ending, tmp_path):
    frame = pd.DataFrame({
        "=cmd|' /C calc'!A0": ["@a", "=b", "c"] * 4, "-x": np.arange(12) - 6.5, "kind": ["-1", "1", "+x"] * 4,
    })  # fmt: skip
    path = tmp_path / f"table{ending}"
    write_table(frame, path)
    repeated = read_frame(path, TableOptions())
    assert list(repeated.columns) == list(frame.columns)
    assert repeated["=cmd|' /C calc'!A0"].tolist() == ["@a", "=b", "c"] * 4
    assert repeated["kind"].tolist() == ["-1", "1", "+x"] * 4
    assert repeated["-x"].tolist() == frame["-x"].tolist()


def test_series_keep_their_names_wide_and_long(tmp_path):
    times = pd.date_range("2024-01-01", periods=20)
    wide = pd.DataFrame({"ds": times, "=a": np.arange(20.0), "\tb": np.arange(20.0) - 30})
    write_table(wide, tmp_path / "wide.csv")
    write_table(wide.melt("ds", var_name="unique_id", value_name="y"), tmp_path / "long.csv")
    assert read_panel(tmp_path / "wide.csv").names == ("=a", "\tb")
    assert read_panel(tmp_path / "long.csv", ReadOptions()).names == ("=a", "\tb")


def test_no_cell_of_text_starts_a_formula_and_numbers_stay_numbers():
    frame = pd.DataFrame({"=name": [*FORMULAS, *HARMLESS], "value": -1.5})
    header, *rows = csv.reader(csv_text(frame).splitlines(keepends=True))
    assert header == ["'=name", "value"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in FORMULAS), *HARMLESS]
    assert {row[1] for row in rows} == {"-1.5"}


def test_raw_leaves_text_as_it_is():
    frame = pd.DataFrame({"=name": ["=1+1"]})
    assert csv_text(frame, raw=True) == "=name\n=1+1\n"
    assert csv_text(frame) == "'=name\n'=1+1\n"


def test_times_and_truth_values_are_not_touched():
    frame = pd.DataFrame({"ds": pd.date_range("2024-01-01", periods=2), "ok": [True, False], "n": [1, -2]})
    assert csv_text(frame) == frame.to_csv(index=False)
