"""What a table looks like before it is read as one: the kinds of its columns."""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Unreadable, quote, soundly
from multiway.data.long_tables import FEW_REPEATS, find_issued, find_long
from multiway.data.options import FileOptions, ReadOptions
from multiway.data.sources.cells import FEW_ROWS, Kind
from multiway.data.sources.columns import RawTable, column_of_times, parse_times, usual_column
from multiway.data.sources.frames import source_name
from multiway.data.sources.layouts import as_series, columns_by_number, times_of_header
from multiway.data.sources.parquet import holds_parts
from multiway.data.sources.spelling import are_spelled
from multiway.data.sources.tables import load_table
from multiway.errors import DataError, Fix

MOST_ROWS, MOST_COLUMNS = 100_000, 1000
"""Rows and columns that show whether numbers are smooth."""


TARGETS = ("target", "label", "class", "outcome", "diagnosis", "y", "response", "species", "quality", "survived")
"""Names that columns to predict have, the usual ones first."""
SMOOTH = 0.3
"""Correlation of successive rows below which columns of numbers are no series."""


FEWEST, SHORTEST = 4, 4
"""Recordings, and rows of one on average, from which on a counter that restarts says so."""


FEW_CLASSES, SHARES = 10, (0.25, 0.1)
"""Classes up to which the first share of the rows may be different words, and the second above."""


class Recordings(NamedTuple):
    """Columns of a table of recordings."""

    id: str
    time: str
    target: str

    def settings(self) -> tuple[Fix, ...]:
        """Those of the task `series` that read it."""
        return tuple(Fix(f"read.{role}", name) for role, name in self._asdict().items())


def are_classes(count: int, rows: int) -> bool:
    """Whether so many different words of some rows are few enough to be classes: users are none."""
    return count <= min(SHARES[0] * rows, max(FEW_CLASSES, SHARES[1] * rows))


def find_recordings(table: RawTable, kinds: Mapping[str, Kind]) -> Recordings | None:
    """The columns by which rows are recordings one after another; None where they are not.

    A counter of steps begins at 0 or 1 and restarts with each recording. The name and the class do not change within
    one; names differ between all, and a class has several. Some other column of numbers is measured.
    """
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    for time in numbers:
        steps = table.columns[time].values
        if not np.isfinite(steps).all():
            continue
        starts = np.flatnonzero(np.append(True, ~(np.diff(steps) > 0)))
        is_counter = steps[0] in (0, 1) and bool((steps[starts] == steps[0]).all())
        if not is_counter or len(starts) < FEWEST or len(steps) < SHORTEST * len(starts):
            continue
        lengths, kept = np.diff(np.append(starts, len(steps))), {}
        for name in (name for name in kinds if name != time):
            cells = table.columns[name].cells
            firsts = cells.iloc[starts]
            if (cells.to_numpy() == np.repeat(firsts.to_numpy(), lengths)).all():
                kept[name] = firsts
        names = [name for name, firsts in kept.items() if firsts.is_unique]
        classes = [name for name, firsts in kept.items() if 2 <= firsts.nunique() <= len(starts) / 2]
        is_measured = any(name not in kept and name != time for name in numbers)
        if names and classes and is_measured:
            return Recordings(names[0], time, classes[-1])
    return None


class Doubt(NamedTuple):
    """Why rows of a table could be steps of series, and the option that tells of which."""

    rule: str
    field: str


FEWEST_NUMBERED = 12
"""Numbered columns from which on they may be steps."""
EVEN = 0.9
"""Share of the times, and of the steps between them, that are alike where rows are those of several series."""
DIGITS = re.compile(r"\d+")


def find_doubt(table: RawTable, kinds: Mapping[str, Kind], time: str | None, *, is_smooth: bool) -> Doubt | None:
    """Whether all times of even steps have as many rows, whose series no column names; or times are not understood."""
    if time is not None:
        with contextlib.suppress(Unreadable):
            times = parse_times(table, time, FileOptions(), Findings(""))[0]
            counts = times.value_counts()
            steps = pd.Series(np.diff(np.sort(counts.index.unique().to_numpy()))).value_counts(normalize=True)
            usual = int(counts.mode().iloc[0])
            if len(counts) >= FEW_ROWS and usual > 1 and min((counts == usual).mean(), steps.iloc[0]) >= EVEN:
                rule = (
                    f"each time of '{quote(time)}' has {usual} rows: a table of cases, or {usual} series without names"
                )
                return Doubt(rule, "read.id_column")
        return None
    numbered = columns_by_number(table)
    if len(numbered) >= FEWEST_NUMBERED:
        rows = pd.DataFrame({name: table.columns[name].values for name in numbered}).T
        if _is_smooth([rows[row].to_numpy() for row in rows.columns[:FEW_ROWS]]):
            ends = f"'{quote(numbered[0])}' to '{quote(numbered[-1])}'"
            return Doubt(f"columns {ends} are numbered: a table of cases, or each row is a series", "read.time_column")
    for name, kind in kinds.items():
        if is_smooth and kind == "identifier" and not table.columns[name].holds_numbers:
            cells = table.columns[name].words  # of no other, as there may be thousands
            forms = cells.str.replace(DIGITS, "0", regex=True).value_counts(normalize=True)
            if forms.iloc[0] >= EVEN and forms.index[0].count("0") > 1:
                rule = f"'{quote(name)}' may hold times that are not understood, such as {quote(cells.iloc[0])}"
                return Doubt(f"{rule}: a table of cases, or series", "read.time_column")
    return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Look:
    """What a table looks like.

    kinds: Of its columns.
    time: Column of times; None where none has their names or their look.
    repeats: Whether times repeat, and no column tells which series a row is of.
    is_long: Whether rows are of several series.
    is_smooth: Whether rows of numbers follow each other as those of series do.
    is_across: Whether columns are times, and rows are series.
    has_names: Whether a column of words names each row, so that rows with times are cases of their own.
    of_many: Columns of words that are no classes, as users are none: there are too many different ones.
    remarks: Columns with a word in few rows.
    recordings: By which columns rows are steps of labelled recordings; None where they are not.
    doubt: Why it could be of series, where it looks like a table of cases.
    """

    kinds: Mapping[str, Kind]
    time: str | None
    repeats: bool
    is_long: bool
    is_smooth: bool
    is_across: bool = False
    has_names: bool = False
    of_many: frozenset[str] = frozenset()
    remarks: frozenset[str] = frozenset()
    recordings: Recordings | None = None
    doubt: Doubt | None = None

    @property
    def has_words(self) -> bool:
        """Whether a column, besides that of times, is of words."""
        others = {name: kind for name, kind in self.kinds.items() if name != self.time and name not in self.remarks}
        return "category" in others.values()

    @property
    def is_of_series(self) -> bool:
        """Whether rows can be steps of series."""
        if self.is_across:
            return True
        numbers = any(kind == "number" for name, kind in self.kinds.items() if name != self.time)
        is_timed = self.time is not None and not self.has_names
        return numbers and not self.repeats and (is_timed or not (self.time or self.has_words))

    @property
    def is_of_rows(self) -> bool:
        """Whether rows are cases of their own: without times, or many at one time."""
        if self.is_across:
            return self.usual_target is not None
        if len(self.kinds) < 2 or (self.time is not None and not self.repeats):
            return len(self.kinds) > 2 and self.has_names
        return self.has_words or self.repeats or self.usual_target is not None or not self.is_smooth

    @property
    def usual_target(self) -> str | None:
        """Column that is called as one to predict."""
        return usual_column(list(self.kinds), TARGETS, (self.time,))

    @property
    def likely_target(self) -> str | None:
        """That column, else the last one with something to predict, of few words where one is."""
        usable = [name for name, kind in self.kinds.items() if kind in ("number", "category") and name != self.time]
        few = [name for name in usable if name not in self.of_many]
        return self.usual_target or next(reversed(few or usable), None)


def look_at(source: object) -> Look | None:
    """How a file or frame looks; None where it is no table, as arrays, lists and pairs are none."""
    if isinstance(source, tuple | list | np.ndarray):
        return None
    if isinstance(source, str | Path):
        try:
            status = Path(source).stat()
        except OSError:
            return None
        is_table = Path(source).is_file() or holds_parts(source)
        return _look_at_file(str(source), status.st_mtime_ns, status.st_size) if is_table else None
    return _look(source)


@functools.lru_cache(maxsize=2)
def _look_at_file(path: str, changed: int, size: int) -> Look | None:
    return _look(path)


def _look(source: object) -> Look | None:
    findings = Findings("")
    try:
        raw = load_table(source, FileOptions(), findings)
    except (DataError, Unreadable):
        return None
    table = as_series(raw, None, FileOptions(), findings)
    time = column_of_times(table)
    repeats, is_long = (False, False) if time is None else _repeats(table, time)
    columns = {name: raw.columns[name] for name in raw.names}
    kinds = {name: column.kind for name, column in columns.items()}
    is_smooth = _is_smooth([columns[name].values for name, kind in kinds.items() if kind == "number"])
    return Look(
        kinds=kinds,
        time=time,
        repeats=repeats,
        is_long=is_long,
        is_smooth=is_smooth,
        has_names=any(kind == "identifier" and not columns[name].holds_numbers for name, kind in kinds.items()),
        of_many=frozenset(
            name
            for name, kind in kinds.items()
            if kind == "category" and not are_classes(columns[name].words.nunique(), len(raw.rows))
        ),
        remarks=frozenset(name for name, kind in kinds.items() if kind == "category" and columns[name].is_remark),
        is_across=time is None and bool(times_of_header(table)),
        recordings=find_recordings(table, kinds) if time is None else None,
        doubt=find_doubt(table if time in table.names else raw, kinds, time, is_smooth=is_smooth),
    )


def _repeats(table: RawTable, time: str) -> tuple[bool, bool]:
    """Whether many times repeat for no reason, more than one of them at least, and whether the table is long."""
    with contextlib.suppress(Unreadable):
        times, good = parse_times(table, time, FileOptions(), Findings(""))
        sound = table if good.all() else table.take(good)
        try:
            is_long = find_long(sound, time, times, ReadOptions(), Findings("")) is not None
        except Unreadable:
            is_long = True  # it is, and only its values are not clear
        repeated = times.to_series().duplicated()
        are_many = not is_long and repeated.sum() > 1 and repeated.mean() >= FEW_REPEATS
        return are_many and find_issued(sound, time, times, ReadOptions()) is None, is_long
    return False, False


def _is_smooth(columns: Sequence[NDArray[np.float64]]) -> bool:
    """Whether successive numbers are alike in the middle column of some, or there are too few rows to tell."""
    shares = []
    for values in columns[:: -(-len(columns) // MOST_COLUMNS) or 1]:
        finite = values[np.isfinite(values)]
        if len(finite) >= FEW_ROWS and finite.std() > 0:
            ranks = pd.Series(finite[:MOST_ROWS]).rank().to_numpy()
            shares.append(abs(float(np.corrcoef(ranks[1:], ranks[:-1])[0, 1])))
    return not shares or float(np.median(shares)) >= SMOOTH


def read_frame(source: object, options: FileOptions) -> pd.DataFrame:
    """Every column of a file or frame as it stood there, but numbers as such where they are no names.

    Whole numbers have no fraction unless they are written with one; 007 and $5 are text.
    """
    table = soundly(source_name(source), lambda findings: load_table(source, options, findings))
    frame = table.frame.copy(deep=False)
    for name in table.texts:
        column = table.columns[name]
        if not column.is_numeric or isinstance(column.text, pd.Series) or are_spelled(column.raw):
            frame[name] = column.raw
    whole = {str(name) for name, column in frame.items() if column.dtype == float and (column % 1 == 0).all()}
    pointed = {
        name for name in whole & table.texts.keys() if table.columns[name].raw.str.contains(".", regex=False).any()
    }
    return frame.astype(dict.fromkeys(whole - pointed, "int64"))
