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

from multiway.data.findings import Findings, Place, Unreadable, list_some, quote
from multiway.data.options import FileOptions, ReadOptions
from multiway.data.sources.cells import FEW_ROWS, TIME_NAMES, Column, Columns, plain_name
from multiway.data.sources.times import COUNTED, UNITS, WRITE, read_times
from multiway.errors import closest

PARTIAL_TIMES = ("day", "month", "year", "week")
CALLED = re.compile(r"time|date|stamp|unix|epoch", re.IGNORECASE)
"""Names of columns that may count seconds."""
DAYS = (19_000_101, 22_001_231)
"""Whole numbers that may be dates."""
MOST_BELOW = 3
"""Rows below a table that are no part of it."""


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
        object.__setattr__(self, "columns", Columns(self.frame, self.texts))

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
    named = [name for name in table.names if plain_name(name) in TIME_NAMES]
    usual = next((name for name in named if name.lower() not in PARTIAL_TIMES), None)
    if usual is None:
        ways = (_counts_seconds, _are_days)
        dated = [
            name
            for name in table.names
            if table.columns[name].looks_like_time or any(is_of(table, name) for is_of in ways)
        ]
        usual = next((name for name in dated if table.columns[name].kind != "constant"), next(iter(dated), None))
    return named[0] if usual is None and len(named) == 1 else usual


def _counts_seconds(table: RawTable, name: str) -> bool:
    """Whether a column is called as times are, or is the first of a table without names, and counts from 1970 on."""
    if not (name == table.names[0] == "0" or re.search(CALLED, name)) or not table.columns[name].is_numeric:
        return False
    values = table.columns[name].values
    in_units = [(values >= COUNTED[0] * per) & (values <= COUNTED[1] * per) for per in UNITS.values()]
    return bool(len(values) > 1 and np.any(in_units, axis=0).all())


def _are_days(table: RawTable, name: str) -> bool:
    """Whether whole numbers are dates such as 20240131, each of them: others hardly ever are."""
    column = table.columns[name]
    if not column.is_numeric or not len(column.values) or not (column.values % 1 == 0).all():
        return False
    different = np.unique(column.values)
    if len(different) < FEW_ROWS or different[0] < DAYS[0] or different[-1] > DAYS[1]:
        return False
    return bool(
        pd.to_datetime(pd.Series(different.astype(np.int64).astype(str)), format="%Y%m%d", errors="coerce")
        .notna()
        .all()
    )


def usual_column(names: Sequence[str], known: Sequence[str], taken: Collection[str | None] = ()) -> str | None:
    """The column that has the first of the known names, whatever its case or underscores, and is not taken."""
    own = {plain_name(name): name for name in reversed(names) if name not in taken}
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
