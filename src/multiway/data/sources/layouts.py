"""Tables whose times do not stand in one column: in parts of columns, in the header, or as months of a year."""

import dataclasses
import itertools
import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Unreadable, list_some, quote
from multiway.data.options import FileOptions
from multiway.data.sources.cells import TIME_NAMES, Column, as_text, is_text, parse_cells, plain_name
from multiway.data.sources.columns import RawTable, column_of_times, parse_times
from multiway.data.sources.forms import PERIODS, QUARTERS, WEEKS, looks_like_time
from multiway.data.sources.tables import load_table
from multiway.data.sources.times import first_days
from multiway.data.sources.titles import DIGITS

PARTS = ("year", "month", "day", "hour", "minute")
"""Names of columns with a part of a date; each but the first two may be absent, and then so are those behind it."""
SHORT = ("y{1,4}r?", "mm|mo", "dd|dy", "hh|hr", "mm|mn|mi")
"""The same as observatories write them, in this order."""
RANGES = {"year": (1700, 2200), "month": (1, 12), "day": (1, 31), "hour": (0, 24), "minute": (0, 59)}
"""The least and the largest number of each part; hour 24 is midnight, as where hours are named by their ends."""
CLOCKS = ("time", "hour", "hr")
"""Names of columns with a time of day next to a date."""
PERIODS_OF_YEAR = {"month": "m", "period": "m", "quarter": "q", "qtr": "q", "week": "w", "wk": "w"}
"""Names of columns with a period of a year, and the letter of what they hold where their cells have none."""
LAST = {"m": 12, "q": 4, "s": 2}
"""Months, quarters and halves of a year."""
CLOCK = re.compile(r"\d{1,2}[:.]\d\d([:.]\d\d)?( ?[AaPp][Mm])?")
FINER = (
    r"(?:19|20)\d\d",
    PERIODS[QUARTERS],
    r"(?:19|20)\d\d[- /]?(?:M?(?:0?[1-9]|1[0-2])|[A-Za-z]{3,9}\.?)",
)
"""Years, quarters and months, as they may stand in one column."""
PLAIN = FileOptions()
FEWEST = 6
"""Times, below which a header is taken for names, and columns without names for no parts of dates."""
LOOKED_AT = 1000
"""Rows that show whether cells are times of day."""
SUCCESSIVE = 0.9
"""Share of the steps of unnamed parts of dates that lead to the next day or month."""
FEWEST_BELOW = 2
"""Rows of a block on average, whose name stands in the first of them."""
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
    is_whole = parts[0].lower() != PARTS[0] and table.columns[parts[0]].looks_like_time
    if is_whole and time is None and table.frame[parts[0]].is_unique:
        return table
    if is_whole:
        joined = _join_clock(table, parts[0], parts[1], options)
    else:
        joined = _join_periods(table, *parts) if len(parts) == 2 else None
        joined = _join_parts(table, parts) if joined is None else joined
    if joined is None:
        return table
    findings.add("time", "note", f"columns {list_some(parts)} are parts of one time")
    if len(parts) == 2 and not is_whole and (is_year := joined.isna()).any():
        said = as_text(table.frame[parts[1]])[is_year].unique()
        findings.add("time", "note", f"rows of {list_some(said)} say something of a whole year, and are left out")
        table, joined = table.take(~is_year.to_numpy()), joined[~is_year].reset_index(drop=True)
    frame = table.frame.drop(columns=parts)
    if is_whole and (ends := [name for name in _clocks(table) if name in frame]):
        findings.add("time", "note", f"columns {list_some(ends)} hold other times of day and are left out")
        frame = frame.drop(columns=ends)
    if not is_whole and (repeats := [name for name in frame if _repeats_years(table.columns[str(name)], joined)]):
        findings.add("time", "note", f"{list_some(repeats)}: the years once more, with a fraction, and left out")
        frame = frame.drop(columns=repeats)
    frame.insert(0, " ".join(parts), joined)
    return dataclasses.replace(table, frame=frame)


def parts_of_times(table: RawTable) -> list[str]:
    """Columns that hold parts of the times by their names, the largest part first; none where one holds whole times."""
    own = {plain_name(re.sub(r"[(\[].*[)\]]$", "", name)): name for name in reversed(table.names)}
    if table.names[:2] == ["0", "1"]:
        return _parts_without_names(table)
    if all(map(re.fullmatch, SHORT[:3], map(str.lower, table.names))) or list(table.names[:2]) == ["yyyy", "mm"]:
        pairs = zip(SHORT, map(str.lower, table.names), strict=False)
        return table.names[: sum(1 for _ in itertools.takewhile(lambda pair: re.fullmatch(*pair), pairs))]
    clocks = [own[name] for name in CLOCKS if name in own] or _clocks(table)
    if not clocks and PARTS[0] not in own:
        return []
    date = next((name for name in table.names if name.lower() not in PARTS and _is_date(table.columns[name])), None)
    if date is not None:
        clock = next((name for name in clocks if name != date), None)
        return [] if clock is None else [date, clock]
    period = next((own[name] for name in PERIODS_OF_YEAR if name in own and PARTS[1] not in own), None)
    if PARTS[0] in own and period is not None:
        return [own[PARTS[0]], period]
    absent = next((place for place, part in enumerate(PARTS) if part not in own), len(PARTS))
    others = own.keys() & set(TIME_NAMES) - set(PARTS)
    return [own[part] for part in PARTS[:absent]] if absent > 1 and not others else []


def _clocks(table: RawTable) -> list[str]:
    """Columns of text whose cells are times of day, with a colon."""
    texts = [str(name) for name, dtype in table.frame.dtypes.items() if is_text(dtype)]
    first = [name for name in texts if re.fullmatch(CLOCK, str(table.frame[name].iloc[0]).strip())]
    return [name for name in first if ":" in table.frame[name].iloc[0] and _are_clocks(table.columns[name].words)]


def _parts_without_names(table: RawTable) -> list[str]:
    """The first columns of a table without a header, where they are years, months and days of successive times."""
    for count, unit in ((3, "D"), (2, "M")):
        joined = _join_parts(table, table.names[:count]) if len(table.names) > count else None
        if joined is not None and joined.notna().all() and len(joined) >= FEWEST:
            steps = np.diff(joined.to_numpy().astype(f"datetime64[{unit}]").astype(int))
            if (steps == 1).mean() >= SUCCESSIVE:
                return table.names[:count]
    return []


def _is_date(column: Column) -> bool:
    """Whether a column holds dates, and not times of day alone, which points would make dates."""
    if not column.looks_like_time:
        return False
    text = as_text(column.cells.head(LOOKED_AT))
    return not (_are_clocks(text) and text.str.contains(":", regex=False).all())


def _are_clocks(text: pd.Series) -> bool:
    return bool(text[text != ""].map(CLOCK.fullmatch).notna().all())


def _join_parts(table: RawTable, parts: list[str]) -> pd.Series | None:
    """Times of a year, a month and what else there is; None where a cell is no such part."""
    numbers: dict[str, NDArray[np.int64] | int] = {"day": 1, "hour": 0, "minute": 0}
    for called, name in zip(PARTS, parts, strict=False):
        part = _read_part(table.columns[name], called)
        if part is None:
            return None
        numbers[called] = part
    own = pd.DataFrame(numbers, index=table.frame.index)
    days = pd.to_datetime(own[["year", "month", "day"]], errors="coerce")
    return days + pd.to_timedelta(60 * own["hour"] + own["minute"], unit="min")


def _join_periods(table: RawTable, year: str, period: str) -> pd.Series | None:
    """First days of months, quarters, halves or weeks of years; NaT where a period is beyond the last, as M13 is.

    None where other cells are there. Weeks are those of ISO 8601, or else those of epidemics, which begin on Sundays.
    """
    years = _read_part(table.columns[year], PARTS[0])
    cells = as_text(table.columns[period].cells).str.extract(r"^([A-Za-z]?)0*(\d{1,2})$")
    letters = set(cells[0].dropna().str.lower())
    if years is None or cells.isna().any(axis=None) or len(letters) > 1:
        return None
    extra = int(any(letters))  # M13 is the mean of a year, and 13 is no month
    letter = letters.pop() or PERIODS_OF_YEAR.get(plain_name(period), "")
    numbers = cells[1].astype(int)
    if letter == "w":
        weeks = first_days(pd.Series([f"{one}-W{two}" for one, two in zip(years, numbers, strict=True)]), WEEKS)
        fourth = pd.to_datetime(pd.Series(years).astype(str) + "-01-04")
        first = fourth - pd.to_timedelta((fourth.dt.day_of_week + 1) % 7, unit="D")
        sundays = pd.DatetimeIndex(first + pd.to_timedelta(7 * (numbers - 1), unit="D"))
        return pd.Series(sundays if not _are_successive(weeks) and _are_successive(sundays) else weeks)
    per = LAST.get(letter, 0)
    if not 1 <= numbers.min() <= numbers.max() <= per + extra:
        return None
    months = ((numbers - 1) * 12 // per + 1).where(numbers <= per)
    return pd.to_datetime(pd.DataFrame({"year": years, "month": months, "day": 1}), errors="coerce")


def _are_successive(weeks: pd.DatetimeIndex) -> bool:
    return not weeks.hasnans and bool((np.diff(weeks.unique().sort_values()) == np.timedelta64(7, "D")).all())


def _repeats_years(column: Column, times: pd.Series) -> bool:
    """Whether a column holds years with a fraction that says the month or day of some times."""
    if not column.is_numeric or times.isna().any():
        return False
    years = times.dt.year + times.dt.day_of_year / 365.25
    return bool((np.abs(column.values - years) < 1 / 12).all())


def _read_part(column: Column, part: str) -> NDArray[np.int64] | None:
    """Whole numbers of a part of a date, names of months among them; None where a cell is no such number."""
    text = as_text(column.cells).str.lower()
    words = [str(MONTHS.get(cell, cell)) for cell in text]
    values = parse_cells(pd.Series(words, dtype="str") if part == "month" else text)[0]
    low, high = RANGES[part]
    is_whole = np.isfinite(values).all() and (values == np.round(values)).all()
    return values.astype(np.int64) if is_whole and ((values >= low) & (values <= high)).all() else None


def _join_clock(table: RawTable, date: str, clock: str, options: FileOptions) -> pd.Series | None:
    """Dates with the time of day behind them; None where dates have one already, or there is no clock."""
    raw, hours = table.columns[date].cells, table.columns[clock]
    is_stamps = pd.api.types.is_datetime64_any_dtype(raw)
    days = raw.dt.strftime("%Y-%m-%d").where(raw.dt.normalize() == raw) if is_stamps else as_text(raw)
    if days.isna().any() or days.str.contains(r"(?<![\d:])\d{1,2}:\d\d(?!:\d{4})").any():
        return None
    text = as_text(hours.cells)
    if _are_clocks(text):
        return days + " " + text.str.replace(".", ":", regex=False)
    numbers = _read_part(hours, "hour")
    try:
        stamps, good = parse_times(table, date, options, Findings(""))
    except Unreadable:
        return None
    if numbers is None or not good.all() or not isinstance(stamps, pd.DatetimeIndex):
        return None
    return pd.Series(stamps + pd.to_timedelta(numbers, unit="h"), raw.index)


def with_finest_times(table: RawTable, findings: Findings) -> RawTable:
    """The same without rows of years and quarters that stand beside those of months, which they sum up."""
    for name, dtype in table.frame.dtypes.items():
        if not is_text(dtype) or not re.fullmatch("|".join(FINER), str(table.frame[name].iloc[-1]).strip()):
            continue
        text = as_text(table.frame[name])
        kinds = [text.str.fullmatch(form).to_numpy(bool) for form in FINER]
        there = [kind for kind in kinds if kind.any()]
        if len(there) > 1 and np.logical_or.reduce(there).all() and 2 * there[-1].sum() >= len(text):
            coarse = list_some([text[kind].iloc[0] for kind in there[:-1]])
            findings.add("time", "note", f"rows of longer times, as {coarse} beside {text.iloc[-1]}, are left out")
            return table.take(there[-1])
    return table


def with_names_below(table: RawTable, findings: Findings) -> RawTable:
    """The same with names that stand in the first of their rows alone, as in merged cells, in all of them.

    Each name begins a block: times go back there, and rise within it. Another table is as it is.
    """
    time = column_of_times(table)
    if time is None:
        return table
    blank = [name for name in table.names if name != time and not table.columns[name].is_present.all()]
    if not blank:
        return table
    try:
        times, good = parse_times(table, time, PLAIN, Findings(""))
    except Unreadable:
        return table
    is_first = np.append(True, ~np.asarray(times[1:] > times[:-1])) if good.all() else np.empty(0, bool)
    filled = {}
    for name in blank:
        is_named = table.columns[name].is_present
        if len(is_first) and 1 < is_named.sum() <= len(is_named) / FEWEST_BELOW and is_first[is_named].all():
            filled[name] = table.frame[name].where(is_named).ffill()
    if not filled or (is_first & ~np.any([table.columns[name].is_present for name in filled], axis=0)).any():
        return table
    findings.add("layout", "note", f"names of {list_some(filled)} stand in the first of their rows, and hold below it")
    return dataclasses.replace(table, frame=table.frame.assign(**filled), texts={})


TIME, MONTH, VALUE = "time", "month", "value"
"""Columns of the table that is made."""
OF_YEAR = re.compile(
    r"annual|yearly|ann|sum|total|mean|average|avg|ytd|half ?[12]|j-d|d-n|djf|mam|jja|son", re.IGNORECASE
)
"""Columns next to those of months that say something of the year, its halves or its seasons."""


def columns_by_number(table: RawTable) -> list[str]:
    """All columns but the first, which names each row, where they are numbers and are numbered: V2 to V61."""
    first, *others = table.names
    found = [re.fullmatch(r"(\D*)(\d+)", name) for name in others]
    parts = [(each[1], int(each[2])) for each in found if each is not None]
    is_counted = bool(parts) and parts == [(parts[0][0], parts[0][1] + step) for step in range(len(others))]
    if not is_counted or table.columns[first].is_numeric or not table.columns[first].words.is_unique:
        return []
    return others if all(table.columns[name].is_numeric for name in others) else []


def times_of_header(table: RawTable, time: str | None = None, options: FileOptions = PLAIN) -> list[str]:
    """Columns that are named by times of one form, where most are and no column holds any; none in other tables.

    A few names are looked at before all.

    time: A column that is said to hold the times. One that is not there is the header, which may then hold few.
    """
    names = table.names
    if time not in (None, TIME) or {TIME, VALUE} & set(names):
        return []
    fewest = FEWEST if time is None else 1
    digits = [name for name in names if DIGITS.fullmatch(name)]
    pool = digits if 2 * len(digits) >= len(names) else [name for name in names if re.search(r"\d", name)]
    counted = [name for name in names if name.isdecimal()] if time is not None else []
    is_counted = len(counted) > len(digits) and 2 * len(counted) >= len(names)
    pool = counted if is_counted else pool
    if len(pool) < fewest or not (digits or is_counted or looks_like_time(pool[len(pool) // 2 :][:20])):
        return []
    try:
        times, good = parse_times(RawTable.whole(pd.DataFrame({TIME: pool})), TIME, options, Findings(""))
    except Unreadable:
        return []
    named = list(itertools.compress(pool, good)) if times.is_unique else []
    is_most = fewest <= len(named) < len(names) and (time == TIME or len(names) <= 2 * len(named))
    return named if is_most and column_of_times(table.drop(named)) is None else []


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
        findings.add("layout", "note", f"{list_some(sums)}: of several months, and left out")
    return _in_rows(table.drop(sums), named, MONTH)


def _in_rows(table: RawTable, named: list[str], called: str) -> RawTable:
    """The values of some columns one below the other, row by row, with the names of the columns."""
    count = len(table.rows)
    frame = table.frame.melt([name for name in table.names if name not in named], named, called, VALUE)
    order = np.arange(len(frame)).reshape(len(named), count).T.ravel()
    rows = np.repeat(np.arange(count), len(named))
    texts = {name: text for name, text in table.texts.items() if name in frame.columns}
    kept = dataclasses.replace(table, frame=table.frame[[]], texts=texts).take(rows)
    texts, signs = {**kept.texts}, {table.columns[name].sign for name in named}
    if len(signs) == 1 and "" not in signs:  # the sign of all of these columns is that of the values
        texts[VALUE] = pd.concat([table.frame[[]].assign(text=table.texts[name])["text"] for name in named]).iloc[order]
        texts[VALUE].index = range(len(frame))
    return dataclasses.replace(kept, frame=frame.iloc[order].reset_index(drop=True), texts=texts)


def as_series(table: RawTable, time: str | None, options: FileOptions, findings: Findings) -> RawTable:
    """The same with one column of times, and a row for each of them."""
    table = with_finest_times(with_months_in_rows(table, time, findings), findings)
    return with_names_below(with_joined_times(table, time, options, findings), findings)


def load_series_table(source: object, options: FileOptions, time: str | None, findings: Findings) -> RawTable:
    """A table of series, with a row for each time and one column of times.

    time: A column that is said to hold the times.
    """
    table = as_series(load_table(source, options, findings), time, options, findings)
    if time is not None and time not in table.names and (numbered := columns_by_number(table)):
        counts = {name: str(re.sub(r"\D", "", name)) for name in numbered}
        table = dataclasses.replace(table, frame=table.frame.rename(columns=counts), texts={})
    named = times_of_header(table, time, options)
    if not named:
        return table
    said = f"columns '{quote(named[0])}' to '{quote(named[-1])}' are {len(named)} times, and each row is a series"
    findings.add("layout", "note", said)
    return _in_rows(table, named, TIME)
