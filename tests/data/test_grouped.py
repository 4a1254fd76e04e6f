"""Thousands separators: a column's consistent form is a number, what could be a decimal comma is asked about."""

import pytest

from multiway.data import ReadOptions
from multiway.errors import DataError
from multiway.tasks.forecasting.source import check_file, read_panel


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
    assert panel.values[:, 0].tolist()[::3] == [1234.5, 2] and panel.has_missing


@pytest.mark.parametrize(
    "cells",
    [["1,234", "5,678", "9"], ["1,234.5", "1234.5", "1"], ["1,234.5", "12,34.5", "1"], ["1,234.5", "1,2345.6", "1"]],
    ids=["could be a decimal comma", "not always", "pairs", "fours"],
)
def test_what_is_not_certain_is_refused(cells, tmp_path):
    with pytest.raises(DataError, match=r"no finite number: line 2, column 'a', value '1,234"):
        read_panel(written(tmp_path / "sales.csv", cells))


def test_names_are_no_numbers(tmp_path):
    path = tmp_path / "long.csv"
    rows = "".join(f'"1,234.5";2024-01-{day:02d};{day}\n"2";2024-01-{day:02d};{day}\n' for day in range(1, 13))
    path.write_text(f"unique_id;ds;y\n{rows}")
    assert read_panel(path).names == ("1,234.5", "2")
    assert check_file(path).is_usable
