"""Lines above the header of a table, as reports that spreadsheets and offices write have them."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

LOOK = 40
"""Rows that are looked at."""
MOST = 20
"""Rows that may stand above a header."""
NUMBER = re.compile(r"[+-]?[\d.,]*\d[\d.,]*")
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
    if not looked or _filled(looked[0], separators) > 2:
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


def _filled(line: str, separators: Sequence[str]) -> int:
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
    return any(NUMBER.fullmatch(cell) and not DIGITS.fullmatch(cell) for cell in cells)
