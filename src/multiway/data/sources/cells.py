"""Cells of a table as they were read: as numbers, as text, without the marks that spreadsheets need."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from multiway.data.findings import Place
from multiway.data.sources.budget import composed
from multiway.data.sources.options import FileOptions

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
    texts: Columns of numbers as they stood in a text.
    """

    frame: pd.DataFrame
    rows: NDArray[np.int64]
    unit: Literal["line", "row"]
    broken: NDArray[np.bool_]
    texts: Mapping[str, pa.ChunkedArray] = dataclasses.field(default_factory=dict)

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
        texts = {name: text.filter(pa.array(kept)) for name, text in self.texts.items()}
        return dataclasses.replace(self, frame=frame, rows=self.rows[kept], broken=self.broken[kept], texts=texts)

    def sound(self) -> "RawTable":
        """The rows that are not broken."""
        return self.take(~self.broken)

    def composed(self) -> "RawTable":
        """The same table, of characters that can be written, its columns named in composed letters (NFC), as cells."""
        torn = {str(name): _sound(column) for name, column in self.frame.items() if _is_torn(column)}
        frame = self.frame.assign(**torn)
        names = [composed(sound_text(name)) for name in self.names]
        if names == self.names or len(set(names)) < len(names):
            return dataclasses.replace(self, frame=frame)
        texts = {composed(sound_text(name)): text for name, text in self.texts.items()}
        return dataclasses.replace(self, frame=frame.set_axis(names, axis=1), texts=texts)

    def as_text(self, columns: Iterable[str]) -> "RawTable":
        """Some columns as they stood, where numbers were made of them."""
        changed = {name: self.texts[name].to_pandas() for name in columns if name in self.texts}
        return dataclasses.replace(self, frame=self.frame.assign(**changed)) if changed else self

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


EMPTY = pa.array(EMPTY_CELLS)


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


WHOLE = r"[+-]?\d{1,3}(?:,\d{3})*"
GROUPED = rf"{WHOLE}(?:\.\d*)?"
CERTAIN = r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d*|(?:,\d{3}){2,})"
"""What can be nothing but separators of thousands: 1,234 alone could be a decimal comma."""


COMMA = r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?"
WITH_BOTH = r"[+-]?\d{1,3}(?:\.\d{3})+,\d+"
CERTAIN_COMMA = rf"{WITH_BOTH}|[+-]?(?:0,\d+|\d+,(?:\d{{1,2}}|\d{{4,}}))"
"""What can be nothing but a decimal comma where columns are separated otherwise: 1,234 could be thousands."""


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


SIGNS = "$€£¥₹%"
MONEY = "$£¥₹"
"""Those of which nobody writes three decimals; a litre of fuel costs 1,659 €."""
NOTHING = r"\.{1,3}|…|\*+|\?+|:"
"""Marks of a missing value among numbers; a hyphen may be a zero."""
WRITTEN = rf"[{SIGNS}(+-]*\s*\.?\d[\d.,]*(?:[eE][+-]?\d+)?\s*[{SIGNS})]*"
"""A number with its separators and signs."""
MARKED = re.compile(rf"(\()?([+-]?)([{SIGNS}]?)\s*([+-]?)(\d[\d.,]*|\.\d+)\s*([{SIGNS}]?)(\))?")
"""An opening parenthesis, a minus, a sign, a minus, digits, a sign, a closing one."""


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


def is_text(dtype: Any) -> bool:
    """Whether a column of that type can hold text."""
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)
