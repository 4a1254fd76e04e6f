"""Columns of a table: what their cells mean, decided once by looking at all of them, and which ones a reader takes."""

import dataclasses
import functools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from multiway.data.findings import Finding, Findings, Place, Unreadable, list_some, quote
from multiway.data.options import FileOptions, ReadOptions
from multiway.data.sources.cells import (
    TIME_NAMES,
    TRUTHS,
    are_mostly_numbers,
    as_text,
    parse_cells,
    words,
)
from multiway.data.sources.times import WRITE, looks_like_time, read_times
from multiway.errors import closest

PARTIAL_TIMES = ("day", "month", "year", "week")
MOST_BELOW = 3
"""Rows below a table that are no part of it."""
Kind = Literal["number", "category", "date", "empty", "constant", "identifier"]
NEARLY_ALL = 0.95
"""Share of rows with a value of their own from which on a column of words says who, not what."""
NOWHERE = np.empty(0, np.intp)
FEW_ROWS = 20
"""Below so many rows, values that are all different say nothing yet."""


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
        return self.is_numeric or are_mostly_numbers(self.words, bad)

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


class _Columns(dict[str, Column]):
    """Columns of a table by name, each made when it is first wanted and the same from then on."""

    def __init__(self, frame: pd.DataFrame, texts: Mapping[str, pa.ChunkedArray | pd.Series]) -> None:
        self.frame, self.texts = frame, texts

    def __missing__(self, name: str) -> Column:
        self[name] = Column(name, self.frame[name], self.texts.get(name))
        return self[name]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RawTable:
    """Columns, and how to name a row to the user.

    frame: Columns that are numbers throughout as such, others as they came.
    rows: What the user calls each row: its 1-based line in a text file, else its 0-based position.
    unit: Which of the two.
    broken: Rows already reported as irregular, whose cells say nothing.
    texts: Columns as they stood in the file, where others have taken their place.
    names: Of the columns, in the order of the file.
    columns: What the cells of each mean.
    """

    frame: pd.DataFrame
    rows: NDArray[np.int64]
    unit: Literal["line", "row"]
    broken: NDArray[np.bool_]
    texts: Mapping[str, pa.ChunkedArray | pd.Series] = dataclasses.field(default_factory=dict)
    names: list[str] = dataclasses.field(init=False)
    columns: dict[str, Column] = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", [*map(str, self.frame.columns)])
        object.__setattr__(self, "columns", _Columns(self.frame, self.texts))

    @classmethod
    def whole(cls, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> "RawTable":
        """A table without a broken row; `rows` are lines of a file, else rows are counted."""
        numbers = np.arange(len(frame)) if rows is None else np.array(rows)
        unit: Literal["line", "row"] = "row" if rows is None else "line"
        return cls(frame=frame, rows=numbers, unit=unit, broken=np.zeros(len(frame), dtype=bool))

    def place(self, row: int, column: str | None = None, value: object = None, detail: str | None = None) -> Place:
        """Name a cell by its row in the file."""
        shown = None if value is None else str(value)
        return Place(row=int(self.rows[row]), unit=self.unit, column=column, value=shown, detail=detail)

    def take(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> "RawTable":
        """Some rows."""
        places = np.flatnonzero(kept) if kept.dtype == bool else kept
        texts = {
            name: text.iloc[places].reset_index(drop=True) if isinstance(text, pd.Series) else text.take(places)
            for name, text in self.texts.items()
        }
        frame = self.frame.iloc[places].reset_index(drop=True)
        return dataclasses.replace(self, frame=frame, rows=self.rows[places], broken=self.broken[places], texts=texts)

    def sound(self) -> "RawTable":
        """The rows that are not broken."""
        return self.take(~self.broken) if self.broken.any() else self

    def drop(self, columns: Sequence[str]) -> "RawTable":
        """Leave columns out; the others stay the same."""
        if not columns:
            return self
        kept = dataclasses.replace(self, frame=self.frame.drop(columns=list(columns)))
        kept.columns.update({name: own for name, own in self.columns.items() if name not in columns})
        return kept


def find_time_column(table: RawTable, options: ReadOptions, findings: Findings) -> str | None:
    """The named column, else one with a usual name, else the first of dates, else a leading counter, else none."""
    names = table.names
    if options.time_column is not None:
        return require_column(names, options.time_column, "time_column", findings)
    seen = column_of_times(table)
    if seen is not None:
        return seen
    if len(names) > 1 and table.columns[names[0]].is_counter:
        return names[0]
    findings.add("time", "note", "no column of times was found, so rows are counted 0, 1, 2, …")
    return None


def column_of_times(table: RawTable) -> str | None:
    """The first column with a usual name, else the first of dates, else the only one of days, weeks or months."""
    named = [name for name in table.names if name.lower() in TIME_NAMES]
    usual = next((name for name in named if name.lower() not in PARTIAL_TIMES), None)
    if usual is None:
        usual = next((name for name in table.names if table.columns[name].looks_like_time), None)
    return named[0] if usual is None and len(named) == 1 else usual


def usual_column(names: Sequence[str], known: Sequence[str], taken: Collection[str | None] = ()) -> str | None:
    """The column that has the first of the known names, whatever its case, and is not taken."""
    own = {name.lower(): name for name in reversed(names) if name not in taken}
    return next((own[name] for name in known if name in own), None)


def require_column(names: list[str], name: str, option: str, findings: Findings) -> str:
    """The name itself if it is there."""
    return require_columns(names, [name], option, findings)[0]


def require_columns(names: list[str], wanted: Sequence[str], option: str, findings: Findings) -> list[str]:
    """The wanted names themselves if all are there."""
    absent = [quote(name) for name in wanted if name not in names]
    if absent:
        named = list_some([f"'{name}'" for name in absent])
        near = closest(absent[0], map(quote, names)).removeprefix(".").lstrip("; ").capitalize()
        rule = f"{option} names {named}, which {'is' if len(absent) == 1 else 'are'} not there"
        raise findings.fatal("columns", rule, f"{near} There are {list_some(names)}.".strip())
    return list(wanted)


def parse_times(
    table: RawTable, name: str, options: FileOptions, findings: Findings, *, field: str = "read.time_column"
) -> tuple[pd.Index, NDArray[np.bool_]]:
    """Times of the rows that have a sound one, and which rows those are; the others are findings.

    field: Of the config, that names the column of times.
    """
    column, key, before = table.columns[name], (options.day_first, field), len(findings.found)
    if key in column.times:
        read, found = column.times[key]
        findings.found += found
    else:
        read = None
        try:
            first = functools.partial(table.place, 0, name)
            stamps = read_times(column.cells, first, options.day_first, findings, field)
            good = ~np.asarray(stamps.isna())
            _report_bad_times(table, name, good, findings)
            kept = stamps[good]
            if isinstance(kept, pd.DatetimeIndex):
                coarse = kept.as_unit("us")  # one unit for all sources, unless nanoseconds are used
                read = coarse if bool((coarse == kept).all()) else kept, good
            else:
                read = kept.astype(np.int64), good
        except Unreadable:
            pass
        column.times[key] = read, findings.found[before:]
    if read is None:
        raise Unreadable
    return read


def sound_times(
    table: RawTable, time: str | None, options: ReadOptions, findings: Findings
) -> tuple[RawTable, pd.Index]:
    """The rows whose time is sound, and those times; rows are counted where no column holds any."""
    if time is None:
        return table, pd.RangeIndex(len(table.rows))
    times, good = parse_times(table, time, options, findings)
    return table if good.all() else table.take(good), times


def _report_bad_times(table: RawTable, name: str, good: NDArray[np.bool_], findings: Findings) -> None:
    """Say which rows have no sound time; rows already reported as irregular are passed over."""
    bad, cells = np.flatnonzero(~good & ~table.broken), table.columns[name].cells
    if not len(bad):
        return
    is_end = len(bad) <= MOST_BELOW < len(cells) and bad[0] == len(cells) - len(bad)
    if is_end and all(isinstance(cell, str) and re.match(r"\s*[^\W\d]\D*$", cell) for cell in cells.iloc[bad]):
        last = list_some([str(cell) for cell in cells.iloc[bad]])  # totals and sources, as below a table
        said = f"the last rows say {last} in place of times and are left out"
        findings.add("time", "warning", said, places=[table.place(int(row), name) for row in bad])
        return
    places = [table.place(int(row), name, cells.iloc[row]) for row in bad[:20]]
    rule = f"{len(bad)} of {len(cells)} times are absent or not written like the others"
    if not good.any():
        raise findings.fatal("time", rule, WRITE, places, count=len(bad))
    fix = f"{WRITE} Mixed orders of day and month cannot be told apart."
    findings.add("time", "error", rule, fix, places, len(bad))
