"""A column of dates as days since 1970, by the clock that its cells show."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings
from multiway.data.sources.cells import RawTable, words
from multiway.data.sources.options import FileOptions
from multiway.data.sources.times import ISO, QUARTER, best_reading, quarters_of, read_stamps
from multiway.errors import Fix

QUARTERS = "quarters"
"""The form of dates such as 2003Q1, which are the first days of quarters."""
CLOCK = r"(:\d\d(?:\.\d+)?)\s*(?:Z|[+-]\d\d:?\d\d)$"
"""A time of day with its offset from UTC, which the clock does not show."""
EPOCH, DAY = np.datetime64("1970-01-01", "us"), np.timedelta64(1, "D")


def read_dates(
    table: RawTable, column: str, options: FileOptions, findings: Findings, form: str | None = None
) -> tuple[NDArray[np.float64], str]:
    """Days since 1970, NaN where a cell is empty, and the form of the dates; cells of another form are findings.

    form: That of the training; the one that fits most cells if not given.
    """
    raw = table.frame[column]
    if isinstance(raw.dtype, pd.PeriodDtype):
        raw = raw.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(raw):
        return days_of(pd.DatetimeIndex(raw)), form or ISO
    text = words(raw).astype("string").str.replace(CLOCK, r"\1", regex=True)
    text = text.where(text != "")
    if form is None:
        form, stamps = _first_reading(text, table, column, options, findings)
    else:
        stamps = _known_reading(text, form)
    _report_others(table, column, np.asarray(stamps.isna()) & text.notna().to_numpy(), findings)
    return days_of(stamps), form


def days_of(stamps: pd.DatetimeIndex) -> NDArray[np.float64]:
    """Days since 1970 by the clock of the stamps' zone; NaN where there is none."""
    local = stamps.tz_localize(None).as_unit("us").to_numpy()
    days = (local - EPOCH) / DAY
    return np.where(np.isnat(local), np.nan, days)


def _first_reading(
    text: pd.Series, table: RawTable, column: str, options: FileOptions, findings: Findings
) -> tuple[str, pd.DatetimeIndex]:
    if not text.notna().any():
        return ISO, read_stamps(text, ISO)
    if text.str.fullmatch(QUARTER, case=False, na=False)[text.notna()].mean() > 0.5:
        return QUARTERS, _known_reading(text, QUARTERS)
    return best_reading(text, table, column, options, findings, "read.drop")


def _known_reading(text: pd.Series, form: str) -> pd.DatetimeIndex:
    """Times by the form of the training, else by the standard form, which cannot be misread."""
    if form == QUARTERS:
        return quarters_of(text.where(text.str.fullmatch(QUARTER, case=False, na=False)))
    stamps, standard = read_stamps(text, form), read_stamps(text, ISO)
    return stamps.where(stamps.notna(), standard)


def _report_others(table: RawTable, column: str, bad: NDArray[np.bool_], findings: Findings) -> None:
    rows = np.flatnonzero(bad & ~table.broken)
    if len(rows):
        places = [table.place(int(row), column, table.frame[column].iloc[row]) for row in rows[:20]]
        rule = f"{len(rows)} of {len(bad)} dates are not written like the others"
        fix = ("Write them as 2024-01-31 23:00, empty them, or leave the column out (", Fix("read.drop", column), ").")
        findings.add("dates", "error", rule, fix, places, len(rows))
