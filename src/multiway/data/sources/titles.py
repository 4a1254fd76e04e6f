"""What stands above the rows of a table: titles, and its header, where there is one."""

import csv
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from multiway.data.sources.cells import EMPTY_CELLS, ID_NAMES, NUMBER, TIME_NAMES
from multiway.data.sources.forms import looks_like_time

LOOK = 40
"""Rows that are looked at."""
COLUMNS = 1000
"""Columns that are looked at."""
MOST = 20
"""Rows that may stand above a header."""
FEWEST, MOST_UNITS, MOST_FACTS = 6, 2, 10
"""Lines that show a table below those of a logger, and rows of units, or of facts, below a header."""
MOSTLY_EMPTY = 0.9
"""Share of empty cells above which a column tells nothing of the row above it."""
SHOWN = re.compile(r"[+-]?[\d.,]*\d[\d.,]*")
DIGITS = re.compile(r"(19|20)\d\d((0[1-9]|1[0-2])([0-2]\d|3[01])?)?")
"""Years, months and days of digits alone, such as 1960, 202401 and 20240131."""
WIDE = 4
"""Cells of a table from which on two in a row may be a title: a name and its date."""


def rows_above(rows: Sequence[Sequence[Any]]) -> int:
    """How many of the first rows are titles: they fill one cell or two, and a table of equal rows stands below them.

    A header holds no numbers, as rows of a table do, but for years, months and days, and those that count columns.
    """
    filled = [sum(cell not in (None, "") for cell in row) for row in rows]
    usual = max(Counter(filter(None, filled)).items(), key=lambda pair: (pair[1], pair[0]), default=(0, 0))[0]
    title = max(usual // 4, 2) if usual >= WIDE else 1
    top = next((row for row, count in enumerate(filled) if count > title), 0)
    if 0 < top <= MOST and filled[top] < usual - 1:  # a title that fills some cells of a table, below others
        top = next((row for row, count in enumerate(filled) if count >= usual - 1), 0)
    header, *below = rows[top:] or [()]
    below = [row for row in below if len(row)]
    if not (0 < top <= MOST and usual > title and filled[top] >= usual - 1 and below):
        return 0
    names = [str(cell) for cell in header if cell not in (None, "")]
    has_numbers = any(SHOWN.fullmatch(name) and not DIGITS.fullmatch(name) for name in names)
    is_counted = names[1:] == [*map(str, range(1, len(names)))]
    return 0 if (has_numbers and not is_counted) or any(len(row) != len(header) for row in below) else top


def lines_above(lines: Sequence[str], separators: Sequence[str]) -> int:
    """The same of lines of text, whose cells the first mark separates with which there are titles."""
    looked = list(lines[:LOOK])
    if is_of_logger(looked, separators):
        return 1
    if top := block_above(looked, separators):
        return top
    if not looked or sum(bool(cell.strip()) for cell in looked[0].split(max(separators, key=looked[0].count))) > 2:
        return 0
    for separator in separators:
        reader = csv.reader((f"{line}\n" for line in looked), delimiter=separator)
        starts, records = [0], []
        for record in reader:
            records.append([cell.strip() for cell in record])
            starts.append(reader.line_num)
        if top := rows_above(records):
            return starts[top]
        if len(records[0]) > 1 and len({*map(len, records)}) == 1:  # all lines are alike to this one
            return 0
    return 0


def is_of_logger(lines: Sequence[str], separators: Sequence[str]) -> bool:
    """Whether the first line is of a logger, not of its table: all others have as many cells, and it has not.

    Names stand in the next line, and no numbers as in the last one.
    """
    separator = max(separators, key=lambda mark: lines[0].count(mark) if lines else 0)
    if len(lines) < FEWEST or separator not in lines[1]:
        return False
    rows = list(csv.reader([f"{line}\n" for line in lines], delimiter=separator))
    if len(rows) < len(lines):  # a quotation mark that is not closed, which is said elsewhere
        return False
    first, names, *below = rows
    are_even = len(first) != len(names) > 1 and all(len(row) == len(names) for row in below[:-1])
    has_numbers = any(map(is_number, below[-2]))
    return are_even and has_numbers and all(names) and not any(map(is_number, names))


def block_above(lines: Sequence[str], separators: Sequence[str]) -> int:
    """How many lines hold another small table, as of a place, which a blank line parts from the table of the file."""
    top = next((at + 1 for at, line in enumerate(lines[:MOST]) if not line.strip()), 0)
    above, below = lines[: top - 1], lines[top:]
    if not above or len(below) < FEWEST:
        return 0
    counts = [{line.count(mark) for line in below} for mark in separators]
    mark = next((mark for mark, count in zip(separators, counts, strict=True) if len(count) == 1 and min(count)), None)
    if mark is None or any(line.count(mark) == below[0].count(mark) for line in above):
        return 0
    names, row = below[0].split(mark), below[-1].split(mark)
    return top if not any(map(is_number, names)) and any(map(is_number, row)) else 0


def facts_below(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first rows say something of the columns: their first cell is no time, and that of others is."""
    is_time = [looks_like_time(row[:1]) or DIGITS.fullmatch(row[0]) is not None for row in rows]
    count = is_time.index(True) if True in is_time else 0
    return count if count <= MOST_FACTS and len(rows) >= count + FEWEST and all(is_time[count:]) else 0


def join_names(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """Names of which some are equal, each with what stands below it in the first rows, and how many rows these are.

    They hold no numbers and times, and are as few as make all names different; none where no rows do.
    """
    for count in range(1, MOST_UNITS + 1) if len(set(names)) < len(names) else ():
        below = rows[:count]
        if (
            len(below) < count
            or len(below[-1]) != len(names)
            or any(map(is_number, below[-1]))
            or looks_like_time(below[-1][:1])
        ):
            break
        joined = [" ".join(dict.fromkeys(filter(None, parts))) for parts in zip(names, *below, strict=True)]
        if len(set(joined)) == len(joined):
            return joined, count
    return list(names), 0


def units_below(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first rows say units or the like: words over numbers and times, in two columns at least."""
    for count in range(MOST_UNITS, 0, -1):
        columns = list(zip(*rows, strict=True))
        verdicts = [_are_units(column[:count], column[count:]) for column in columns]
        if len(rows) >= count + FEWEST and False not in verdicts and verdicts.count(True) > 1:
            return count
    return 0


def _are_units(cells: Sequence[str], below: Sequence[str]) -> bool | None:
    """Whether cells are words over numbers or times; None where a column says nothing, or has words that recur."""
    below = [cell for cell in below if cell not in EMPTY_CELLS]
    if not below or not any(cells):
        return None
    if not all(is_number(cell) or looks_like_time([cell]) for cell in below):
        return None if 2 * len(set(below)) <= len(below) and not set(cells) & set(below) else False
    return not any(cell in EMPTY_CELLS[1:] or is_number(cell) or looks_like_time([cell]) for cell in cells)


def words_on_titles(first: int, last: int, unit: str) -> str:
    """That titles are left out, in words."""
    those = f"{unit} {first} stands" if first == last else f"{unit}s {first} to {last} stand"
    return f"{those} above the header and {'is' if first == last else 'are'} left out"


NAMES = frozenset((*TIME_NAMES, *ID_NAMES, "label", "text", "class", "target", "value", "name", "y", "x"))
"""What columns are called, and no cell says."""


def is_data(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether what stands in the place of a header is a row like those below it.

    Numbers alone are one, unless they count the columns. Else, of half of the columns, it says a number or a date as
    the cells below it do, or a word that is among them, and no column has numbers or dates below a word.
    """
    names = [name.strip() for name in names]
    if names == [*map(str, range(len(names)))] and len(names) > 1:
        return False  # as a program writes that had none
    if all(map(is_number, names)):
        return True
    below = [[cell.strip() for cell in row] for row in rows if len(row) == len(names)]
    columns = list(zip(*(row for row in below if row != names), strict=True))
    numbers = [float(name) for name in names if re.fullmatch(NUMBER, name)]
    steps = {round(b - a, 9) for a, b in itertools.pairwise(numbers)}
    if not columns or NAMES & {*map(str.lower, names)} or (len(numbers) > 2 and len(steps) == 1 and steps.pop() > 0):
        return False
    dense = [pair for pair in zip(names, columns, strict=True) if pair[1].count("") <= MOSTLY_EMPTY * len(below)]
    verdicts = [*itertools.starmap(_is_cell, dense[:COLUMNS])]
    return False not in verdicts and 2 * verdicts.count(True) >= len(verdicts)


def _is_cell(name: str, cells: Sequence[str]) -> bool | None:
    """Whether a name is one more of the cells below it; None where nothing says so, and nothing else."""
    cells = [cell for cell in cells if cell not in EMPTY_CELLS]
    if name in EMPTY_CELLS or not cells:
        return None
    are_numbers = 2 * sum(re.fullmatch(NUMBER, cell) is not None for cell in cells) > len(cells)
    if re.fullmatch(NUMBER, name):
        is_year = DIGITS.fullmatch(name) is not None and DIGITS.fullmatch(cells[0]) is None
        return are_numbers and not is_year
    if looks_like_time([name]):
        return looks_like_time(cells[:1])
    if are_numbers or looks_like_time(cells[:1]):
        return False
    return True if name in cells else None


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
