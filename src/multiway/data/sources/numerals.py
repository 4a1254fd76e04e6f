"""How numbers are written: which columns of text are numbers, by separators, signs and marks that all cells share."""

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from multiway.data.findings import Findings, list_some
from multiway.data.sources.cells import (
    EMPTY_CELLS,
    EXACT_INTEGERS,
    ID_NAMES,
    TIME_NAMES,
    RawTable,
    distinct_cells,
    is_text,
    parse_cells,
    sound_text,
)
from multiway.data.sources.text import TextColumns

EMPTY = pa.array(EMPTY_CELLS)
WHOLE = r"[+-]?\d{1,3}(?:,\d{3})*"
GROUPED = rf"{WHOLE}(?:\.\d*)?"
CERTAIN = r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d*|(?:,\d{3}){2,})"
"""What can be nothing but separators of thousands: 1,234 alone could be a decimal comma."""
COMMA = r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?"
WITH_BOTH = r"[+-]?\d{1,3}(?:\.\d{3})+,\d+"
CERTAIN_COMMA = rf"{WITH_BOTH}|[+-]?(?:0,\d+|\d+,(?:\d{{1,2}}|\d{{4,}}))"
"""What can be nothing but a decimal comma where columns are separated otherwise: 1,234 could be thousands."""
SIGNS = "$€£¥₹%"
MONEY = "$£¥₹"
"""Those of which nobody writes three decimals; a litre of fuel costs 1,659 €."""
NOTHING = r"\.{1,3}|…|\*+|\?+|:"
"""Marks of a missing value among numbers; a hyphen may be a zero."""
WRITTEN = rf"[{SIGNS}(+-]*\s*\.?\d[\d.,]*(?:[eE][+-]?\d+)?\s*[{SIGNS})]*"
"""A number with its separators and signs."""
MARKED = re.compile(rf"(\()?([+-]?)([{SIGNS}]?)\s*([+-]?)(\d[\d.,]*|\.\d+)\s*([{SIGNS}]?)(\))?")
"""An opening parenthesis, a minus, a sign, a minus, digits, a sign, a closing one."""


@dataclasses.dataclass(frozen=True)
class Spelling:
    """What the options say of how cells are written.

    decimal: What separates the fraction of a number, or "auto".
    labels: Columns of times and names, which are text even where they look like numbers: 007 is not 7, NA is a name.
    names: Columns of classes and groups, of which 01 and 1 are two where numbers are written as names are.
    """

    decimal: str
    labels: frozenset[str]
    names: frozenset[str]

    def is_label(self, name: str) -> bool:
        """Whether cells of a column are text."""
        return name in self.labels or name.lower() in (*TIME_NAMES, *ID_NAMES)


def columns_of_text(text: TextColumns, spelling: Spelling, findings: Findings) -> RawTable:
    """Numbers where all cells of a column are finite ones, written with one decimal mark; other columns stay text."""
    labels = {name for name in text.columns if spelling.is_label(name)}
    decimal = "," if spelling.decimal == "," else "."
    columns = _read_numbers(text, decimal, labels, spelling.names)
    if spelling.decimal == "auto" and text.separator != ",":
        commas = [name for name, cells in _texts_in(columns, labels) if has_decimal_commas(cells)]
        if commas:
            findings.add("decimal", "note", f"commas separate decimals, as in columns {list_some(commas)}")
            decimal, columns = ",", _read_numbers(text, ",", labels, spelling.names)
    if decimal == ",":
        grouped = [name for name, cells in _texts_in(columns, labels) if has_grouped_points(cells)]
    else:
        has_fractions = any(cells.dtype == float and (cells % 1 > 0).any() for cells in columns.values())
        grouped = [name for name, cells in _texts_in(columns, labels) if has_fractions and is_grouped(cells, GROUPED)]
        if grouped:
            findings.add("thousands", "note", f"commas separate thousands in columns {list_some(grouped)}")
    columns |= {name: plain_numbers(columns[name], "." if decimal == "," else ",", decimal) for name in grouped}
    return RawTable(
        frame=pd.DataFrame(columns),
        rows=text.rows,
        unit="line",
        broken=text.broken,
        texts={name: cells for name, cells in text.columns.items() if not is_text(columns[name].dtype)},
    )


def _read_numbers(
    text: TextColumns, decimal: str, labels: Collection[str], names: Collection[str]
) -> dict[str, pd.Series]:
    """Columns of numbers as such, and the others as text; numbers that are written as names are text in some."""
    columns = {}
    for name, cells in text.columns.items():
        numbers = None if name in labels else numbers_of(cells, decimal)
        is_named = numbers is not None and bool({name, name.lower()} & {*names}) and are_spelled(cells.to_pandas())
        columns[name] = cells.to_pandas() if numbers is None or is_named else pd.Series(numbers)
    return columns


def _texts_in(columns: Mapping[str, pd.Series], labels: Collection[str]) -> Iterator[tuple[str, pd.Series]]:
    """Columns of text that may be numbers."""
    for name, column in columns.items():
        if is_text(column.dtype) and name not in labels:
            yield name, column


def with_plain_numbers(table: RawTable, spelling: Spelling, findings: Findings) -> RawTable:
    """Turn columns into numbers whose thousands are separated in every cell, and where one can mean nothing else.

    A currency or percent sign that every cell has is left out. Dollars and the like have no three decimals.
    """
    columns = _columns_of_words(table, spelling)
    holed = _columns_with_marks(columns, findings)
    columns |= holed
    signed = {name: found for name, column in columns.items() if (found := _bare(column, name, findings)) is not None}
    bare = {name: cells for name, (cells, _) in signed.items()}
    columns |= bare
    sure = columns if spelling.decimal == "." else {name for name, (_, sign) in signed.items() if sign in MONEY}
    commas = (
        {}
        if spelling.decimal == "."
        else {
            name: plain_numbers(column, ".", ",")
            for name, column in columns.items()
            if has_decimal_commas(column, WITH_BOTH if spelling.decimal == "auto" else COMMA)
        }
    )
    points = {
        name: plain_numbers(column, ",")
        for name, column in columns.items()
        if name not in commas and is_grouped(column, GROUPED if name in sure else CERTAIN)
    }
    if commas and spelling.decimal == "auto":
        findings.add("decimal", "note", f"commas separate decimals in columns {list_some(commas)}")
    if points:
        findings.add("thousands", "note", f"commas separate thousands in columns {list_some(points)}")
    changed = {**holed, **bare, **commas, **points}
    return dataclasses.replace(table, frame=table.frame.assign(**changed)) if changed else table


def _columns_of_words(table: RawTable, spelling: Spelling) -> dict[str, pd.Series]:
    """Columns of text that may be numbers."""
    return {
        str(name): column.map(sound_text, na_action="ignore") if column.dtype == object else column
        for name, column in table.frame.items()
        if is_text(column.dtype) and not spelling.is_label(str(name)) and not _holds_lists(column)
    }


def _columns_with_marks(columns: dict[str, pd.Series], findings: Findings) -> dict[str, pd.Series]:
    """Columns of numbers without the marks of missing values that some have, which a note names."""
    marked = {name: held for name, column in columns.items() if (held := _without_nothing(column)) is not None}
    if marked:
        marks = sorted({mark for _, own in marked.values() for mark in own})
        findings.add("marks", "note", f"cells of {list_some(marks)} in columns {list_some(marked)} are missing")
    return {name: cells for name, (cells, _) in marked.items()}


def _without_nothing(column: pd.Series) -> tuple[pd.Series, list[str]] | None:
    """The cells without marks of missing values, and these marks; None where there are none."""
    cells, rows = distinct_cells(column)
    text = cells.astype("string").str.strip()
    marks = are_nothing(text[text.notna() & ~text.isin(EMPTY_CELLS)])
    if not marks.any():
        return None
    held = marks.index[marks]
    return cells.drop(held).reindex(cells.index).take(rows).set_axis(column.index), list(text[held].unique())


def _bare(column: pd.Series, name: str, findings: Findings) -> tuple[pd.Series, str] | None:
    """The cells without the sign that all of them have, which a note names, and it; None where they have none."""
    cells, rows = distinct_cells(column)
    cells = cells.astype("string").str.strip()
    is_empty = cells.isna() | cells.isin(EMPTY_CELLS)
    found = without_marks(cells[~is_empty])
    if found is None:
        return None
    numbers, sign = found
    said = "parentheses stand for a minus" if sign == "()" else f"numbers stand without their {sign}"
    findings.add("signs", "note", f"{said} in column '{name}'")
    return numbers.reindex(cells.index).take(rows).set_axis(column.index), sign


def _holds_lists(column: pd.Series) -> bool:
    """Whether cells are lists or objects of JSON, or bytes."""
    return column.dtype == object and any(isinstance(cell, list | dict | bytes) for cell in column)


def numbers_of(text: pa.ChunkedArray, decimal: str) -> NDArray[np.float64] | None:
    """Numbers of a column of text, NaN where nothing stands.

    None where a cell is no finite number, is so large that whole numbers are not exact, or where none is a number.
    """
    if decimal == ",":
        if pa.compute.any(pa.compute.match_substring(text, ".")).as_py():
            return None
        text = pa.compute.replace_substring(text, ",", ".")
    try:
        numbers = text.cast(pa.float64())
    except pa.ArrowInvalid:
        is_empty = pa.compute.is_in(text, value_set=EMPTY)
        trimmed = pa.compute.utf8_trim(text, " \t")
        try:
            numbers = pa.compute.if_else(is_empty, pa.scalar(None, pa.string()), trimmed).cast(pa.float64())
        except pa.ArrowInvalid:
            return None
    values: NDArray[np.float64] = numbers.to_numpy()
    largest = np.nanmax(np.abs(values), initial=-1.0)
    return values if 0 <= largest < EXACT_INTEGERS else None


def are_spelled(text: pd.Series) -> bool:
    """Whether numbers are written as names are: with leading zeros or signs, or one of them in two ways."""
    text = text.astype("string").str.strip()
    text = text[text.notna() & ~text.isin(EMPTY_CELLS)].drop_duplicates()
    values, bad, _ = parse_cells(text)
    if bad.any():
        return False  # with decimal commas, which a target of numbers may have
    return bool(text.str.match(r"\+|-?0\d").any() or len(np.unique(values)) < len(text))


def has_decimal_commas(column: pd.Series, certain: str = CERTAIN_COMMA) -> bool:
    """Whether every cell is a number whose fraction a comma separates, and one can be nothing else."""
    text = distinct_cells(column)[0].astype("string").str.strip()
    if not text.str.contains(",", regex=False).any():
        return False
    text = text[text.notna() & ~text.isin(EMPTY_CELLS)]
    return bool(text.str.fullmatch(COMMA).all() and text.str.fullmatch(certain).any())


def has_grouped_points(column: pd.Series) -> bool:
    """Whether points separate thousands in every cell, which is so only where a comma separates decimals."""
    text = distinct_cells(column)[0].astype("string").str.strip()
    text = text[text.notna() & ~text.isin(EMPTY_CELLS)]
    return bool(len(text)) and bool(text.str.fullmatch(COMMA).all() and text.str.contains(".", regex=False).any())


def is_grouped(column: pd.Series, certain: str = CERTAIN) -> bool:
    """Whether commas separate thousands in every cell that has some, and one can be nothing else."""
    text = distinct_cells(column)[0].astype("string").str.strip()
    if not text.str.contains(",", regex=False).any():
        return False
    text = text[text.notna() & ~text.isin(EMPTY_CELLS)]
    return bool(text.str.fullmatch(GROUPED).all() and text.str.fullmatch(certain).any())


def plain_numbers(column: pd.Series, thousands: str, decimal: str = ".") -> pd.Series:
    """Numbers of cells whose thousands and fractions are separated so."""
    text = column.astype("string").str.strip()
    for mark, other in ((thousands, ""), (decimal, ".")):
        text = text.str.replace(mark, other, regex=False)
    return text.where(~text.isin(EMPTY_CELLS)).astype("Float64").astype("float64")


def without_marks(text: pd.Series) -> tuple[pd.Series, str] | None:
    """Numbers of cells as they are written, without their sign; and the sign, "()" where only parentheses are.

    None where a cell is no number, where signs differ, or where none is.

    text: Cells that hold something, each once, without blanks around them.
    """
    if not text.str.contains(rf"[{SIGNS}(]").any():
        return None
    parts = text.str.extract(rf"^{MARKED.pattern}$").fillna("")
    opening, early, before, late, digits, after, closing = (parts[column] for column in parts)
    signs = (before + after).unique()
    is_sound = (digits != "") & ((opening == "") == (closing == "")) & (opening + early + late).str.len().lt(2)
    if not is_sound.all() or len(signs) > 1 or len(signs[0]) > 1:
        return None
    minus = (early + late).where(opening == "", "-")
    return minus + digits, signs[0] or "()"


def are_nothing(text: pd.Series) -> pd.Series:
    """Which cells are a mark of a missing value, where every other is a number; none elsewhere.

    text: Cells that hold something, each once, without blanks around them.
    """
    marks = text.str.fullmatch(NOTHING)
    numbers = text[~marks].str.fullmatch(WRITTEN)
    return marks & bool(len(numbers) and numbers.all())
