"""Cells of a table: the marks that they are written with, and what those of a column mean, decided once."""

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from multiway.data.findings import Finding
from multiway.data.sources.forms import looks_like_time

_USUAL = "ds date datetime date_time time timestamp ts day month year week datum mess_datum"
TIME_NAMES = tuple(_USUAL.split())
ID_NAMES = ("unique_id", "item_id", "series_id", "id", "series")
EMPTY_CELLS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "-nan", "null", "NULL", "Null", "None", "<NA>", "#N/A")
TRUTHS = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}
"""How text files and spreadsheets write truth values, and the one name of each here."""
EXACT_INTEGERS = 2.0**53
LARGEST = 1e18
"""Size of a number up to which single precision holds its square, and sums of many."""
MOSTLY_NUMBERS = 0.9
"""Share of cells from which on a column is one of numbers, and the other cells are flaws."""

Kind = Literal["number", "category", "date", "empty", "constant", "identifier"]
NEARLY_ALL = 0.95
"""Share of rows with a value of their own from which on a column of words says who, not what."""
FEW_REMARKS = 0.02
"""Share of rows with a word up to which a column remarks on them."""
EVEN = 1e-6
"""Share of the way of a clock by which its steps may differ."""
NOWHERE = np.empty(0, np.intp)
FEW_ROWS = 20
"""Below so many rows, values that are all different say nothing yet."""
SIGNS = "$€£¥₹%"
"""Of currencies and percent, which numbers are read without."""
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def plain_name(name: str) -> str:
    """A name without its case, and without what programs put around it: `_time`, `<DATE>`."""
    return name.lower().strip("_<> ")


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


def with_truths(text: pd.Series) -> pd.Series:
    """Cells as text, truth values by their one name."""
    return text.map(lambda cell: TRUTHS.get(cell, cell))


def has_comma(value: str) -> bool:
    """Whether a text is a number but for a comma in place of the point."""
    return value.count(",") == 1 and value.replace(",", "").lstrip("+-").isdigit()


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


Times = dict[tuple[bool | None, str], tuple[tuple[pd.Index, NDArray[np.bool_]] | None, list[Finding]]]
"""Sound times and their rows, None where there are none, and what is noted of them, by how they are read."""


@dataclasses.dataclass(frozen=True, eq=False)
class Flaw:
    """Cells of a column that are odd in one way, by their rows.

    kind: `number` of what is no finite number, `digits` of whole numbers that float64 would change.
    """

    kind: Literal["number", "digits"]
    rows: NDArray[np.intp]


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """A column of a table, and what its cells mean; each is decided once, by looking at all of them.

    cells: As they came, or numbers where all of them are.
    text: As they stood in the file, where it had another text in the place of these cells.
    times: What its times are, once they were read.
    """

    name: str
    cells: pd.Series
    text: pa.ChunkedArray | pd.Series | None = None
    times: Times = dataclasses.field(init=False, repr=False, default_factory=dict)

    @functools.cached_property
    def raw(self) -> pd.Series:
        """Cells as they stood in the file."""
        if self.text is None:
            return self.cells
        return self.text if isinstance(self.text, pd.Series) else self.text.to_pandas()

    @property
    def sign(self) -> str:
        """The currency or percent sign that every cell has and numbers stand without.

        Empty where there is none, and where the name of the column has that of a currency.
        """
        if not isinstance(self.text, pd.Series) or not self.holds_numbers:
            return ""
        present = self.text.dropna()
        found = re.search(f"[{SIGNS}]", str(present.iloc[0])) if len(present) else None
        return "" if found is None or (found[0] != "%" and found[0] in self.name) else found[0]

    @functools.cached_property
    def is_numeric(self) -> bool:
        """Whether it was read as numbers."""
        is_other = pd.api.types.is_bool_dtype(self.cells) or pd.api.types.is_complex_dtype(self.cells)
        return pd.api.types.is_numeric_dtype(self.cells) and not is_other

    @functools.cached_property
    def is_stamped(self) -> bool:
        """Whether it was read as times or periods."""
        return pd.api.types.is_datetime64_any_dtype(self.cells) or isinstance(self.cells.dtype, pd.PeriodDtype)

    @functools.cached_property
    def words(self) -> pd.Series:
        """Cells as text; those that hold nothing are empty."""
        return words(self.cells)

    @functools.cached_property
    def is_present(self) -> NDArray[np.bool_]:
        """Which cells hold something."""
        if self.is_numeric:
            return ~np.isnan(self.values)
        return np.asarray(self.cells.notna() if self.is_stamped else self.words != "", dtype=bool)

    @functools.cached_property
    def _reading(self) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        is_parsed = self.is_numeric or isinstance(self.cells.dtype, pd.StringDtype)
        return parse_cells(self.cells if is_parsed else self.words)

    @functools.cached_property
    def values(self) -> NDArray[np.float64]:
        """Numbers; NaN where a cell holds nothing, infinite where it is no finite number."""
        return self._reading[0]

    @functools.cached_property
    def flaws(self) -> tuple[Flaw, ...]:
        """What keeps cells from being numbers."""
        _, bad, changed = self._reading
        marked: dict[Literal["number", "digits"], NDArray[np.bool_]] = {"number": bad, "digits": changed}
        return tuple(Flaw(kind, np.flatnonzero(marks)) for kind, marks in marked.items() if marks.any())

    @functools.cached_property
    def holds_numbers(self) -> bool:
        """Whether most cells that hold something are numbers, or would be with a point for a comma."""
        bad = next((flaw.rows for flaw in self.flaws if flaw.kind == "number"), NOWHERE)
        if self.is_numeric or len(bad) <= (1 - MOSTLY_NUMBERS) * int((self.words != "").sum()):
            return True
        return bool(np.mean(list(map(has_comma, self.words.iloc[bad[:100]]))) >= MOSTLY_NUMBERS)

    @functools.cached_property
    def codes(self) -> NDArray[np.int32]:
        """Cells by the place of their value among all, in order."""
        cells = as_text(self.cells) if self.cells.dtype == object else self.cells
        return np.asarray(pd.factorize(cells, sort=True, use_na_sentinel=False)[0], dtype=np.int32)

    @functools.cached_property
    def looks_like_time(self) -> bool:
        """Whether the first text that is there reads as a date."""
        return self.is_stamped or (
            not pd.api.types.is_numeric_dtype(self.cells) and looks_like_time(self.cells.iloc[:20])
        )

    @property
    def is_one_word(self) -> bool:
        """Whether it says one word throughout, as the name of the only shop."""
        cells = self.cells
        return isinstance(cells.iloc[0], str) and cells.nunique(dropna=False) == 1 and not self.holds_numbers

    @property
    def is_clock(self) -> bool:
        """Whether numbers rise by one step from row to row, whole or not."""
        if not self.is_numeric or len(self.values) < FEW_ROWS:
            return False
        steps = np.diff(self.values)
        return bool(steps.min() > 0 and np.ptp(steps) <= EVEN * (self.values[-1] - self.values[0]))

    @property
    def is_remark(self) -> bool:
        """Whether nearly all cells are empty, and others are words, as those of a logger that was connected."""
        if self.is_numeric or self.is_stamped or self.is_present.mean() > FEW_REMARKS:
            return False
        return bool((~self.words[self.is_present].str.fullmatch(NUMBER)).any())

    @functools.cached_property
    def is_truth(self) -> bool:
        """Whether cells are true or false, or both 0 and 1 and nothing else."""
        if pd.api.types.is_bool_dtype(self.cells):
            return True
        if self.is_numeric:  # by their numbers, as there may be thousands of columns
            known = self.values[self.is_present]
            return len(known) > 0 and known.min() == 0 and known.max() == 1 and bool(np.isin(known, (0, 1)).all())
        some = set(as_text(self.cells.drop_duplicates())) - {""}
        return some in ({"0", "1"}, *({each, other} for each in TRUTHS for other in TRUTHS))

    @functools.cached_property
    def kind(self) -> Kind:
        """What it is, by its cells; identifiers by their name too."""
        present, said = self.is_present, self.cells if self.is_numeric or self.is_stamped else self.words
        if not present.any():
            return "empty"
        if present.all() and len(said) > 1 and (said == said.iloc[0]).all():
            return "constant"
        if self.is_stamped:
            return "date"
        if self.holds_numbers:
            return "identifier" if self._counts_rows() else "number"
        different = said[present].drop_duplicates()
        if all(looks_like_time([cell]) for cell in different.iloc[:20]):
            return "date"
        is_own = len(said) >= FEW_ROWS and len(different) >= NEARLY_ALL * len(said)
        return "identifier" if is_own else "category"

    def _counts_rows(self) -> bool:
        """Whether whole numbers all differ, and rise from row to row or stand in a column named as identifiers are."""
        values, is_odd = self.values, any(flaw.kind == "number" for flaw in self.flaws)
        if len(values) < FEW_ROWS or is_odd or (values != np.round(values)).any():  # NaN differs from itself
            return False
        is_named = re.search(r"(?i)(^|[_ .-])(id|uuid|index)$", self.name) is not None
        return bool((np.diff(values) > 0).all() or (is_named and len(np.unique(values)) == len(values)))

    @property
    def is_counter(self) -> bool:
        """Whether numbers rise by one whole step from row to row."""
        if not pd.api.types.is_numeric_dtype(self.cells) or len(self.cells) < 3:
            return False
        steps = np.diff(self.cells.to_numpy(np.float64, na_value=np.nan))
        return bool(steps[0] > 0 and steps[0] == np.round(steps[0]) and (steps == steps[0]).all())


@dataclasses.dataclass(eq=False, repr=False)
class Columns(dict[str, Column]):
    """Columns of a table by name, each made when it is first wanted and the same from then on."""

    frame: pd.DataFrame
    texts: Mapping[str, pa.ChunkedArray | pd.Series]

    def __missing__(self, name: str) -> Column:
        self[name] = Column(name, self.frame[name], self.texts.get(name))
        return self[name]
