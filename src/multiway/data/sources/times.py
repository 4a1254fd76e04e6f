"""From a raw column to times: stamps under one format for all rows, or whole numbers."""

import datetime
import itertools
import re
import warnings
import zoneinfo
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.tseries.api import guess_datetime_format

from multiway.data.findings import Findings, list_some
from multiway.data.options import FileOptions
from multiway.data.sources.bytes import Itself, once
from multiway.data.sources.cells import EXACT_INTEGERS, RawTable, by_text, distinct_cells
from multiway.errors import Fix

ISO = "ISO8601"
MONTHS = (
    "%b %Y",
    "%B %Y",
    "%b-%Y",
    "%B-%Y",
    "%b-%y",
    "%Y %b",
    "%Y-%b",
    "%YM%m",
    "%Y-M%m",
    "%m/%Y",
    "%m-%Y",
    "%d-%b-%y",
    "%d %b %y",
)
"""Ways to write months, and days with the name of a month, that pandas does not guess."""
NUMERIC = re.compile(r"(\d+)([/.-])\d{1,2}\2(\d+)( \d{1,2}:\d\d(:\d\d)?( ?[AP]M)?)?", re.IGNORECASE)
"""Dates of numbers; pandas does not guess those with years of two digits or with AM and PM."""
Unit = Literal["s", "ms", "us"]
MOST_BELOW = 3
"""Rows below a table that are no part of it."""
SHORT_YEARS = ["%d %m %y", "%m %d %y", "%y %m %d"]
UNITS: dict[Unit, int] = {"s": 1, "ms": 1_000, "us": 1_000_000}
"""Units of times that are counted from 1970 on, and how many there are in a second."""
COUNTED = (315_532_800, 4_102_444_800)
"""Seconds from 1970 to 1980 and to 2100: whole numbers between them are times."""
WRITE = "Write every time in one form, such as 2024-01-31 23:00."


def parse_times(
    table: RawTable, column: str, options: FileOptions, findings: Findings, *, field: str = "read.time_column"
) -> tuple[pd.Index, NDArray[np.bool_]]:
    """Times of the rows that have a sound one, and which rows those are; the others are findings.

    field: Of the config, that names the column of times.
    """
    key = (parse_times, Itself(table.frame), column, options.day_first, field)
    return once(key, findings, lambda own: _parse(table, column, options, own, field))


def _parse(
    table: RawTable, column: str, options: FileOptions, findings: Findings, field: str
) -> tuple[pd.Index, NDArray[np.bool_]]:
    raw = table.frame[column]
    if isinstance(raw.dtype, pd.PeriodDtype):
        raw = raw.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(raw):
        stamps: pd.Index = pd.DatetimeIndex(raw)
    elif pd.api.types.is_numeric_dtype(raw):
        stamps = _whole(raw.to_numpy(np.float64, na_value=np.nan), findings)
    else:
        stamps = _from_text(table, column, options, findings, field)
    good = ~np.asarray(stamps.isna())
    _report_bad(table, column, good, findings)
    kept = stamps[good]
    return (_microseconds(kept) if isinstance(kept, pd.DatetimeIndex) else kept.astype(np.int64)), good


def is_day_first(raw: pd.Series, times: pd.Index) -> bool | None:
    """Whether dates of numbers were read day before month; None where neither comes first, or they do not tell."""
    if not isinstance(times, pd.DatetimeIndex) or raw.empty or re.match(r"\s*\d\d?[/.-]\d", str(raw.iloc[0])) is None:
        return None
    first = pd.to_numeric(by_text(raw, lambda cells: cells.astype("string").str.extract(r"(\d+)", expand=False)))
    is_day, is_month = ((first.to_numpy() == part).all() for part in (times.day, times.month))
    return bool(is_day) if is_day != is_month else None


def looks_like_time(raw: pd.Series) -> bool:
    """Whether the first text that is there reads as a date."""
    if pd.api.types.is_datetime64_any_dtype(raw) or isinstance(raw.dtype, pd.PeriodDtype):
        return True
    if pd.api.types.is_numeric_dtype(raw):
        return False
    first = next((text for text in map(str, raw.iloc[:20]) if text.strip()), "")
    return len(first) >= 6 and (period_of(pd.Series([first.strip()])) is not None or bool(_formats([first], None)))


def _microseconds(stamps: pd.DatetimeIndex) -> pd.DatetimeIndex:
    """One unit for all sources, unless nanoseconds are used."""
    coarse = stamps.as_unit("us")
    return coarse if bool((coarse == stamps).all()) else stamps


def _whole(values: NDArray[np.float64], findings: Findings) -> pd.Index:
    """Whole numbers; dates where all are seconds since 1970, or written as 20240131 or 202401."""
    with np.errstate(invalid="ignore"):
        values = np.where((values == np.round(values)) & (np.abs(values) <= EXACT_INTEGERS), values, np.nan)
    known = values[~np.isnan(values)]
    if (unit := _unit(known)) is not None:
        findings.add("time", "note", f"whole numbers such as {int(known[0])} are read as times, in {unit} since 1970")
        return pd.DatetimeIndex(pd.to_datetime(pd.Series(values).astype("Int64"), unit=unit))
    for form, low, high in (("%Y%m%d", 19000101, 22001231), ("%Y%m", 190001, 220012)):
        if len(known) and known.min() >= low and known.max() <= high:
            dates = pd.to_datetime(pd.Series(known.astype(np.int64).astype(str)), format=form, errors="coerce")
            if not dates.isna().any():
                findings.add("time", "note", f"whole numbers such as {int(known[0])} are read as dates")
                stamps = pd.Series(pd.NaT, index=range(len(values)), dtype=dates.dtype)
                stamps[~np.isnan(values)] = dates.to_numpy()
                return pd.DatetimeIndex(stamps)
    return pd.Index(values)


def _unit(values: NDArray[np.float64]) -> Unit | None:
    """The unit in which whole numbers count from 1970 on, where all lie between 1980 and 2100."""
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    return next((unit for unit, per in UNITS.items() if low >= COUNTED[0] * per and high <= COUNTED[1] * per), None)


def _from_text(table: RawTable, column: str, options: FileOptions, findings: Findings, field: str) -> pd.Index:
    text = by_text(table.frame[column], lambda cells: cells.astype("string").str.strip())
    present = text.notna() & (text != "")
    if not present.any():
        fix = ("Name another column (", Fix(field, like="NAME"), ").")
        raise findings.fatal("time", "the time column is empty", fix, [table.place(0, column)])
    text = text if present.all() else text.where(present)
    if (kind := period_of(text)) is not None:
        return first_days(text, kind)
    if distinct_cells(text)[0].dropna().str.fullmatch(r"[+-]?\d+(\.0*)?").all():
        return _whole(pd.to_numeric(text).to_numpy(np.float64, na_value=np.nan), findings)
    return _stamps(text, table, column, options, findings, field)


def _stamps(
    text: pd.Series, table: RawTable, column: str, options: FileOptions, findings: Findings, field: str
) -> pd.DatetimeIndex:
    """Times under the form that fits most rows, in the zone of their texts."""
    stamps = best_reading(text, table, column, options, findings, field)[1]
    if not _is_zoned(text):
        return stamps
    stamps, said = in_own_zone(stamps, text)
    findings.add("time", "note", said)
    return stamps


def best_reading(
    text: pd.Series, table: RawTable, column: str, options: FileOptions, findings: Findings, field: str
) -> tuple[str, pd.DatetimeIndex]:
    """The form that fits most rows, and the times by it, UTC where they have offsets; two that fit all are refused."""
    zoned = _is_zoned(text)
    iso = read_stamps(text, ISO, zoned=zoned)
    readings = {ISO: iso}
    if _failures(iso, text):
        sample = text.dropna().drop_duplicates()
        sample = pd.concat([sample.iloc[:3], sample.iloc[3 :: max(1, len(sample) // 5)]])
        forms = _formats(list(sample), options.day_first)
        readings |= {form: read_stamps(text, form, zoned=zoned) for form in forms}
    fewest = min(_failures(times, text) for times in readings.values())
    best = {form: times for form, times in readings.items() if _failures(times, text) == fewest}
    if fewest == len(text.dropna()):
        place = table.place(0, column, text.iloc[0])
        fix = (f"{WRITE} Or name another column (", Fix(field, like="NAME"), ").")
        raise findings.fatal("time", "the times cannot be understood", fix, [place])
    # Where nothing fits better than the standard form, a stray stamp is a stray stamp.
    return (ISO, best[ISO]) if ISO in best else _settle(best, table, column, findings)


def _is_zoned(text: pd.Series) -> bool:
    return bool(distinct_cells(text)[0].str.extract(OFFSET, expand=False).notna().any())


def _settle(
    best: dict[str, pd.DatetimeIndex], table: RawTable, column: str, findings: Findings
) -> tuple[str, pd.DatetimeIndex]:
    """Of readings that fit equally, take the one whose times run forwards; if that does not settle it, refuse."""
    first, times = next(iter(best.items()))
    if all(each.equals(times) for each in best.values()):
        return first, times
    forwards = {form: times for form, times in best.items() if times.dropna().is_monotonic_increasing}
    forwards, why = (forwards, "run forwards") if len(forwards) == 1 else (_even(best), "follow one step")
    if len(forwards) != 1:
        place = table.place(0, column, table.frame[column].iloc[0])
        rule = "day and month can be read either way"
        raise findings.fatal(
            "time", rule, ("Set day_first to true or false (", Fix("read.day_first", True), ")."), [place]
        )
    form, times = next(iter(forwards.items()))
    order = "day before month" if form.index("%d") < form.index("%m") else "month before day"
    findings.add("time", "note", f"dates are read {order}, because then they {why}")
    return form, times


def _even(readings: dict[str, pd.DatetimeIndex]) -> dict[str, pd.DatetimeIndex]:
    """Readings whose times are one step of the calendar apart; where points stand, that of days before months.

    A file of the first days of months reads as the first days of years otherwise.
    """
    dotted = {form: times for form, times in readings.items() if re.search(r"%d\.%m\.", form)}
    unique = {form: times.dropna().unique().sort_values() for form, times in (dotted or readings).items()}
    if dotted:
        return dotted
    return {form: readings[form] for form, times in unique.items() if len(times) > 2 and _is_even(times)}


def _is_even(times: pd.DatetimeIndex) -> bool:
    """Whether times are as many seconds apart, or as many months."""
    months = np.diff(np.asarray(12 * times.year + times.month))
    return len(set(np.diff(times.asi8))) == 1 or (len(set(times.day)) == 1 and len(set(months)) == 1)


def _formats(sample: list[str], day_first: bool | None) -> list[str]:
    orders = (True, False) if day_first is None else (day_first,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a guess that turns day and month around is checked on every row here
        guesses = [guess_datetime_format(text, dayfirst=order) for text, order in itertools.product(sample, orders)]
    months = (form for form in MONTHS if _reads(sample[0].strip(), form))
    numeric = (form for text in map(str.strip, sample) for form in _numeric(text, day_first) if _reads(text, form))
    return list(dict.fromkeys([*(guess for guess in guesses if guess is not None), *months, *numeric]))


def _reads(text: str, form: str) -> bool:
    return not pd.isna(pd.to_datetime(text, format=form, errors="coerce"))


def _numeric(text: str, day_first: bool | None) -> list[str]:
    """Forms of a date of numbers; a year of two digits may stand first where nothing is said of days."""
    found = NUMERIC.fullmatch(text)
    if found is None:
        return []
    first, mark, last, clock, seconds, half = found.groups()
    orders = ["%Y %m %d"] if len(first) == 4 else ["%d %m %Y", "%m %d %Y"] if len(last) == 4 else SHORT_YEARS
    if day_first is not None and len(first) < 4:
        orders = [order for order in orders if order.startswith("%d" if day_first else "%m")]
    return [order.replace(" ", mark) + _clock(clock, seconds, half) for order in orders]


def _clock(clock: str | None, seconds: str | None, half: str | None) -> str:
    """The form of a time of day behind a date."""
    if clock is None:
        return ""
    return f" {'%I' if half else '%H'}:%M{':%S' if seconds else ''}{(half or '')[:-2]}{'%p' if half else ''}"


def read_stamps(text: pd.Series, form: str, *, zoned: bool = False) -> pd.DatetimeIndex:
    """Parse strictly, NaT where a row does not fit."""
    try:
        return pd.DatetimeIndex(
            by_text(text, lambda cells: pd.to_datetime(cells, format=form, errors="coerce", utc=zoned))
        )
    except (ValueError, OverflowError):
        return pd.DatetimeIndex([pd.NaT] * len(text))


def _failures(times: pd.DatetimeIndex, text: pd.Series) -> int:
    return int((np.asarray(times.isna()) & text.notna().to_numpy()).sum())


def _report_bad(table: RawTable, column: str, good: NDArray[np.bool_], findings: Findings) -> None:
    """Say which rows have no sound time; rows already reported as irregular are passed over."""
    bad, raw = np.flatnonzero(~good & ~table.broken), table.frame[column]
    if not len(bad):
        return
    if _are_below(bad, raw):
        said = (
            f"the last rows say {list_some([str(cell) for cell in raw.iloc[bad]])} in place of times and are left out"
        )
        findings.add("time", "warning", said, places=[table.place(int(row), column) for row in bad])
        return
    places = [table.place(int(row), column, raw.iloc[row]) for row in bad[:20]]
    rule = f"{len(bad)} of {len(raw)} times are absent or not written like the others"
    if not good.any():
        raise findings.fatal("time", rule, WRITE, places, count=len(bad))
    findings.add(
        "time", "error", rule, f"{WRITE} Mixed orders of day and month cannot be told apart.", places, len(bad)
    )


def _are_below(bad: NDArray[np.int64], raw: pd.Series) -> bool:
    """Whether rows without a time are the last few, and say words there, as totals and sources below a table do."""
    is_end = len(bad) <= MOST_BELOW < len(raw) and bad[0] == len(raw) - len(bad)
    return is_end and all(isinstance(cell, str) and re.match(r"\s*[^\W\d]\D*$", cell) for cell in raw.iloc[bad])


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
    offsets = _minutes(text)
    known = ~np.asarray(stamps.isna()) & ~np.isnan(offsets)
    different = np.unique(offsets[known])
    if len(different) == 1:
        zone = datetime.timezone(datetime.timedelta(minutes=float(different[0])))
        local = stamps if different[0] == 0 else stamps.tz_convert(zone)
        return local, f"times have the offset {zone} and keep it"
    name = _zone_of(stamps[known], offsets[known])
    if name is None:
        return stamps, "times have UTC offsets of no one zone and are brought to UTC"
    return stamps.tz_convert(name), f"times have the offsets of {name} and keep them"


def _minutes(text: pd.Series) -> NDArray[np.float64]:
    """Offsets from UTC; NaN where none is written."""
    found = text.str.extract(OFFSET, expand=False).str.replace(":", "").str.replace("Z", "+0000")
    parts = (found.str[1:3], found.str[3:5])
    hours, minutes = (pd.to_numeric(part).to_numpy(float, na_value=np.nan) for part in parts)
    sign = np.where((found.str[0] == "-").to_numpy(bool, na_value=False), -1, 1)
    return np.asarray(sign * (60 * hours + minutes))


def _zone_of(stamps: pd.DatetimeIndex, offsets: NDArray[np.float64]) -> str | None:
    """The first zone whose clocks show these offsets, seen on some stamps and then on all."""
    turns = np.flatnonzero(np.diff(offsets))
    some = np.unique([*turns, *(turns + 1), *np.linspace(0, len(stamps) - 1, SAMPLE).astype(int)])
    others = sorted(zoneinfo.available_timezones() - set(USUAL))
    names = (name for name in (*USUAL, *others) if _shows(name, stamps[some], offsets[some]))
    return next((name for name in names if _shows(name, stamps, offsets)), None)


def _shows(name: str, stamps: pd.DatetimeIndex, offsets: NDArray[np.float64]) -> bool:
    try:
        local = stamps.tz_convert(name)
    except (OSError, ValueError, KeyError):  # a name that this machine lists and cannot read
        return False
    shown = (local.tz_localize(None) - stamps.tz_localize(None)) / pd.Timedelta(minutes=1)
    return bool((np.asarray(shown) == offsets).all())


QUARTERS = "quarters"
"""The form of dates such as 2003Q1, which are the first days of quarters."""
WEEKS = "weeks"
"""The form of dates such as 2024-W05, which are the Mondays of the weeks of ISO 8601."""


class Period(NamedTuple):
    """A way to write periods.

    pattern: What a whole cell looks like, in either case.
    first_days: Of the periods in a column of such cells; NaT where there is none.
    """

    pattern: str
    first_days: Callable[[pd.Series], pd.DatetimeIndex]


def _of_quarters(text: pd.Series) -> pd.DatetimeIndex:
    month = pd.to_numeric(text.str.extract(r"(?i)Q([1-4])", expand=False)) * 3 - 2
    return _days(_year(text) + "-" + month.astype("string"), "%Y-%m")


def _of_weeks(text: pd.Series) -> pd.DatetimeIndex:
    week = text.str.extract(r"(?i)W(\d{1,2})", expand=False).str.zfill(2)
    return _days(_year(text) + "-" + week + "-1", "%G-%V-%u")


def _year(text: pd.Series) -> pd.Series:
    return text.str.extract(r"(?<!\d)(\d{4})(?!\d)", expand=False)


def _days(text: pd.Series, form: str) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(pd.to_datetime(text, format=form, errors="coerce"))


PERIODS = {
    QUARTERS: Period(r"\d{4}[- ]?Q[1-4]|Q[1-4][- ]?\d{4}", _of_quarters),
    WEEKS: Period(r"\d{4}[- ]?W\d{1,2}|W\d{1,2}[- /]\d{4}", _of_weeks),
}
"""Kinds of periods by the names of their forms."""


def period_of(text: pd.Series) -> str | None:
    """The kind of period that most cells with text name; None where they are no periods."""
    present = text.dropna()
    return next((kind for kind in PERIODS if len(present) and _name_times(present, kind).mean() > 0.5), None)


def first_days(text: pd.Series, kind: str) -> pd.DatetimeIndex:
    """First days of periods of one kind; NaT for other cells."""
    return PERIODS[kind].first_days(text.where(_name_times(text, kind)))


def _name_times(text: pd.Series, kind: str) -> pd.Series:
    return by_text(text, lambda cells: cells.str.fullmatch(PERIODS[kind].pattern, case=False, na=False))
