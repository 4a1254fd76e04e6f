"""Which columns of a long table say whose a row is, and which one holds its value."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, list_some
from multiway.data.options import ReadOptions
from multiway.data.sources.bytes import Itself, once
from multiway.data.sources.cells import ID_NAMES, RawTable, as_text
from multiway.data.sources.columns import require_column, require_columns, usual_column
from multiway.data.sources.times import looks_like_time
from multiway.errors import Fix

VALUE_NAMES = ("y", "value", "target", "values")
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
    key = (find_long, Itself(table.frame), time, Itself(times), options.id_column, options.value_column)
    return once(key, findings, lambda own: _long(table, time, times, options, own))


def _long(table: RawTable, time: str | None, times: pd.Index, options: ReadOptions, findings: Findings) -> Long | None:
    keys = Keys(table, times)
    others = [name for name in table.names if name != time]
    if options.id_column is not None:
        ids = tuple(require_columns(others, options.id_column, "id_column", findings))
    else:
        ids = _ids(None if time is None else keys, [name for name in others if name != options.value_column])
    if ids or options.value_column is not None:
        _refuse_none(ids, others, findings)
        left = [name for name in others if name not in ids]
        return Long(ids=ids, value=_value(keys, ids, left, options.value_column, findings))
    return None


def _refuse_none(ids: tuple[str, ...], others: Sequence[str], findings: Findings) -> None:
    if not ids:
        fix = (f"Set id_column to one of {list_some(others)} (", Fix("read.id_column", like="NAME"), ").")
        raise findings.fatal("columns", "no column of series names was found", fix)


def _ids(keys: "Keys | None", others: Sequence[str]) -> tuple[str, ...]:
    """The fewest columns that tell rows of one time apart; those with the usual names where there are such."""
    known = usual_column(others, ID_NAMES)
    usual = () if known is None or usual_column(others, VALUE_NAMES) is None else (known,)
    if keys is None or not keys.repeats:
        return usual
    return next(filter(keys.explain, keys.sets(usual, [name for name in others if name not in usual])), usual)


class Keys:
    """Columns of a table that may tell apart the rows of one time."""

    def __init__(self, table: RawTable, times: pd.Index) -> None:
        self.table, self.frame, self.times = table, table.frame, times
        frame = table.frame
        self.codes = functools.cache(functools.partial(_codes_of, frame))  # no method: codes go with the keys

    @functools.cached_property
    def stamps(self) -> Codes:
        """Times by their place among all of them."""
        return _codes(pd.Series(self.times))

    @functools.cached_property
    def repeats(self) -> int:
        """Rows whose time stands above already."""
        return len(self.stamps) - _count(self.stamps)

    @property
    def left(self) -> float:
        """Repeats that may be left where columns explain the others."""
        return min(LEFT_ROWS * len(self.stamps), LEFT_REPEATS * self.repeats)

    def sets(self, first: tuple[str, ...], names: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Columns together: few before many, then those named as series are, then words before numbers."""
        if first:
            yield first
        ranked = sorted(filter(self._may_name, names), key=lambda name: (not NAMED.search(name), self._counts(name)))
        for size in range(1, MOST_KEYS + 1 - len(first)):
            for more in itertools.combinations(ranked[:MOST_CANDIDATES], size):
                yield (*first, *sorted(more, key=list(names).index))

    def explain(self, names: tuple[str, ...]) -> bool:
        """Whether a time stands once in each series that the columns name, but for few flaws, and series are series."""
        series = self.series(names)
        if _count(series) > len(series) / SHORTEST or self._count_left(series) > self.left:
            return False
        if all(map(NAMED.search, names)):
            return True
        return self.repeats >= FEW_REPEATS * len(self.stamps) and self._successive(series) >= SUCCESSIVE

    def _count_left(self, series: Codes) -> int:
        """Rows whose time and series both stand above already."""
        return len(self.stamps) - _count(_join_codes([self.stamps, series]))

    def series(self, names: tuple[str, ...]) -> Codes:
        """What the cells of some columns together say of every row."""
        return _join_codes([self.codes(name) for name in names])

    def differs(self, name: str, ids: tuple[str, ...]) -> bool:
        """Whether a column says more than its time, as a calendar does, and than its series, as a size of a shop."""
        parts = (self.stamps, self.series(ids))
        return all(_count(_join_codes([part, self.codes(name)])) > _count(part) for part in parts)

    def holds_numbers(self, name: str) -> bool:
        """Whether a column holds numbers, and no dates."""
        is_read = pd.api.types.is_numeric_dtype(self.frame[name])
        return is_read or (not looks_like_time(self.frame[name]) and self.table.column(name).holds_numbers)

    def _counts(self, name: str) -> bool:
        return pd.api.types.is_numeric_dtype(self.frame[name])

    def _may_name(self, name: str) -> bool:
        """Whether a column has words or whole numbers, few different ones, that differ within a time."""
        raw = self.frame[name]
        if looks_like_time(raw) or (self._counts(name) and not bool((raw.dropna() % 1 == 0).all())):
            return False
        codes = self.codes(name)
        differ = _count(_join_codes([self.stamps, codes])) > _count(self.stamps)
        return differ and _count(codes) <= len(raw) / SHORTEST

    def _successive(self, series: Codes) -> float:
        """Share of rows that stand one time after the row before them of their series."""
        order = np.lexsort((self.stamps, series))
        same = np.diff(series[order]) == 0
        return float((np.diff(self.stamps[order])[same] == 1).mean()) if same.any() else 0.0


def _codes_of(frame: pd.DataFrame, name: str) -> Codes:
    return _codes(frame[name])


def _codes(raw: pd.Series) -> Codes:
    """Values by their place among all of them, in order."""
    values = as_text(raw) if raw.dtype == object else raw
    return np.asarray(pd.factorize(values, sort=True, use_na_sentinel=False)[0], dtype=np.int32)


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


def _value(keys: Keys, ids: tuple[str, ...], left: list[str], named: str | None, findings: Findings) -> str:
    """The named column, one with a usual name, or the only one of numbers that differs by time and series."""
    if named is not None:
        return require_column(left, named, "value_column", findings)
    usual = usual_column(left, VALUE_NAMES)
    numbers = [name for name in left if keys.holds_numbers(name)]
    if usual is not None:
        return usual
    own = numbers if len(numbers) < 2 else [name for name in numbers if keys.differs(name, ids)]
    chosen = own[0] if len(own) == 1 else usual_column(own, MEASURES)
    if chosen is None:
        fix = (f"Set value_column to one of {list_some(own or left)} (", Fix("read.value_column", like="NAME"), ").")
        raise findings.fatal("columns", "the column of values is not clear", fix)
    return chosen
