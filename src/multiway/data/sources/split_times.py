"""Times whose parts stand in several columns, a date and a clock or a year, a month and so on, made into one column."""

import dataclasses
import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Unreadable, listed
from multiway.data.options import FileOptions
from multiway.data.sources.cells import TIME_NAMES, RawTable, as_text, parse_cells
from multiway.data.sources.times import looks_like_time, parse_times

PARTS = ("year", "month", "day", "hour", "minute")
"""Names of columns with a part of a date; each but the first two may be absent, and then so are those behind it."""
RANGES = {"year": (1900, 2200), "month": (1, 12), "day": (1, 31), "hour": (0, 24), "minute": (0, 59)}
"""The least and the largest number of each part; hour 24 is midnight, as where hours are named by their ends."""
CLOCKS = ("time", "hour", "hr")
"""Names of columns with a time of day next to a date."""
CLOCK = re.compile(r"\d{1,2}[:.]\d\d([:.]\d\d)?( ?[AaPp][Mm])?")
LOOKED_AT = 1000
"""Rows that show whether cells are times of day."""
WHOLE_MONTHS = tuple(pd.date_range("2000-01-01", periods=12, freq="MS").month_name().str.lower())
MONTHS = {name[:letters]: month for letters in (3, None) for month, name in enumerate(WHOLE_MONTHS, start=1)}
"""Numbers of months by their names, whole and of three letters."""


def with_joined_times(table: RawTable, time: str | None, options: FileOptions, findings: Findings) -> RawTable:
    """The same with one column of times in the place of their parts; a table without parts as it is.

    Dates that differ in all rows need no clock, unless the training had one.

    time: A column that is said to hold the times.
    """
    parts = parts_of_times(table)
    if not parts or time not in (None, " ".join(parts)):
        return table
    is_whole = parts[0].lower() != PARTS[0]
    if is_whole and time is None and table.frame[parts[0]].is_unique:
        return table
    joined = _date_and_clock(table, parts[0], parts[1], options) if is_whole else _dates(table, parts)
    if joined is None:
        return table
    findings.add("time", "note", f"columns {listed(parts)} are parts of one time")
    frame = table.frame.drop(columns=parts)
    frame.insert(0, " ".join(parts), joined)
    return dataclasses.replace(table, frame=frame)


def parts_of_times(table: RawTable) -> list[str]:
    """Columns that hold parts of the times by their names, the largest part first; none where one holds whole times."""
    own = {name.lower(): name for name in reversed(table.names)}
    if not own.keys() & {PARTS[0], *CLOCKS}:
        return []
    dates = [name for name in table.names if name.lower() not in PARTS and _is_date(table.frame[name])]
    if dates:
        clock = next((own[name] for name in CLOCKS if name in own and own[name] != dates[0]), None)
        return [] if clock is None else [dates[0], clock]
    absent = next((place for place, part in enumerate(PARTS) if part not in own), len(PARTS))
    others = own.keys() & set(TIME_NAMES) - set(PARTS)
    return [own[part] for part in PARTS[:absent]] if absent > 1 and not others else []


def _is_date(raw: pd.Series) -> bool:
    """Whether a column holds dates, and not times of day alone, which points would make dates."""
    head = raw.head(LOOKED_AT)
    return looks_like_time(raw) and not (_is_clock(head) and as_text(head).str.contains(":", regex=False).all())


def _is_clock(raw: pd.Series) -> bool:
    text = as_text(raw)
    return bool(text[text != ""].map(CLOCK.fullmatch).notna().all())


def _dates(table: RawTable, parts: list[str]) -> pd.Series | None:
    """Times of a year, a month and what else there is; None where a cell is no such part."""
    numbers = {name.lower(): _numbers(table.frame[name], name.lower()) for name in parts}
    if any(each is None for each in numbers.values()):
        return None
    own = pd.DataFrame({"day": 1, "hour": 0, "minute": 0} | numbers, index=table.frame.index)
    days = pd.to_datetime(own[["year", "month", "day"]], errors="coerce")
    return days + pd.to_timedelta(60 * own["hour"] + own["minute"], unit="min")


def _numbers(raw: pd.Series, part: str) -> NDArray[np.int64] | None:
    """Whole numbers of a part of a date, names of months among them; None where a cell is no such number."""
    text = as_text(raw).str.lower()
    words = [str(MONTHS.get(cell, cell)) for cell in text]
    values = parse_cells(pd.Series(words, dtype="str") if part == "month" else text)[0]
    low, high = RANGES[part]
    is_whole = np.isfinite(values).all() and (values == np.round(values)).all()
    return values.astype(np.int64) if is_whole and ((values >= low) & (values <= high)).all() else None


def _date_and_clock(table: RawTable, date: str, clock: str, options: FileOptions) -> pd.Series | None:
    """Dates with the time of day behind them; None where dates have one already, or there is no clock."""
    raw, hours = table.frame[date], table.frame[clock]
    is_stamps = pd.api.types.is_datetime64_any_dtype(raw)
    days = raw.dt.strftime("%Y-%m-%d").where(raw.dt.normalize() == raw) if is_stamps else as_text(raw)
    if days.isna().any() or days.str.contains(":", regex=False).any():
        return None
    if _is_clock(hours):
        return days + " " + as_text(hours).str.replace(".", ":", regex=False)
    numbers = _numbers(hours, "hour")
    try:
        stamps, good = parse_times(table, date, options, Findings(""))
    except Unreadable:
        return None
    if numbers is None or not good.all() or not isinstance(stamps, pd.DatetimeIndex):
        return None
    return pd.Series(stamps + pd.to_timedelta(numbers, unit="h"), raw.index)
