"""Signs around numbers: one of a column is left out, and nothing else is taken for a number."""

import pandas as pd
import pytest

from multiway.data.findings import Findings
from multiway.data.options import FileOptions
from multiway.data.sources.tables import load_table

NUMBERS = {
    "dollars": (["$1,234,567.50", "$0.25", "-$3", "$-4.5"], [1234567.5, 0.25, -3.0, -4.5]),
    "euros": (["1.234,50 €", "0,25 €", "-3,5 €"], [1234.5, 0.25, -3.5]),
    "shares": (["41.2%", "7 %", "-.5%"], [41.2, 7.0, -0.5]),
    "whole dollars": (["$41,215", "$2,345,678", "-$1,200"], [41215.0, 2345678.0, -1200.0]),
    "books": (["(1,234.50)", "1,234.50", "($0.50)"], None),
    "losses": (["(1,234.50)", "1,234.50", "0.50"], [-1234.5, 1234.5, 0.5]),
    "losses in dollars": (["($2.50)", "$7.50"], [-2.5, 7.5]),
    "gaps": (["$1.5", "", "NA"], [1.5, None, None]),
}  # fmt: skip
"""Cells, and their numbers; None where they are words."""
WORDS = {
    "two currencies": ["$1", "€2"], "a cell without": ["$1", "2"], "words": ["$1", "two"], "two signs": ["$1%", "$2%"],
    "half a parenthesis": ["(1", "2)"], "two minuses": ["(-1)", "2"],
    "a bare sign": ["$", "$1"], "codes": ["A(1)", "B(2)"],
}  # fmt: skip


def column(cells, tmp_path):
    """As a frame and as a file, and what is noted."""
    findings = Findings("table")
    frame = pd.DataFrame({"money": cells, "row": range(len(cells))})
    frame.to_csv(tmp_path / "table.csv", index=False, sep=";")
    tables = [load_table(source, FileOptions(), findings) for source in (frame, tmp_path / "table.csv")]
    return [table.frame["money"] for table in tables], " ".join(findings.remarks())


@pytest.mark.parametrize("name", [name for name, (_, numbers) in NUMBERS.items() if numbers])
def test_numbers_are_read_without_the_sign_that_all_cells_have(name, tmp_path):
    cells, numbers = NUMBERS[name]
    columns, said = column(cells, tmp_path)
    for read in columns:
        assert pd.to_numeric(read).astype("Float64").tolist() == pd.Series(numbers, dtype="Float64").tolist()
    assert ("a minus" if name == "losses" else "without their") in said


@pytest.mark.parametrize("name", [*WORDS, "books"])
def test_other_cells_stay_as_they_are(name, tmp_path):
    cells = WORDS.get(name) or NUMBERS["books"][0]
    columns, said = column(cells, tmp_path)
    assert all(read.tolist() == cells for read in columns) and "column 'money'" not in said


GAPS = {
    "World Bank": ([".", "..", "1.5", "-2"], [None, None, 1.5, -2.0]), "UCI": (["?", "3", ""], [None, 3, None]),
    "stars": (["12%", "***", "7%"], [12, None, 7]), "Eurostat": ([":", "1,234.50", "…"], [None, 1234.5, None]),
    "cents": (["$.50", "$2", "?"], [0.5, 2, None]),
}  # fmt: skip
"""Cells among which are marks of missing values, and their numbers."""


@pytest.mark.parametrize("name", GAPS)
def test_marks_of_missing_values_among_numbers_are_empty(name, tmp_path):
    cells, numbers = GAPS[name]
    columns, said = column(cells, tmp_path)
    for read in columns:
        assert pd.to_numeric(read).astype("Float64").tolist() == pd.Series(numbers, dtype="Float64").tolist()
    assert "in columns money are missing" in said


@pytest.mark.parametrize("cells", [["?", "yes", "no"], ["-", "1", "2"], ["..", "?"], ["1", "?!", "2"], ["*", "1 of 2"]])
def test_marks_among_words_are_words_and_a_hyphen_is_no_mark(cells, tmp_path):
    columns, said = column(cells, tmp_path)
    assert all(read.tolist() == cells for read in columns) and "are missing" not in said
