"""What a table looks like before it is read as one: the kinds of its columns."""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, Unreadable, soundly
from multiway.data.long_tables import FEW_REPEATS, find_long
from multiway.data.options import FileOptions, ReadOptions
from multiway.data.recordings import Recordings, find_recordings
from multiway.data.sources.across import times_of_header, with_months_in_rows
from multiway.data.sources.cells import RawTable, distinct_cells, looks_numeric, parse_cells, words
from multiway.data.sources.columns import column_of_times, usual_column
from multiway.data.sources.parts import holds_parts
from multiway.data.sources.split_times import with_joined_times
from multiway.data.sources.tables import load_spelled, load_table, source_name
from multiway.data.sources.times import looks_like_time, parse_times
from multiway.errors import DataError, Fix

Kind = Literal["number", "category", "date", "empty", "constant", "identifier"]
NEARLY_ALL = 0.95
"""Share of rows with a value of their own from which on a column of words says who, not what."""
IDLE = {
    "empty": "hold no value",
    "constant": "never change",
    "identifier": "say which row it is (nearly every value differs)",
}
"""Kinds of columns that nothing can be learnt from, in words."""
TAKEN: tuple[Kind, ...] = ("number", "category", "date")
"""Kinds of columns that are inputs."""
FEW_ROWS = 20
"""Below so many rows, values that are all different say nothing yet."""
MOST_ROWS = 100_000
"""Rows that show whether numbers are smooth."""


def kind_of(raw: pd.Series, name: str, categories: Collection[str] = ()) -> Kind:
    """Judge a column by its cells, and identifiers by their name too; `categories` are what the user says are some."""
    is_date = pd.api.types.is_datetime64_any_dtype(raw) or isinstance(raw.dtype, pd.PeriodDtype)
    own, rows = distinct_cells(raw)
    text = None if is_date or is_numeric(raw) else words(own)
    present = raw.notna().to_numpy(bool) if text is None else (text != "").to_numpy(bool)
    if not present.any():
        return "empty"
    said = raw if text is None else text
    if present.all() and len(raw) > 1 and (said == said.iloc[0]).all():
        return "constant"
    if name in categories:
        return "category"
    if is_date:
        return "date"
    if text is None or looks_numeric(text, rows):
        values = parse_cells(raw if text is None else text)[0][rows]
        return "identifier" if _counts_rows(values, name) else "number"
    if _holds_dates(text[present]):
        return "date"
    is_own = len(raw) >= FEW_ROWS and text[present].nunique() >= NEARLY_ALL * len(raw)
    return "identifier" if is_own else "category"


def is_numeric(raw: pd.Series) -> bool:
    """Whether a column was read as numbers."""
    is_other = pd.api.types.is_bool_dtype(raw) or pd.api.types.is_complex_dtype(raw)
    return pd.api.types.is_numeric_dtype(raw) and not is_other


def _counts_rows(values: NDArray[np.float64], name: str) -> bool:
    """Whether whole numbers all differ, and rise from row to row or stand in a column named as identifiers are."""
    if len(values) < FEW_ROWS or not np.isfinite(values).all() or (values != np.round(values)).any():
        return False
    is_named = re.search(r"(?i)(^|[_ .-])(id|uuid|index)$", name) is not None
    return bool((np.diff(values) > 0).all() or (is_named and len(np.unique(values)) == len(values)))


def _holds_dates(text: pd.Series) -> bool:
    return all(looks_like_time(pd.Series([cell])) for cell in text.drop_duplicates().iloc[:20])


def judge(
    table: RawTable, names: Sequence[str], categories: Collection[str], findings: Findings, *, is_named: bool
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Columns of numbers, of categories and of dates; what cannot be an input is left out.

    is_named: The user named them: they are inputs, be they constant, empty or identifiers.
    """
    kinds = {name: kind_of(table.frame[name], name, categories) for name in names}
    if not is_named:
        kinds = _without_idle(kinds, findings)
    if not kinds:
        raise findings.fatal("columns", "no column is left to learn from", "Give a table with other columns.")
    numeric = {name: is_numeric(table.frame[name]) for name in kinds}
    inputs = {
        name: kind if kind in TAKEN else "number" if kind in IDLE and numeric[name] else "category"
        for name, kind in kinds.items()
    }
    numbers, categories, dates = (tuple(name for name, own in inputs.items() if own == kind) for kind in TAKEN)
    return numbers, categories, dates


def _without_idle(kinds: dict[str, Kind], findings: Findings) -> dict[str, Kind]:
    """Leave out columns that nothing can be learnt from, and say so."""
    fix = ("Name the inputs to keep them (", Fix("read.columns", like="NAME,NAME"), ").")
    for idle, said in IDLE.items():
        places = [Place(column=name) for name, kind in kinds.items() if kind == idle]
        if places:
            findings.add(idle, "warning", f"columns {said} and are left out", fix, places)
    return {name: kind for name, kind in kinds.items() if kind not in IDLE}


TARGETS = ("target", "label", "class", "outcome", "diagnosis", "y", "response", "species", "quality", "survived")
"""Names that columns to predict have, the usual ones first."""
SMOOTH = 0.3
"""Correlation of successive rows below which columns of numbers are no series."""


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
    recordings: By which columns rows are steps of labelled recordings; None where they are not.
    """

    kinds: Mapping[str, Kind]
    time: str | None
    repeats: bool
    is_long: bool
    is_smooth: bool
    is_across: bool = False
    has_names: bool = False
    recordings: Recordings | None = None

    @property
    def has_words(self) -> bool:
        """Whether a column, besides that of times, is of words."""
        return any(kind == "category" for name, kind in self.kinds.items() if name != self.time)

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
        """That column, else the last one with something to predict."""
        usable = [name for name, kind in self.kinds.items() if kind in ("number", "category") and name != self.time]
        return self.usual_target or (usable[-1] if usable else None)


def look_at(source: object) -> Look | None:
    """How a file or frame looks; None where it is no table."""
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
    table = with_joined_times(with_months_in_rows(raw, None, findings), None, FileOptions(), findings)
    time = column_of_times(table)
    repeats, is_long = (False, False) if time is None else _repeats(table, time)
    kinds = {name: kind_of(raw.frame[name], name) for name in raw.names}
    recordings = find_recordings(table.frame, kinds) if time is None else None
    return Look(
        kinds=kinds, time=time, repeats=repeats, is_long=is_long, is_smooth=_is_smooth(raw, kinds),
        has_names=any(kind == "identifier" and _says_words(raw.frame[name]) for name, kind in kinds.items()),
        is_across=time is None and bool(times_of_header(table)), recordings=recordings,
    )  # fmt: skip


def _says_words(raw: pd.Series) -> bool:
    """Whether cells are no numbers, also where they are kept as text."""
    return not is_numeric(raw) and not looks_numeric(words(raw))


def _repeats(table: RawTable, time: str) -> tuple[bool, bool]:
    """Whether many times repeat for no reason, more than one of them at least, and whether the table is long."""
    with contextlib.suppress(Unreadable):
        times, good = parse_times(table, time, FileOptions(), Findings(""))
        sound, findings = table if good.all() else table.take(good), Findings("")
        try:
            is_long = find_long(sound, time, times, ReadOptions(), findings) is not None
        except Unreadable:
            is_long = True  # it is, and only its values are not clear
        repeated = times.to_series().duplicated()
        return not is_long and repeated.sum() > 1 and repeated.mean() >= FEW_REPEATS, is_long
    return False, False


def _is_smooth(table: RawTable, kinds: Mapping[str, Kind]) -> bool:
    """Whether successive numbers are alike in the middle column, or there are too few rows to tell."""
    columns = [parse_cells(table.frame[name])[0] for name, kind in kinds.items() if kind == "number"]
    columns = [values[np.isfinite(values)] for values in columns]
    shares = [_successive(values) for values in columns if len(values) >= FEW_ROWS and values.std() > 0]
    return not shares or float(np.median(shares)) >= SMOOTH


def _successive(values: NDArray[np.float64]) -> float:
    """Correlation of the ranks of a column with those one row before, of the first rows."""
    ranks = pd.Series(values[:MOST_ROWS]).rank().to_numpy()
    return abs(float(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]))


def read_frame(source: object, options: FileOptions) -> pd.DataFrame:
    """Every column of a file or frame as it came, whole numbers as such."""
    frame = soundly(source_name(source), lambda findings: load_spelled(source, options, findings)).frame
    whole = [name for name, column in frame.items() if column.dtype == float and (column % 1 == 0).all()]
    return frame.astype(dict.fromkeys(whole, "int64"))
