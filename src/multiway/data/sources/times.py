"""Cells as times: stamps under one format for all rows, or whole numbers."""

import datetime
import re
import zoneinfo
from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, quote
from multiway.data.sources.cells import EXACT_INTEGERS, by_text, distinct_cells
from multiway.data.sources.forms import INTERVAL, PERIODS, QUARTERS, forms_of
from multiway.errors import Fix

ISO = "ISO8601"
Unit = Literal["s", "ms", "us"]
UNITS: dict[Unit, int] = {"s": 1, "ms": 1_000, "us": 1_000_000}
"""Units of times that are counted from 1970 on, and how many there are in a second."""
COUNTED = (315_532_800, 4_102_444_800)
"""Seconds from 1970 to 1980 and to 2100: whole numbers between them are times."""
EXCEL_DAYS, EXCEL_START = (20_000, 80_000), "1899-12-30"
"""Days of Excel from 1954 to 2119, and the day that is 0."""
DATED = re.compile(r"date|datum|fecha|data$|^day$|^tag$|^dt$|^ds$", re.IGNORECASE)
"""Names of columns of dates."""
MIDNIGHT = r"(?<![\d:])24(?=:00(?::00(?:\.0*)?)?(?!\d))"
"""The hour of the end of a day."""
First = Callable[..., Place]
WRITE = "Write every time in one form, such as 2024-01-31 23:00."


def read_times(cells: pd.Series, first: First, day_first: bool | None, findings: Findings, field: str) -> pd.Index:
    """Times of cells, or whole numbers; missing where a cell is none.

    first: Where the first cell stands, with a value there.
    field: Of the config, that names the column of times.
    """
    if isinstance(cells.dtype, pd.PeriodDtype):
        return pd.DatetimeIndex(cells.dt.to_timestamp())
    if pd.api.types.is_datetime64_any_dtype(cells):
        return pd.DatetimeIndex(cells)
    if pd.api.types.is_numeric_dtype(cells):
        return _read_whole_numbers(cells.to_numpy(np.float64, na_value=np.nan), str(cells.name), findings)
    text = by_text(cells, lambda some: some.astype("string").str.strip())
    present = text.notna() & (text != "")
    if not present.any():
        fix = ("Name another column (", Fix(field, like="NAME"), ").")
        raise findings.fatal("time", "the time column is empty", fix, [first()])
    text = text if present.all() else text.where(present)
    starts = starts_of(text)
    if starts is not text:
        findings.add("time", "note", f"times are intervals such as {text[present].iloc[0]}, and each is its start")
        text = starts
    if (kind := period_of(text)) is not None:
        return first_days(text, kind)
    if distinct_cells(text)[0].dropna().str.fullmatch(r"[+-]?\d+(\.0*)?").all():
        values = pd.to_numeric(text).to_numpy(np.float64, na_value=np.nan)
        return _read_whole_numbers(values, str(cells.name), findings)
    stamps = best_reading(text, cells, first, day_first, findings, field)[1]
    if not _is_zoned(text):
        return stamps
    stamps, said = in_own_zone(stamps, text)
    findings.add("time", "note", said)
    return stamps


def is_day_first(raw: pd.Series, times: pd.Index) -> bool | None:
    """Whether dates of numbers were read day before month; None where neither comes first, or they do not tell."""
    if not isinstance(times, pd.DatetimeIndex) or raw.empty or re.match(r"\s*\d\d?[/.-]\d", str(raw.iloc[0])) is None:
        return None
    first = pd.to_numeric(by_text(raw, lambda cells: cells.astype("string").str.extract(r"(\d+)", expand=False)))
    is_day, is_month = ((first.to_numpy() == part).all() for part in (times.day, times.month))
    return bool(is_day) if is_day != is_month else None


def starts_of(text: pd.Series) -> pd.Series:
    """The starts of intervals, where all cells are intervals; else the cells themselves."""
    cells = distinct_cells(text)[0].dropna()
    if not len(cells) or not cells.str.fullmatch(INTERVAL).all():
        return text
    return by_text(text, lambda some: some.str.extract(f"^{INTERVAL}$")[0])


def _read_whole_numbers(values: NDArray[np.float64], name: str, findings: Findings) -> pd.Index:
    """Whole numbers; dates where all are counted from 1970 on, are days of Excel, or are written as 20240131 or 202401.

    name: Of the column; one of dates may hold days of Excel.
    """
    known = values[~np.isnan(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    if EXCEL_DAYS[0] <= low and high <= EXCEL_DAYS[1] and re.search(DATED, name):
        said = f"numbers such as {known[0]:g} in '{quote(name)}' are read as dates, in days of Excel since 1900"
        findings.add("time", "note", said)
        days = pd.to_datetime(pd.Series(values), unit="D", origin=EXCEL_START)
        return pd.DatetimeIndex(days).round("s")
    with np.errstate(invalid="ignore"):
        values = np.where((values == np.round(values)) & (np.abs(values) <= EXACT_INTEGERS), values, np.nan)
        units = {unit: (values >= COUNTED[0] * per) & (values <= COUNTED[1] * per) for unit, per in UNITS.items()}
    known = values[~np.isnan(values)]
    used = [unit for unit, are in units.items() if are.any()]
    if len(known) and sum(are.sum() for are in units.values()) == len(known):
        stamps = pd.Series(pd.NaT, index=range(len(values)), dtype="datetime64[us]")
        for unit in used:
            stamps[units[unit]] = pd.to_datetime(pd.Series(values[units[unit]]).astype("Int64"), unit=unit).to_numpy()
        said = f"whole numbers such as {int(known[0])} are read as times, in {' and '.join(used)} since 1970"
        findings.add("time", "note", said)
        return pd.DatetimeIndex(stamps)
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    for form, least, most in (("%Y%m%d", 19000101, 22001231), ("%Y%m", 190001, 220012)):
        if len(known) and low >= least and high <= most:
            dates = pd.to_datetime(pd.Series(known.astype(np.int64).astype(str)), format=form, errors="coerce")
            if not dates.isna().any():
                findings.add("time", "note", f"whole numbers such as {int(known[0])} are read as dates")
                stamps = pd.Series(pd.NaT, index=range(len(values)), dtype=dates.dtype)
                stamps[~np.isnan(values)] = dates.to_numpy()
                return pd.DatetimeIndex(stamps)
    return pd.Index(values)


def best_reading(
    text: pd.Series, cells: pd.Series, first: First, day_first: bool | None, findings: Findings, field: str
) -> tuple[str, pd.DatetimeIndex]:
    """The form that fits most rows, and the times by it, UTC where they have offsets; two that fit all are refused.

    cells: As they came.
    first: Where the first of them stands, with a value there.
    """
    zoned = _is_zoned(text)
    iso = read_stamps(text, ISO, zoned=zoned)
    readings = {ISO: iso}
    failures = {ISO: _count_failures(iso, text)}
    if failures[ISO]:
        sample = text.dropna().drop_duplicates()
        sample = pd.concat([sample.iloc[:3], sample.iloc[3 :: max(1, len(sample) // 5)]])
        readings |= {form: read_stamps(text, form, zoned=zoned) for form in forms_of(list(sample), day_first)}
        failures = {form: _count_failures(times, text) for form, times in readings.items()}
    fewest = min(failures.values())
    if fewest == len(text.dropna()):
        fix = (f"{WRITE} Or name another column (", Fix(field, like="NAME"), ").")
        raise findings.fatal("time", "the times cannot be understood", fix, [first(text.iloc[0])])
    # Where nothing fits better than the standard form, a stray stamp is a stray stamp.
    best = {form: times for form, times in readings.items() if failures[form] == fewest}
    if ISO in best:
        return ISO, best[ISO]
    form, times = next(iter(best.items()))
    if all(each.equals(times) for each in best.values()):
        return form, times
    left = {form: times for form, times in best.items() if times.dropna().is_monotonic_increasing}
    left, why = (left, "run forwards") if len(left) == 1 else (_even_readings(best), "follow one step")
    if len(left) != 1:
        fix = ("Set day_first to true or false (", Fix("read.day_first", True), ").")
        raise findings.fatal("time", "day and month can be read either way", fix, [first(cells.iloc[0])])
    form, times = next(iter(left.items()))
    order = "day before month" if form.index("%d") < form.index("%m") else "month before day"
    findings.add("time", "note", f"dates are read {order}, because then they {why}")
    return form, times


def _is_zoned(text: pd.Series) -> bool:
    return bool(distinct_cells(text)[0].str.extract(OFFSET, expand=False).notna().any())


def _even_readings(readings: dict[str, pd.DatetimeIndex]) -> dict[str, pd.DatetimeIndex]:
    """Readings whose times are one step of the calendar apart; where points stand, that of days before months.

    A file of the first days of months reads as the first days of years otherwise.
    """
    dotted = {form: times for form, times in readings.items() if re.search(r"%d\.%m\.", form)}
    if dotted:
        return dotted
    even = {}
    for form, stamps in readings.items():
        times = stamps.dropna().unique().sort_values()
        months = np.diff(np.asarray(12 * times.year + times.month))
        has_months = len(set(times.day)) == 1 and len(set(months)) == 1
        if len(times) > 2 and (has_months or len(set(np.diff(times.asi8))) == 1):
            even[form] = stamps
    return even


def read_stamps(text: pd.Series, form: str, *, zoned: bool = False) -> pd.DatetimeIndex:
    """Parse strictly, NaT where a row does not fit; 24:00 is the end of its day."""

    def parse(cells: pd.Series) -> pd.Series:
        stamps = pd.to_datetime(cells, format=form, errors="coerce", utc=zoned)
        left = cells[stamps.isna() & cells.notna()]
        ends = left[left.str.contains(MIDNIGHT)]
        if len(ends):
            starts = pd.to_datetime(
                ends.str.replace(MIDNIGHT, "00", regex=True), format=form, errors="coerce", utc=zoned
            )
            stamps[ends.index] = starts + pd.Timedelta(days=1)
        return stamps

    try:
        return pd.DatetimeIndex(by_text(text, parse))
    except (ValueError, OverflowError):
        return pd.DatetimeIndex([pd.NaT] * len(text))


def _count_failures(times: pd.DatetimeIndex, text: pd.Series) -> int:
    return int((np.asarray(times.isna()) & text.notna().to_numpy()).sum())


OFFSET = r":\d\d(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)$"
USUAL = (
    "Europe/London",
    "Europe/Berlin",
    "Europe/Helsinki",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Halifax",
    "America/Sao_Paulo",
    "Australia/Sydney",
    "Australia/Adelaide",
    "Pacific/Auckland",
)
"""Zones that are tried first: many others share their clocks, and the best known should name them."""
SAMPLE = 200


def in_own_zone(stamps: pd.DatetimeIndex, text: pd.Series) -> tuple[pd.DatetimeIndex, str]:
    """Stamps in UTC brought to the zone of their texts, and what is said of it.

    One offset is a zone by itself. Several are those of the first zone whose clocks show them all; UTC stays where no
    zone does.
    """
    found = text.str.extract(OFFSET, expand=False).str.replace(":", "").str.replace("Z", "+0000")
    hours, minutes = (pd.to_numeric(part).to_numpy(float, na_value=np.nan) for part in (found.str[1:3], found.str[3:5]))
    sign = np.where((found.str[0] == "-").to_numpy(bool, na_value=False), -1, 1)
    offsets = np.asarray(sign * (60 * hours + minutes))
    known = ~np.asarray(stamps.isna()) & ~np.isnan(offsets)
    different = np.unique(offsets[known])
    if len(different) == 1:
        zone = datetime.timezone(datetime.timedelta(minutes=float(different[0])))
        local = stamps if different[0] == 0 else stamps.tz_convert(zone)
        return local, f"times have the offset {zone} and keep it"
    name = _find_zone(stamps[known], offsets[known])
    if name is None:
        return stamps, "times have UTC offsets of no one zone and are brought to UTC"
    return stamps.tz_convert(name), f"times have the offsets of {name} and keep them"


def _find_zone(stamps: pd.DatetimeIndex, offsets: NDArray[np.float64]) -> str | None:
    """The first zone whose clocks show these offsets, seen on some stamps and then on all."""

    def shows(name: str, some: NDArray[np.int64] | slice) -> bool:
        try:
            local = stamps[some].tz_convert(name)
        except (OSError, ValueError, KeyError):  # a name that this machine lists and cannot read
            return False
        shown = (local.tz_localize(None) - stamps[some].tz_localize(None)) / pd.Timedelta(minutes=1)
        return bool((np.asarray(shown) == offsets[some]).all())

    turns = np.flatnonzero(np.diff(offsets))
    few = np.unique([*turns, *(turns + 1), *np.linspace(0, len(stamps) - 1, SAMPLE).astype(int)])
    others = sorted(zoneinfo.available_timezones() - set(USUAL))
    return next((name for name in (*USUAL, *others) if shows(name, few) and shows(name, slice(None))), None)


def period_of(text: pd.Series) -> str | None:
    """The kind of period that most cells with text name; None where they are no periods."""
    present = text.dropna()
    return next((kind for kind in PERIODS if len(present) and _name_times(present, kind).mean() > 0.5), None)


def first_days(text: pd.Series, kind: str) -> pd.DatetimeIndex:
    """First days of periods of one kind; NaT for other cells."""
    text = text.where(_name_times(text, kind))
    year = text.str.extract(r"(?<!\d)(\d{4})(?!\d)", expand=False)
    if kind == QUARTERS:
        month = pd.to_numeric(text.str.extract(r"(?i)Q([1-4])", expand=False)) * 3 - 2
        days, form = year + "-" + month.astype("string"), "%Y-%m"
    else:
        week = text.str.extract(r"(?i)W(\d{1,2})", expand=False).str.zfill(2)
        days, form = year + "-" + week + "-1", "%G-%V-%u"
    return pd.DatetimeIndex(pd.to_datetime(days, format=form, errors="coerce"))


def _name_times(text: pd.Series, kind: str) -> pd.Series:
    return by_text(text, lambda cells: cells.str.fullmatch(PERIODS[kind], case=False, na=False))
