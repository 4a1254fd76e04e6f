"""Tables whose header holds the times, a series in each row, made into a row for each series and time."""

import dataclasses
import itertools
import re

import numpy as np
import pandas as pd

from multiway.data.findings import Findings, Unreadable, listed, quoted
from multiway.data.sources.cells import RawTable
from multiway.data.sources.columns import column_of_times
from multiway.data.sources.exports import DIGITS
from multiway.data.sources.options import FileOptions
from multiway.data.sources.split_times import WHOLE_MONTHS, with_joined_times
from multiway.data.sources.tables import load_table
from multiway.data.sources.times import looks_like_time, parse_times

TIME, MONTH, VALUE = "time", "month", "value"
"""Columns of the table that is made."""
FEWEST = 6
"""Times in a header, below which it is taken for names."""
OF_YEAR = re.compile(
    r"annual|yearly|ann|sum|total|mean|average|avg|ytd|half ?[12]|j-d|d-n|djf|mam|jja|son", re.IGNORECASE
)
"""Columns next to those of months that say something of the year, its halves or its seasons."""
PLAIN = FileOptions()


def times_of_header(table: RawTable, time: str | None = None, options: FileOptions = PLAIN) -> list[str]:
    """Columns that are named by times, where most are and no column holds any; none in other tables.

    time: A column that is said to hold the times. One that is not there is the header, which may then hold few.
    """
    if time not in (None, TIME) or {TIME, VALUE} & set(table.names):
        return []
    named = _times_among(table.names, fewest := FEWEST if time is None else 1, options)
    is_most = fewest <= len(named) < len(table.names) and (time == TIME or len(table.names) <= 2 * len(named))
    return named if is_most and column_of_times(table.drop(named)) is None else []


def _times_among(names: list[str], fewest: int, options: FileOptions) -> list[str]:
    """Names that are times of one form, each of which stands once; a few are looked at before all."""
    digits = [name for name in names if DIGITS.fullmatch(name)]
    pool = digits if 2 * len(digits) >= len(names) else [name for name in names if re.search(r"\d", name)]
    if len(pool) < fewest or not (digits or looks_like_time(pd.Series(pool[len(pool) // 2 :]))):
        return []
    try:
        times, good = parse_times(RawTable.whole(pd.DataFrame({TIME: pool})), TIME, options, Findings(""))
    except Unreadable:
        return []
    return list(itertools.compress(pool, good)) if times.is_unique else []


def with_times_in_rows(table: RawTable, time: str | None, options: FileOptions, findings: Findings) -> RawTable:
    """A row for each series and time, where the header holds the times; another table as it is."""
    named = times_of_header(table, time, options)
    if not named:
        return table
    said = f"columns '{quoted(named[0])}' to '{quoted(named[-1])}' are {len(named)} times, and each row is a series"
    findings.add("layout", "note", said)
    return _in_rows(table, named, TIME)


def with_months_in_rows(table: RawTable, time: str | None, findings: Findings) -> RawTable:
    """A row for each year and month, where rows are years and columns the twelve months; another table as it is."""
    own = {name.lower(): name for name in table.names}
    forms = ([month[:letters] for month in WHOLE_MONTHS] for letters in (3, None))
    named = next(([own[month] for month in months] for months in forms if own.keys() >= {*months}), [])
    if not named or "year" not in own or {MONTH, VALUE} & own.keys():
        return table
    if time not in (None, f"{own['year']} {MONTH}"):
        return table
    findings.add("layout", "note", f"rows are years, and columns '{named[0]}' to '{named[-1]}' their months")
    if sums := [name for name in table.names if OF_YEAR.fullmatch(name)]:
        findings.add("layout", "note", f"{listed(sums)}: of several months, and left out")
    return _in_rows(table.drop(sums), named, MONTH)


def _in_rows(table: RawTable, named: list[str], called: str) -> RawTable:
    """The values of some columns one below the other, row by row, with the names of the columns."""
    count = len(table.frame)
    frame = table.frame.melt([name for name in table.names if name not in named], named, called, VALUE)
    order = np.arange(len(frame)).reshape(len(named), count).T.ravel()
    rows = np.repeat(np.arange(count), len(named))
    frame = frame.iloc[order].reset_index(drop=True)
    texts = {name: text.take(rows) for name, text in table.texts.items() if name in frame.columns}
    return dataclasses.replace(table, frame=frame, rows=table.rows[rows], broken=table.broken[rows], texts=texts)


def load_series_table(source: object, options: FileOptions, time: str | None, findings: Findings) -> RawTable:
    """A table of series, with a row for each time and one column of times.

    time: A column that is said to hold the times.
    """
    table = with_months_in_rows(load_table(source, options, findings), time, findings)
    table = with_joined_times(table, time, options, findings)
    return with_times_in_rows(table, time, options, findings)
