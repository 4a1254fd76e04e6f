"""Cells of a table: the marks that they are written with, and the texts and numbers that they mean."""

import re
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

TIME_NAMES = ("ds", "date", "datetime", "date_time", "time", "timestamp", "ts", "day", "month", "year", "week")
ID_NAMES = ("unique_id", "item_id", "series_id", "id", "series")
EMPTY_CELLS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "-nan", "null", "NULL", "Null", "None", "<NA>", "#N/A")
TRUTHS = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}
"""How text files and spreadsheets write truth values, and the one name of each here."""
EXACT_INTEGERS = 2.0**53
LARGEST = 1e18
"""Size of a number up to which single precision holds its square, and sums of many."""
MOSTLY_NUMBERS = 0.9
"""Share of cells from which on a column is one of numbers, and the other cells are flaws."""

TORN = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which no file can hold."""
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def is_text(dtype: Any) -> bool:
    """Whether a column of that type can hold text."""
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)


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


def sound_text(value: object) -> str:
    """A value as text that can be written; half of a surrogate pair becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode()


def as_text(raw: pd.Series) -> pd.Series:
    """Cells as they are written, without blanks around them: whole numbers without a point, nothing as nothing.

    Letters are composed (NFC): an accent of its own makes no other word.
    """
    return by_text(raw, _write_cells)


def _write_cells(raw: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(raw) and raw.notna().any() and (raw.dropna() == raw.dropna().round()).all():
        raw = raw.astype("Int64")
    if raw.dtype == object:
        raw = raw.map(sound_text, na_action="ignore")
    text = raw.astype("string").str.strip().fillna("")
    return text if all(map(str.isascii, text)) else text.str.normalize("NFC")


def words(raw: pd.Series) -> pd.Series:
    """Cells as text without blanks around them; the usual words for nothing are empty."""

    def make(cells: pd.Series) -> pd.Series:
        text = _write_cells(cells).astype(object)
        return text.where(~text.isin(EMPTY_CELLS), "")

    return by_text(raw, make)


def compose_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns, of characters that can be written, named in composed letters (NFC), as cells are."""
    torn = {}
    for name, dtype in frame.dtypes.items():
        cells = frame[name] if pd.api.types.is_object_dtype(dtype) else ()
        if any(isinstance(cell, str) and TORN.search(cell) for cell in cells):
            sound = [sound_text(cell) if isinstance(cell, str) else cell for cell in cells]
            torn[str(name)] = pd.Series(sound, index=frame.index, dtype=object)
    frame = frame.assign(**torn) if torn else frame
    names = [unicodedata.normalize("NFC", sound_text(name)) for name in map(str, frame.columns)]
    is_same = names == [*map(str, frame.columns)] or len(set(names)) < len(names)
    return frame if is_same else frame.set_axis(names, axis=1)


def with_truths(text: pd.Series) -> pd.Series:
    """Cells as text, truth values by their one name."""
    return text.map(lambda cell: TRUTHS.get(cell, cell))


def has_comma(value: str) -> bool:
    """Whether a text is a number but for a comma in place of the point."""
    return value.count(",") == 1 and value.replace(",", "").lstrip("+-").isdigit()


def are_mostly_numbers(text: pd.Series, bad: NDArray[np.intp]) -> bool:
    """Whether most cells that hold something are numbers, or would be with a point for a comma.

    bad: Rows of cells that are no number.
    """
    if len(bad) <= (1 - MOSTLY_NUMBERS) * int((text != "").sum()):
        return True
    return bool(np.mean(list(map(has_comma, text.iloc[bad[:100]]))) >= MOSTLY_NUMBERS)


def parse_cells(raw: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Values; which cells are no finite number; which are integers that float64 would change."""
    changed = np.zeros(len(raw), dtype=bool)
    if pd.api.types.is_bool_dtype(raw) or not (pd.api.types.is_numeric_dtype(raw) or is_text(raw.dtype)):
        return np.full(len(raw), np.inf), raw.notna().to_numpy(bool), changed
    if pd.api.types.is_numeric_dtype(raw):
        values = raw.to_numpy(np.float64, na_value=np.nan)
        if pd.api.types.is_integer_dtype(raw):
            large = np.flatnonzero(np.abs(values) >= EXACT_INTEGERS)
            changed[large] = [int(values[row]) != int(raw.iloc[row]) for row in large]
        return values, np.isinf(values), changed
    cells, rows = distinct_cells(raw)
    values, bad, changed = _parse_text(cells.astype("string").str.strip())
    return values[rows], bad[rows], changed[rows]


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


QUOTE = "'"
"""What keeps a spreadsheet from running a text as a formula."""
FORMULA = re.compile(rf"{QUOTE}*[=+\-@\t\r\n]")
"""What starts a formula, behind marks that the text had already."""
MARKED = re.compile(rf"^{QUOTE}(?={QUOTE}*[=+\-@\t\r\n])")


def escape(text: str) -> str:
    """The text behind a mark that keeps a spreadsheet from running it; numbers are no formulas."""
    return QUOTE + text if FORMULA.match(text) and not re.fullmatch(NUMBER, text) else text


def unescape(text: str) -> str:
    """Undo `escape`."""
    return MARKED.sub("", text)


def escape_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns with their names and their cells of text escaped; numbers and times stay what they are."""
    safe = frame.set_axis([escape(name) if isinstance(name, str) else name for name in frame.columns], axis=1)
    for position, column in enumerate(safe.dtypes):
        if is_text(column):
            cells = [escape(cell) if isinstance(cell, str) else cell for cell in safe.iloc[:, position]]
            safe.isetitem(position, cells)
    return safe
