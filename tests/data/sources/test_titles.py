"""Titles above a header are left out where a table stands below them, and nowhere else."""

import pandas as pd
import pytest

from multiway.data.findings import Findings, Unreadable
from multiway.data.options import FileOptions
from multiway.data.sources.tables import column_names, load_table

TABLE = [("week", "units", "price"), *((f"2024-01-{day:02d}", day, day / 8) for day in range(1, 29))]
TITLES = {
    "one line": [("Sales of 2024",)], "a blank line": [("Sales of 2024",), ()],
    "lines": [("Sales",), ("in EUR",), (), ()],
    "padded": [("Sales", "", ""), ("", "", "")],
}  # fmt: skip


def written(rows, separator=","):
    return "\n".join(separator.join(map(str, row)) for row in rows) + "\n"


def read(path):
    findings = Findings("table")
    return load_table(path, FileOptions(), findings), " ".join(findings.remarks())


def make(path, rows, kind):
    if kind == "xlsx":
        pd.DataFrame([[*row, *[None] * (3 - len(row))] for row in rows]).to_excel(path, header=False, index=False)
    else:
        path.write_text(written(rows, kind))
    return path


@pytest.mark.parametrize("name", TITLES)
@pytest.mark.parametrize("kind", [",", ";", "\t", "xlsx"])
def test_titles_are_left_out_and_rows_keep_their_numbers(name, kind, tmp_path):
    path = make(tmp_path / ("table.xlsx" if kind == "xlsx" else "table.csv"), [*TITLES[name], *TABLE], kind)
    table, said = read(path)
    assert table.names == ["week", "units", "price"] == column_names(path)
    assert table.frame["units"].tolist() == list(range(1, 29))
    above = len(TITLES[name])
    assert table.rows.tolist() == list(range(above + 2, above + 30)) and "above the header" in said


def test_two_cells_are_a_title_of_a_wide_table(tmp_path):
    years = list(map(str, range(1990, 2020)))
    rows = [("Source", "a bank"), (), ("Country", "Code", *years), *((name, "X", *range(30)) for name in "ABC")]
    path = make(tmp_path / "table.csv", rows, ",")
    assert read(path)[0].names == ["Country", "Code", *years]


OTHERS = {
    "rows of two lengths": [("text",), *TABLE[:9], ("a", "b")], "numbers": [("Sales",), *[(1, 2, 3)] * 9],
    "a table of one column": [("text",), *[("a",)] * 9], "a short header": [("week", "units"), *TABLE[1:]],
    "a shorter one": [("week", "units"), *[("2024-01-01", 5, 6, 7)] * 9],
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_first_lines_are_headers(name, tmp_path):
    path = make(tmp_path / "table.csv", OTHERS[name], ",")
    findings = Findings("table")
    try:
        load_table(path, FileOptions(), findings)
    except Unreadable:
        pass
    assert findings.errors() and not any("above the header" in str(found) for found in findings.found)
    assert column_names(path) == list(OTHERS[name][0])
