"""What programs that export tables put into them: titles above the header, marks before formulas, row numbers."""

import csv
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.findings import Findings
from multiway.data.sources.cells import NUMBER, RawTable, is_text

LOOK = 40
"""Rows that are looked at."""
MOST = 20
"""Rows that may stand above a header."""
SHOWN = re.compile(r"[+-]?[\d.,]*\d[\d.,]*")
DIGITS = re.compile(r"(19|20)\d\d((0[1-9]|1[0-2])([0-2]\d|3[01])?)?")
"""Years, months and days of digits alone, such as 1960, 202401 and 20240131."""
WIDE = 4
"""Cells of a table from which on two in a row may be a title: a name and its date."""


def rows_above(rows: Sequence[Sequence[Any]]) -> int:
    """How many of the first rows are titles: they fill one cell or two, and a table of equal rows stands below them."""
    filled = [sum(cell not in (None, "") for cell in row) for row in rows]
    usual = max(Counter(filter(None, filled)).items(), key=lambda pair: (pair[1], pair[0]), default=(0, 0))[0]
    title = 2 if usual >= WIDE else 1
    top = next((row for row, count in enumerate(filled) if count > title), 0)
    header, *below = rows[top:] or [()]
    below = [row for row in below if len(row)]
    is_table = 0 < top <= MOST and usual > title and filled[top] >= usual - 1 and bool(below)
    return top if is_table and all(len(row) == len(header) for row in below) and not _holds_numbers(header) else 0


def lines_above(lines: Sequence[str], separators: Sequence[str]) -> int:
    """The same of lines of text, whose cells the first mark separates with which there are titles."""
    looked = list(lines[:LOOK])
    if not looked or _count_filled(looked[0], separators) > 2:
        return 0
    for separator in separators:
        records = list(_records(looked, separator))
        if top := rows_above([record for _, record in records]):
            return records[top][0]
    return 0


def about_titles(first: int, last: int, unit: str) -> str:
    """That titles are left out, in words."""
    those = f"{unit} {first} stands" if first == last else f"{unit}s {first} to {last} stand"
    return f"{those} above the header and {'is' if first == last else 'are'} left out"


def _count_filled(line: str, separators: Sequence[str]) -> int:
    return len(list(filter(None, map(str.strip, line.split(max(separators, key=line.count))))))


def _records(lines: list[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of each record, and how many lines stand above it."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator)
    start = 0
    for record in reader:
        yield start, [cell.strip() for cell in record]
        start = reader.line_num


def _holds_numbers(header: Sequence[Any]) -> bool:
    """Whether a row holds numbers, as rows of a table do and names do not, but for years, months and days."""
    cells = [str(cell) for cell in header if cell not in (None, "")]
    return any(SHOWN.fullmatch(cell) and not DIGITS.fullmatch(cell) for cell in cells)


MARK = "'"
FORMULA = re.compile(rf"{MARK}*[=+\-@\t\r\n]")
"""What starts a formula, behind marks that the text had already."""
MARKED = re.compile(rf"^{MARK}(?={MARK}*[=+\-@\t\r\n])")


def escape(text: str) -> str:
    """The text behind a mark that keeps a spreadsheet from running it; numbers are no formulas."""
    return MARK + text if FORMULA.match(text) and not re.fullmatch(NUMBER, text) else text


def unescape(text: str) -> str:
    """Undo `escaped`."""
    return MARKED.sub("", text)


def escape_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns with their names and their cells of text escaped; numbers and times stay what they are."""
    safe = frame.set_axis([escape(name) if isinstance(name, str) else name for name in frame.columns], axis=1)
    for position, column in enumerate(safe.dtypes):
        if is_text(column):
            cells = [escape(cell) if isinstance(cell, str) else cell for cell in safe.iloc[:, position]]
            safe.isetitem(position, cells)
    return safe


def unescape_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Undo `escaped_frame` for cells: of columns that it has written, none of whose formulas is without a mark."""
    changed = {
        name: text.str.replace(MARKED, "", regex=True).astype(frame[name].dtype)
        for name, text in ((name, col.astype("string")) for name, col in frame.items() if is_text(col.dtype))
        if text.str.startswith(MARK).any() and not _has_bare_formulas(text)
    }
    return frame.assign(**changed) if changed else frame  # type: ignore[arg-type]  # names are text here


def _has_bare_formulas(text: pd.Series) -> bool:
    present = text.dropna()
    bare = present[present.str.match(r"[=+\-@\t\r\n]")]
    return not bare.str.fullmatch(NUMBER).all()


def without_exports(table: RawTable, findings: Findings) -> RawTable:
    """The table without what spreadsheets and other programs put in: marks of formulas, row numbers."""
    return _without_row_numbers(dataclasses.replace(table, frame=unescape_frame(table.frame)), findings)


def _without_row_numbers(table: RawTable, findings: Findings) -> RawTable:
    """Drop the unnamed column of row numbers that pandas writes, and an unnamed empty last column."""
    dropped = []
    for position in {0, len(table.names) - 1}:
        name = table.names[position]
        if name == f"unnamed {position}" and len(table.names) > 2:
            column = table.frame[name]
            numbers = pd.api.types.is_numeric_dtype(column) and np.array_equal(column, np.arange(len(column)))
            if numbers or (position and (column.astype(str) == "").all()):
                what = "row numbers" if numbers else "nothing"
                findings.add("columns", "note", f"unnamed column {position + 1} holds {what} and is left out")
                dropped.append(name)
    return table.drop(dropped)
