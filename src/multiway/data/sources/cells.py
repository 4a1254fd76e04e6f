"""Cells of a table as they were read: as numbers, as text, without the marks that spreadsheets need."""

import dataclasses
import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from multiway.data.findings import Place

TIME_NAMES = ("ds", "date", "datetime", "date_time", "time", "timestamp", "ts", "day", "month", "year", "week")
ID_NAMES = ("unique_id", "item_id", "series_id", "id", "series")
EMPTY_CELLS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "-nan", "null", "NULL", "Null", "None", "<NA>", "#N/A")
EXACT_INTEGERS = 2.0**53
LARGEST = 1e18
"""Size of a number up to which single precision holds its square, and sums of many."""
MOSTLY_NUMBERS = 0.9
"""Share of cells from which on a column is one of numbers, and the other cells are flaws."""


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """A column of a table, and what its cells mean; each is decided once, by looking at all of them.

    raw: Cells as they came, of numbers where the whole column is.
    """

    name: str
    raw: pd.Series

    @functools.cached_property
    def is_numeric(self) -> bool:
        """Whether it was read as numbers."""
        is_other = pd.api.types.is_bool_dtype(self.raw) or pd.api.types.is_complex_dtype(self.raw)
        return pd.api.types.is_numeric_dtype(self.raw) and not is_other

    @functools.cached_property
    def is_stamped(self) -> bool:
        """Whether it was read as times or periods."""
        return pd.api.types.is_datetime64_any_dtype(self.raw) or isinstance(self.raw.dtype, pd.PeriodDtype)

    @functools.cached_property
    def words(self) -> pd.Series:
        """Cells as text; those that hold nothing are empty."""
        return words(self.raw)

    @functools.cached_property
    def numbers(self) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Values; which cells are no finite number; which are integers that float64 would change."""
        is_parsed = self.is_numeric or isinstance(self.raw.dtype, pd.StringDtype)
        return parse_cells(self.raw if is_parsed else self.words)

    @functools.cached_property
    def is_present(self) -> NDArray[np.bool_]:
        """Which cells hold something."""
        is_read = self.is_numeric or self.is_stamped
        return np.asarray(self.raw.notna() if is_read else self.words != "", dtype=bool)

    @functools.cached_property
    def holds_numbers(self) -> bool:
        """Whether most cells that hold something are numbers, or would be with a point for a comma."""
        return self.is_numeric or _are_mostly_numbers(self.words, self.numbers[1])


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
    _columns: dict[str, Column] = dataclasses.field(init=False, repr=False, default_factory=dict)

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

    def column(self, name: str) -> Column:
        """One of its columns, the same each time."""
        if name not in self._columns:
            self._columns[name] = Column(name, self.frame[name])
        return self._columns[name]

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
        names = [_compose_names(name) for name in map(str, self.frame.columns)]
        if names == [*map(str, self.frame.columns)] or len(set(names)) < len(names):
            return dataclasses.replace(self, frame=frame)
        texts = {_compose_names(name): text for name, text in self.texts.items()}
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
        return values, np.isinf(values), _find_changed_integers(raw, values)
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


def looks_numeric(text: pd.Series) -> bool:
    """Whether most cells that hold something are numbers, or would be with a point for a comma."""
    return _are_mostly_numbers(text, parse_cells(text)[1])


def _are_mostly_numbers(text: pd.Series, bad: NDArray[np.bool_]) -> bool:
    if bad.sum() <= (1 - MOSTLY_NUMBERS) * int((text != "").sum()):
        return True
    return bool(np.mean(list(map(has_comma, text.iloc[np.flatnonzero(bad)[:100]]))) >= MOSTLY_NUMBERS)


def sound_text(value: object) -> str:
    """A value as text that can be written; half of a surrogate pair becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode()


def _compose_names(name: str) -> str:
    return unicodedata.normalize("NFC", sound_text(name))


def _is_torn(column: pd.Series) -> bool:
    """Whether a cell holds half of a surrogate pair, which no file can hold."""
    return column.dtype == object and any(isinstance(cell, str) and TORN.search(cell) for cell in column)


def _sound(column: pd.Series) -> pd.Series:
    cells = [sound_text(cell) if isinstance(cell, str) else cell for cell in column]
    return pd.Series(cells, index=column.index, dtype=object)


def has_comma(value: str) -> bool:
    """Whether a text is a number but for a comma in place of the point."""
    return value.count(",") == 1 and value.replace(",", "").lstrip("+-").isdigit()


def _find_changed_integers(raw: pd.Series, values: NDArray[np.float64]) -> NDArray[np.bool_]:
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


def is_text(dtype: Any) -> bool:
    """Whether a column of that type can hold text."""
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)
