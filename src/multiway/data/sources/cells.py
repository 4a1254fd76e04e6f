"""Cells of a table as they were read: as numbers, as text, without the marks that spreadsheets need."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, listed
from multiway.data.options import FileOptions, composed
from multiway.data.sources.marks import MONEY, are_nothing, without_marks

TIME_NAMES = ("ds", "date", "datetime", "date_time", "time", "timestamp", "ts", "day", "month", "year", "week")
ID_NAMES = ("unique_id", "item_id", "series_id", "id", "series")
EMPTY_CELLS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "-nan", "null", "NULL", "Null", "None", "<NA>", "#N/A")
EXACT_INTEGERS = 2.0**53
LARGEST = 1e18
"""Size of a number up to which single precision holds its square, and sums of many."""
MOSTLY_NUMBERS = 0.9
"""Share of cells from which on a column is one of numbers, and the other cells are flaws."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class RawTable:
    """Raw columns, and how to name a row to the user.

    frame: Columns that are numbers throughout as such, others as they came.
    rows: What the user calls each row: its 1-based line in a text file, else its 0-based position.
    unit: Which of the two.
    broken: Rows already reported as irregular, whose cells say nothing.
    """

    frame: pd.DataFrame
    rows: NDArray[np.int64]
    unit: Literal["line", "row"]
    broken: NDArray[np.bool_]

    @classmethod
    def whole(cls, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> "RawTable":
        """A table without a broken row; `rows` are lines of a file, else rows are counted."""
        numbers = np.arange(len(frame)) if rows is None else np.array(rows)
        unit: Literal["line", "row"] = "row" if rows is None else "line"
        return cls(frame=frame, rows=numbers, unit=unit, broken=np.zeros(len(frame), dtype=bool))

    @property
    def names(self) -> list[str]:
        """Columns in the order of the file."""
        return [str(name) for name in self.frame.columns]

    def place(self, row: int, column: str | None = None, value: object = None, detail: str | None = None) -> Place:
        """Name a cell by its row in the file."""
        shown = None if value is None else str(value)
        return Place(row=int(self.rows[row]), unit=self.unit, column=column, value=shown, detail=detail)

    def take(self, kept: NDArray[np.bool_]) -> "RawTable":
        """Some rows."""
        frame = self.frame[kept].reset_index(drop=True)
        return dataclasses.replace(self, frame=frame, rows=self.rows[kept], broken=self.broken[kept])

    def sound(self) -> "RawTable":
        """The rows that are not broken."""
        return self.take(~self.broken)

    def composed(self) -> "RawTable":
        """The same table, of characters that can be written, its columns named in composed letters (NFC), as cells."""
        torn = {str(name): _sound(column) for name, column in self.frame.items() if _is_torn(column)}
        frame = self.frame.assign(**torn)
        names = [composed(sound_text(name)) for name in self.names]
        if names != self.names and len(set(names)) == len(names):
            frame = frame.set_axis(names, axis=1)
        return dataclasses.replace(self, frame=frame)

    def drop(self, columns: list[str]) -> "RawTable":
        """Leave columns out."""
        return dataclasses.replace(self, frame=self.frame.drop(columns=columns)) if columns else self


TORN = re.compile("[\ud800-\udfff]")
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def parse_cells(raw: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Values; which cells are no finite number; which are integers that float64 would change."""
    if pd.api.types.is_bool_dtype(raw) or not (pd.api.types.is_numeric_dtype(raw) or _is_text(raw)):
        return np.full(len(raw), np.inf), raw.notna().to_numpy(bool), np.zeros(len(raw), dtype=bool)
    if pd.api.types.is_numeric_dtype(raw):
        values = raw.to_numpy(np.float64, na_value=np.nan)
        return values, np.isinf(values), _changed_integers(raw, values)
    cells, rows = distinct_cells(raw)
    values, bad, inexact = _parse_text(cells.astype("string").str.strip())
    return values[rows], bad[rows], inexact[rows]


def distinct_cells(raw: pd.Series) -> tuple[pd.Series, NDArray[np.intp]]:
    """Each different text of a column once, in the order of the rows, and which of them every row holds.

    Cells of other columns, which may be equal and of two kinds, are those of the rows.
    """
    if not isinstance(raw.dtype, pd.StringDtype):
        return raw, np.arange(len(raw))
    codes, cells = pd.factorize(raw, use_na_sentinel=False)
    return pd.Series(cells, name=raw.name), codes


def by_text(raw: pd.Series, make: Callable[[pd.Series], pd.Series]) -> pd.Series:
    """What is made of the cells one by one, made once of each different text."""
    cells, rows = distinct_cells(raw)
    return make(raw) if cells is raw else make(cells).take(rows).set_axis(raw.index)


def as_text(raw: pd.Series) -> pd.Series:
    """Cells as they are written, without blanks around them: whole numbers without a point, nothing as nothing.

    Letters are composed (NFC): an accent of its own makes no other word.
    """
    return by_text(raw, _as_text)


def _as_text(raw: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(raw) and raw.notna().any() and (raw.dropna() == raw.dropna().round()).all():
        raw = raw.astype("Int64")
    if raw.dtype == object:
        raw = raw.map(sound_text, na_action="ignore")
    text = raw.astype("string").str.strip().fillna("")
    return text if all(map(str.isascii, text)) else text.str.normalize("NFC")


def words(raw: pd.Series) -> pd.Series:
    """Cells as text without blanks around them; the usual words for nothing are empty."""
    return by_text(raw, _words)


def _words(raw: pd.Series) -> pd.Series:
    text = _as_text(raw).astype(object)
    return text.where(~text.isin(EMPTY_CELLS), "")


TRUTHS = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}
"""How text files and spreadsheets write truth values, and the one name of each here."""


def with_truths(text: pd.Series) -> pd.Series:
    """Cells as text, truth values by their one name."""
    return text.map(lambda cell: TRUTHS.get(cell, cell))


def looks_numeric(text: pd.Series, rows: NDArray[np.intp] | None = None) -> bool:
    """Whether most cells that hold something are numbers, or would be with a point for a comma.

    rows: Which of the texts each row holds; each its own if not given.
    """
    rows = np.arange(len(text)) if rows is None else rows
    bad = parse_cells(text)[1][rows]
    present = int((text != "").to_numpy(bool)[rows].sum())
    if bad.sum() <= (1 - MOSTLY_NUMBERS) * present:
        return True
    shown = text.iloc[rows[np.flatnonzero(bad)[:100]]]
    return bool(np.mean(list(map(has_comma, shown))) >= MOSTLY_NUMBERS)


def sound_text(value: object) -> str:
    """A value as text that can be written; half of a surrogate pair becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode()


def _is_torn(column: pd.Series) -> bool:
    """Whether a cell holds half of a surrogate pair, which no file can hold."""
    return column.dtype == object and any(isinstance(cell, str) and TORN.search(cell) for cell in column)


def _sound(column: pd.Series) -> pd.Series:
    cells = [sound_text(cell) if isinstance(cell, str) else cell for cell in column]
    return pd.Series(cells, index=column.index, dtype=object)


def has_comma(value: str) -> bool:
    """Whether a text is a number but for a comma in place of the point."""
    return value.count(",") == 1 and value.replace(",", "").lstrip("+-").isdigit()


def _changed_integers(raw: pd.Series, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which cells of an integer column float64 does not keep."""
    changed = np.zeros(len(raw), dtype=bool)
    if pd.api.types.is_integer_dtype(raw):
        large = np.flatnonzero(np.abs(values) >= EXACT_INTEGERS)
        changed[large] = [int(values[row]) != int(raw.iloc[row]) for row in large]
    return changed


def _is_text(raw: pd.Series) -> bool:
    return isinstance(raw.dtype, pd.StringDtype) or raw.dtype == object


def _parse_text(text: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Python's own float, which rounds correctly, on the cells that are written as numbers."""
    empty = (text.isna() | text.isin(EMPTY_CELLS)).to_numpy(bool)
    number = text.str.fullmatch(NUMBER).to_numpy(bool, na_value=False)
    values = np.full(len(text), np.nan)
    values[number] = list(map(float, text[number].to_numpy(object)))
    whole = text.str.fullmatch(r"[+-]?\d{16,}").to_numpy(bool, na_value=False)
    inexact = np.zeros(len(text), dtype=bool)
    inexact[whole] = [len(cell) > 300 or int(float(cell)) != int(cell) for cell in text[whole]]
    bad = (~number & ~empty) | np.isinf(values)
    values[bad] = np.inf
    return values, bad, inexact & ~bad


MARK = "'"
FORMULA = re.compile(rf"{MARK}*[=+\-@\t\r\n]")
"""What starts a formula, behind marks that the text had already."""
MARKED = re.compile(rf"^{MARK}(?={MARK}*[=+\-@\t\r\n])")


def escaped(text: str) -> str:
    """The text behind a mark that keeps a spreadsheet from running it; numbers are no formulas."""
    return MARK + text if FORMULA.match(text) and not re.fullmatch(NUMBER, text) else text


def restored(text: str) -> str:
    """Undo `escaped`."""
    return MARKED.sub("", text)


def escaped_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns with their names and their cells of text escaped; numbers and times stay what they are."""
    safe = frame.set_axis([escaped(name) if isinstance(name, str) else name for name in frame.columns], axis=1)
    for position, column in enumerate(safe.dtypes):
        if is_text(column):
            cells = [escaped(cell) if isinstance(cell, str) else cell for cell in safe.iloc[:, position]]
            safe.isetitem(position, cells)
    return safe


def restored_frame(frame: pd.DataFrame) -> pd.DataFrame:
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


def is_text(dtype: Any) -> bool:
    """Whether a column of that type can hold text."""
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)


WHOLE = r"[+-]?\d{1,3}(?:,\d{3})*"
GROUPED = rf"{WHOLE}(?:\.\d*)?"
CERTAIN = r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d*|(?:,\d{3}){2,})"
"""What can be nothing but separators of thousands: 1,234 alone could be a decimal comma."""


COMMA = r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?"
WITH_BOTH = r"[+-]?\d{1,3}(?:\.\d{3})+,\d+"
CERTAIN_COMMA = rf"{WITH_BOTH}|[+-]?(?:0,\d+|\d+,(?:\d{{1,2}}|\d{{4,}}))"
"""What can be nothing but a decimal comma where columns are separated otherwise: 1,234 could be thousands."""


def with_plain_numbers(table: RawTable, options: FileOptions, findings: Findings) -> RawTable:
    """Turn columns into numbers whose thousands are separated in every cell, and where one can mean nothing else.

    A currency or percent sign that every cell has is left out. Dollars and the like have no three decimals.
    """
    columns = _worded(table, options)
    holed = _holed(columns, findings)
    columns |= holed
    signed = {name: found for name, column in columns.items() if (found := _bare(column, name, findings)) is not None}
    bare = {name: cells for name, (cells, _) in signed.items()}
    columns |= bare
    sure = columns if options.decimal == "." else {name for name, (_, sign) in signed.items() if sign in MONEY}
    commas = {} if options.decimal == "." else {
        name: plain_numbers(column, ".", ",") for name, column in columns.items()
        if has_decimal_commas(column, WITH_BOTH if options.decimal == "auto" else COMMA)
    }  # fmt: skip
    points = {
        name: plain_numbers(column, ",")
        for name, column in columns.items()
        if name not in commas and is_grouped(column, GROUPED if name in sure else CERTAIN)
    }
    if commas and options.decimal == "auto":
        findings.add("decimal", "note", f"commas separate decimals in columns {listed(commas)}")
    if points:
        findings.add("thousands", "note", f"commas separate thousands in columns {listed(points)}")
    changed = {**holed, **bare, **commas, **points}
    return table if not changed else dataclasses.replace(table, frame=table.frame.assign(**changed))


def _worded(table: RawTable, options: FileOptions) -> dict[str, pd.Series]:
    """Columns of text that may be numbers."""
    return {
        str(name): column.map(sound_text, na_action="ignore") if column.dtype == object else column
        for name, column in table.frame.items()
        if is_text(column.dtype) and not is_label(str(name), options) and not _holds_lists(column)
    }


def _holed(columns: dict[str, pd.Series], findings: Findings) -> dict[str, pd.Series]:
    """Columns of numbers without the marks of missing values that some have, which a note names."""
    marked = {name: held for name, column in columns.items() if (held := _without_nothing(column)) is not None}
    if marked:
        marks = sorted({mark for _, own in marked.values() for mark in own})
        findings.add("marks", "note", f"cells of {listed(marks)} in columns {listed(marked)} are missing")
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


def is_label(name: str, options: FileOptions) -> bool:
    """Times, names and classes are text even where they look like numbers: 007 is not 7, and NA is a name."""
    return name in options.labels or name.lower() in (*TIME_NAMES, *ID_NAMES)


def keeps_spelling(name: str, options: FileOptions) -> bool:
    """Whether cells of a column are names, of classes or groups, of which 01 and 1 are two."""
    return name in options.names or name.lower() in options.names


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
