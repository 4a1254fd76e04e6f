"""From raw columns to times and numbers, naming every cell that is neither."""

import warnings

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Finding, Findings, quoted
from multiway.data.options import ReadOptions
from multiway.data.tables import Table

TIME_NAMES = ("ds", "date", "datetime", "time", "timestamp", "day", "month", "date_time")
ID_NAMES = ("unique_id", "id", "series", "item_id", "series_id")
VALUE_NAMES = ("y", "value", "target")
EXACT_INTEGERS = 2.0**53


def find_time_column(table: Table, options: ReadOptions, findings: Findings) -> str:
    """The named column, else one with a usual name, else the first that is not numeric, else the first."""
    names = list(map(str, table.frame.columns))
    if options.time_column is not None:
        return require_column(names, options.time_column, "time_column", findings)
    usual = [name for name in names if name.strip().lower() in TIME_NAMES]
    if usual:
        return usual[0]
    dated = [name for name in names if pd.api.types.is_datetime64_any_dtype(table.frame[name])]
    text = [name for name in names if not pd.api.types.is_numeric_dtype(table.frame[name])]
    return (dated or text or names)[0]


def require_column(names: list[str], name: str, option: str, findings: Findings) -> str:
    """The name itself if the table has it."""
    if name not in names:
        shown = ", ".join(map(quoted, names[:8]))
        raise findings.fatal("columns", f"{option}={quoted(name)} is not a column", f"It has {shown}.")
    return name


def find_long_columns(table: Table, time: str, options: ReadOptions) -> tuple[str, str] | None:
    """Columns of series names and of values, if the table is long."""
    names = [str(name) for name in table.frame.columns if name != time]
    by_name = {name.strip().lower(): name for name in names}
    ids = options.id_column or next((by_name[name] for name in ID_NAMES if name in by_name), None)
    values = options.value_column or next((by_name[name] for name in VALUE_NAMES if name in by_name), None)
    return (ids, values) if ids in names and values in names else None


def parse_times(table: Table, column: str, options: ReadOptions, findings: Findings) -> pd.Index:
    """Times of every row: integers stay integers, text becomes stamps under one format for all rows."""
    raw = table.frame[column]
    if raw.isna().any():
        rows = np.flatnonzero(raw.isna())
        raise findings.fatal("time", "every row needs a time", "Fill or drop these rows.", _places(table, rows, column))
    if pd.api.types.is_datetime64_any_dtype(raw):
        return pd.DatetimeIndex(raw)
    if pd.api.types.is_numeric_dtype(raw):
        if not np.array_equal(raw, np.round(raw)):
            rows = np.flatnonzero(raw != np.round(raw))
            raise findings.fatal("time", "numeric times are whole numbers", "", _places(table, rows, column, raw))
        return pd.Index(raw.astype(np.int64))
    return _parse_text(table, column, raw.astype(str), options.day_first, findings)


def _parse_text(
    table: Table, column: str, raw: pd.Series, day_first: bool | None, findings: Findings
) -> pd.DatetimeIndex:
    text = raw.str.strip()
    iso = _to_times(text, format="ISO8601")
    if iso is not None and not iso.isna().any():
        return iso
    readings = {first: _to_times(text, dayfirst=first) for first in (True, False)}
    good = {first: times for first, times in readings.items() if times is not None and not times.isna().any()}
    if day_first is not None:
        good = {first: times for first, times in good.items() if first == day_first}
    if len(good) == 2 and not good[True].equals(good[False]):
        raise findings.fatal(
            "time",
            "day and month can be read either way",
            "Say day_first=true or false.",
            (table.place(0, column, raw[0]),),
        )
    if good:
        return next(iter(good.values()))
    bad = _first_bad([iso, *readings.values()])
    rule = "times must all be written in one way"
    raise findings.fatal("time", rule, "Write them as 2024-01-31 23:00.", _places(table, bad, column, raw))


def _to_times(text: pd.Series, **how: object) -> pd.DatetimeIndex | None:
    """Parse, with NaT where a row does not fit the format of the first; None if nothing fits."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas guesses aloud; the guess is checked on every row here
            return pd.DatetimeIndex(pd.to_datetime(text, errors="coerce", **how))  # type: ignore[call-overload]
    except (ValueError, TypeError):
        return None


def _first_bad(readings: list[pd.DatetimeIndex | None]) -> NDArray[np.int64]:
    """Rows that fail under the reading that fails least."""
    failures = [np.flatnonzero(times.isna()) for times in readings if times is not None]
    return min(failures, key=len) if failures else np.array([0])


def parse_numbers(table: Table, columns: list[str], findings: Findings) -> NDArray[np.float64]:
    """Numbers of the columns, NaN where a cell is empty; cells that are no finite number are findings, left infinite."""
    numbers = np.empty((len(table.frame), len(columns)))
    places: list[str] = []
    commas = False
    for index, column in enumerate(columns):
        raw = table.frame[column]
        numbers[:, index], wrong = _parse_column(raw)
        numbers[wrong, index] = np.inf
        rows = np.flatnonzero(wrong)[:20]
        places += [table.place(int(row), column, raw.iloc[row]) for row in rows]
        commas |= any("," in str(raw.iloc[row]) for row in rows)
    count = int(np.isinf(numbers).sum())
    if count:
        hint = " Write decimals with a point." if commas else ""
        findings.add(
            Finding(
                kind="number", severity="error", rule=f"{count} cells are no finite number", places=tuple(places[:20]),
                count=count, mend=f"Correct them, or choose columns with --variates.{hint}",
            )
        )  # fmt: skip
    return numbers


def _parse_column(raw: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values, and which cells are not the numbers they claim to be."""
    if pd.api.types.is_bool_dtype(raw) or pd.api.types.is_datetime64_any_dtype(raw):
        return np.zeros(len(raw)), np.ones(len(raw), dtype=bool)
    if pd.api.types.is_numeric_dtype(raw):
        values = raw.to_numpy(np.float64, na_value=np.nan)
        return values, np.isinf(values) | (_is_wide(raw) & (np.abs(values) > EXACT_INTEGERS))
    text = raw.astype("string").str.strip()
    values = pd.to_numeric(text, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    empty = text.isna().to_numpy() | (text == "").to_numpy(bool, na_value=True)
    long_digits = text.str.fullmatch(r"[+-]?\d{17,}").to_numpy(bool, na_value=False)
    return values, (np.isnan(values) & ~empty) | np.isinf(values) | long_digits


def _is_wide(raw: pd.Series) -> bool:
    return bool(pd.api.types.is_integer_dtype(raw))


def _places(table: Table, rows: NDArray[np.int64], column: str, raw: pd.Series | None = None) -> tuple[str, ...]:
    return tuple(table.place(int(row), column, None if raw is None else raw.iloc[row]) for row in rows[:20])


def note_layout(layout: str, time: str, count: int, findings: Findings) -> None:
    """Say how the table was understood."""
    text = f"read as {layout}: times in {quoted(time)}, {count} series"
    findings.add(Finding(kind="layout", severity="note", rule=text))
