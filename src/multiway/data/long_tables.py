"""Which columns of a long table say whose a row is, and which one holds its value."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from multiway.data.findings import Findings, list_some
from multiway.data.options import ReadOptions
from multiway.data.sources.cells import ID_NAMES
from multiway.data.sources.columns import RawTable, require_column, require_columns, usual_column
from multiway.errors import Fix

VALUE_NAMES = ("y", "value", "target", "values", "multiway")
"""Names of the column of values; the last one is that of our own forecasts."""
MEASURES = ("sales", "demand", "quantity", "qty", "units", "amount", "revenue", "load", "consumption")
"""Names of values that are looked for where several columns of numbers are left."""
MOST_KEYS, MOST_CANDIDATES = 3, 12
SHORTEST = 3
"""Rows of a series, on average, below which columns name rows and no series."""
FEW_REPEATS = 0.05
"""Share of repeated times from which on whole numbers can be names of series."""
LEFT_ROWS, LEFT_REPEATS = 0.01, 0.1
"""Repeats that may be left where columns explain the others: shares of all rows, and of all repeats."""
SUCCESSIVE = 0.5
"""Share of the rows of a series, where whole numbers name it, that stand one time after another."""
NAMED = re.compile(
    r"(^|[_ .-])(id|no|nr|code|key)$|store|shop|item|sku|product|region|country|city|sensor|station|branch|customer"
    r"|dep(artmen)?t|symbol|ticker|series|meter|machine|device|site|warehouse",
    re.IGNORECASE,
)
"""Names that columns of series have."""
Codes = NDArray[np.int32] | NDArray[np.int64]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Long:
    """Columns of a long table.

    ids: Those whose cells, together, name the series of a row.
    value: The one that is forecast.
    """

    ids: tuple[str, ...]
    value: str


def find_long(
    table: RawTable, time: str | None, times: pd.Index, options: ReadOptions, findings: Findings
) -> Long | None:
    """The columns of a long table, named or seen; None where the table is wide."""
    keys = Keys(table, times)
    others = [name for name in table.names if name != time]
    if options.id_column is not None:
        ids = tuple(require_columns(others, options.id_column, "id_column", findings))
    else:
        free = [name for name in others if name != options.value_column]
        known = usual_column(free, ID_NAMES)
        ids = () if known is None or usual_column(free, VALUE_NAMES) is None else (known,)
        if time is not None and keys.repeats:
            sets = keys.sets(ids, [name for name in free if name not in ids])
            ids = next(filter(keys.explain, sets), ids)
    if not ids and options.value_column is None:
        return None
    if not ids:
        fix = (f"Set id_column to one of {list_some(others)} (", Fix("read.id_column", like="NAME"), ").")
        raise findings.fatal("columns", "no column of series names was found", fix)
    left = [name for name in others if name not in ids]
    if options.value_column is not None:
        return Long(ids=ids, value=require_column(left, options.value_column, "value_column", findings))
    value, candidates = usual_column(left, VALUE_NAMES), left
    if value is None:
        numbers = list(filter(keys.holds_numbers, left))
        own = numbers if len(numbers) < 2 else [name for name in numbers if keys.differs(name, ids)]
        value, candidates = own[0] if len(own) == 1 else usual_column(own, MEASURES), own or left
    if value is None:
        fix = (f"Set value_column to one of {list_some(candidates)} (", Fix("read.value_column", like="NAME"), ").")
        raise findings.fatal("columns", "the column of values is not clear", fix)
    return Long(ids=ids, value=value)


def find_issued(table: RawTable, time: str | None, times: pd.Index, options: ReadOptions) -> str | None:
    """The column of times that tells apart rows which repeat a time of their series; None where there is none.

    It says when a row was issued: a time has a row for every forecast of the weather then.
    """
    if time is None or not times.has_duplicates:
        return None
    others = [name for name in table.names if name != time and table.columns[name].looks_like_time]
    if not others:
        return None
    stamps = Keys(table, times).stamps
    repeats = _count_repeats(table, time, stamps, options)
    if repeats < FEW_REPEATS * len(stamps):
        return None
    every = ((name, _join_codes([stamps, table.columns[name].codes])) for name in others)
    distinct = (name for name, both in every if _count_repeats(table, time, both, options) <= LEFT_REPEATS * repeats)
    return next(distinct, None)


def _count_repeats(table: RawTable, time: str, stamps: Codes, options: ReadOptions) -> int:
    """Rows whose stamp and series both stand above already, whichever columns name the series."""
    keys = Keys(table, pd.Index(stamps))
    free = [name for name in table.names if name not in (time, options.value_column)]
    sets = keys.sets((), free) if options.id_column is None else [options.id_column]
    ids = next((names for names in sets if options.id_column is not None or keys.explain(names)), ())
    return len(stamps) - _count(_join_codes([keys.stamps, keys.series(ids)]) if ids else keys.stamps)


class Keys:
    """Columns of a table that may tell apart the rows of one time."""

    def __init__(self, table: RawTable, times: pd.Index) -> None:
        self.table = table
        self.stamps: Codes = np.asarray(pd.factorize(times, sort=True, use_na_sentinel=False)[0], dtype=np.int32)

    @functools.cached_property
    def repeats(self) -> int:
        """Rows whose time stands above already."""
        return len(self.stamps) - _count(self.stamps)

    def series(self, names: tuple[str, ...]) -> Codes:
        """What the cells of some columns together say of every row."""
        return _join_codes([self.table.columns[name].codes for name in names])

    def sets(self, first: tuple[str, ...], names: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Columns together: few before many, then whole ones, those named as series are, and words before numbers."""
        if first:
            yield first
        named = filter(self._may_name, names)
        frame = self.table.frame
        ranked = sorted(
            named,
            key=lambda name: (
                frame[name].isin(["", None]).any(),  # as of regions without a code
                not NAMED.search(name),
                is_numeric_dtype(frame[name]),
            ),
        )
        for size in range(1, MOST_KEYS + 1 - len(first)):
            for more in itertools.combinations(ranked[:MOST_CANDIDATES], size):
                yield (*first, *sorted(more, key=list(names).index))

    def _may_name(self, name: str) -> bool:
        """Whether a column has words or whole numbers, few different ones, that differ within a time."""
        column = self.table.columns[name]
        is_whole = not is_numeric_dtype(column.cells) or bool((column.cells.dropna() % 1 == 0).all())
        if column.looks_like_time or not is_whole:
            return False
        codes = self.table.columns[name].codes
        differ = _count(_join_codes([self.stamps, codes])) > _count(self.stamps)
        return differ and _count(codes) <= len(codes) / SHORTEST

    def explain(self, names: tuple[str, ...]) -> bool:
        """Whether a time stands once in each series that the columns name, but for few flaws, and series are series."""
        series, rows = self.series(names), len(self.stamps)
        left = rows - _count(_join_codes([self.stamps, series]))  # rows whose time and series both stand above
        if _count(series) > rows / SHORTEST or left > min(LEFT_ROWS * rows, LEFT_REPEATS * self.repeats):
            return False
        if all(map(NAMED.search, names)):
            return True
        if self.repeats < FEW_REPEATS * rows:
            return False
        order = np.lexsort((self.stamps, series))
        same = np.diff(series[order]) == 0
        successive = (np.diff(self.stamps[order])[same] == 1).mean() if same.any() else 0.0
        return bool(successive >= SUCCESSIVE)

    def differs(self, name: str, ids: tuple[str, ...]) -> bool:
        """Whether a column says more than its time, as a calendar does, and than its series, as a size of a shop."""
        parts = (self.stamps, self.series(ids))
        return all(_count(_join_codes([part, self.table.columns[name].codes])) > _count(part) for part in parts)

    def holds_numbers(self, name: str) -> bool:
        """Whether a column holds numbers, and no dates."""
        column = self.table.columns[name]
        return is_numeric_dtype(column.cells) or (not column.looks_like_time and column.holds_numbers)


def _join_codes(columns: Sequence[Codes]) -> Codes:
    """One code for each combination; where they leave many codes unused, they are counted anew."""
    joined = columns[0]
    for each in columns[1:]:
        joined = joined.astype(np.int64) * (int(each.max()) + 1) + each
        if not _is_dense(joined):
            joined = np.asarray(pd.factorize(joined)[0], dtype=np.int64)
    return joined


def _is_dense(codes: Codes) -> bool:
    return bool(codes.max() < 4 * len(codes))


def _count(codes: Codes) -> int:
    if not _is_dense(codes):
        return len(pd.unique(codes))
    seen = np.zeros(int(codes.max()) + 1, dtype=bool)
    seen[codes] = True
    return int(seen.sum())
