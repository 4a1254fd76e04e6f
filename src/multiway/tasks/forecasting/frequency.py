"""The step between times: inferred through gaps and repeats, and the season that goes with it."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.tseries.frequencies import to_offset

from multiway.errors import DataError

CALENDAR = ("B", "MS", "ME", "QS", "QE", "YS", "YE")
SEASONS = {"B": 5, "W": 52, "MS": 12, "ME": 12, "BMS": 12, "BME": 12, "QS": 4, "QE": 4}
MONTHS = {"M": 1, "Q": 3, "Y": 12}
DAY_SECONDS = 86_400
MIN_SHARE = 0.9
GRID_LIMIT = 1_000_000
"""A grid may have this many times, or 20 times the rows if that is more."""


class GridTooLong(Exception):
    """One mistyped time would ask for billions of rows."""


def infer_frequency(times: pd.Index) -> str | None:
    """Pandas alias of the step that most times follow; None for integers and for times without one."""
    if not isinstance(times, pd.DatetimeIndex):
        return None
    unique = times.unique().sort_values()
    if len(unique) < 2:
        return None
    exact = _exact(unique)
    if exact is not None:
        return exact
    steps = pd.Series(unique[1:] - unique[:-1])
    common = steps.mode().iloc[0]
    share = float((steps == common).mean())
    if share < MIN_SHARE and common >= pd.Timedelta(days=1):
        calendar = next((alias for alias in CALENDAR if _follows(unique, alias)), None)
        if calendar is not None:
            return calendar
    return _alias(common, unique) if share > 0.5 else None


def _exact(times: pd.DatetimeIndex) -> str | None:
    """What pandas infers where every step agrees; anchored calendars (W-SUN, YS-APR) among them."""
    if len(times) < 3:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # later versions of pandas return an offset, earlier ones its name
        frequency = pd.infer_freq(times)
    return None if frequency is None else str(getattr(frequency, "freqstr", frequency))


def _follows(times: pd.DatetimeIndex, alias: str) -> bool:
    """Whether nearly all times lie on a calendar's grid and nearly all of the grid is there."""
    grid = pd.date_range(times[0].normalize(), times[-1], freq=alias)
    common = len(times.normalize().intersection(grid))
    share = 1.0 if alias == "B" else MIN_SHARE  # a single weekend day is no business day
    return common >= share * len(times) and common >= 0.5 * len(grid)


def _alias(step: pd.Timedelta, times: pd.DatetimeIndex) -> str:
    """Whole days as calendar days, which keep their hour over a change of clocks; weeks on their weekday."""
    days = step / pd.Timedelta(days=1)
    if days == 7:
        return f"W-{times[0].day_name()[:3].upper()}"
    if days == int(days):
        return "D" if days == 1 else f"{int(days)}D"
    offset = to_offset(step)
    return str(offset.freqstr)


def check_frequency(frequency: str) -> str:
    """The alias itself if pandas knows it."""
    try:
        to_offset(frequency)
    except (ValueError, TypeError):
        raise DataError(
            f"frequency: '{frequency}' is no step that pandas knows. Write h, 10min, D, W-MON or MS."
        ) from None
    return frequency


def season_of(frequency: str | None) -> int:
    """Steps in the usual season: a day for hours and minutes, a week for days, a year for longer steps; else 1."""
    if frequency is None:
        return 1
    offset = to_offset(check_frequency(frequency))
    name = offset.rule_code.split("-")[0]
    if name == "D":
        return 7 if offset.n == 1 else 1
    if name in SEASONS:
        return SEASONS[name] // offset.n if SEASONS[name] % offset.n == 0 else 1
    try:
        steps = DAY_SECONDS / pd.Timedelta(offset).total_seconds()  # type: ignore[arg-type]  # not a Tick: ValueError
    except ValueError:
        return 1
    return int(steps) if steps >= 2 and steps == int(steps) else 1


def clock_of(times: pd.Index, frequency: str | None) -> NDArray[np.int64]:
    """The number of every time in steps of the calendar, by the clock on the wall; of times that are counted their own.

    A later table has the same numbers. Where stamps have no step these are places of rows.
    """
    if not isinstance(times, pd.DatetimeIndex):
        return times.to_numpy(np.int64) // integer_step(times)
    if frequency is None:
        return np.arange(len(times))
    wall, offset = times.tz_localize(None), to_offset(frequency)
    name = offset.rule_code.split("-")[0]
    if name == "B":
        return np.busday_count("1970-01-01", wall.to_numpy("datetime64[D]")).astype(np.int64)
    if name.lstrip("B")[0] in MONTHS and not isinstance(offset, pd.offsets.Tick):
        return (12 * wall.year + wall.month - 1).to_numpy(np.int64) // (MONTHS[name.lstrip("B")[0]] * offset.n)
    length = pd.Timedelta(weeks=offset.n) if name == "W" else pd.Timedelta(_length_of(frequency))
    return wall.as_unit("ns").asi8 // length.as_unit("ns").value


def time_grid(times: pd.Index, frequency: str | None) -> pd.Index | None:
    """Every time from the first to the last that the step leads to; None where stamps have no step.

    Very many more times than there are raise `GridTooLong`.
    """
    if not isinstance(times, pd.DatetimeIndex):
        step = integer_step(times)
        _check_length((times[-1] - times[0]) // step, times)
        return pd.Index(np.arange(int(times[0]), int(times[-1]) + 1, step))
    if frequency is None:
        return None
    _check_length((times[-1] - times[0]) / _length_of(frequency), times)
    return pd.date_range(times[0], times[-1], freq=frequency).as_unit(times.unit)


def steps_over(times: pd.DatetimeIndex, frequency: str) -> pd.DatetimeIndex:
    """Every time that the step leads to, from one not after the first to one not before the last.

    Very many more times than there are raise `GridTooLong`.
    """
    length, offset = _length_of(frequency), to_offset(frequency)
    _check_length((times[-1] - times[0]) / length, times)
    if length >= pd.Timedelta(days=1):
        first = offset.rollback(times[0].normalize())
    elif times.tz is None:
        first = times[0].floor(frequency)
    else:
        first = times[0].tz_convert("UTC").floor(frequency).tz_convert(times.tz)
    return pd.date_range(first, times[-1] + offset, freq=offset).as_unit(times.unit)


def _length_of(frequency: str) -> pd.Timedelta:
    start = pd.Timestamp("2001-01-01")
    return (start + 10 * to_offset(frequency) - start) / 10


def _check_length(steps: float, times: pd.Index) -> None:
    count = int(steps) + 1
    if count > max(GRID_LIMIT, 20 * len(times)):
        raise GridTooLong(f"{len(times):,} times from {times[0]} to {times[-1]} leave {count - len(times):,} absent")


def integer_step(times: pd.Index) -> int:
    """Most common difference of integer times."""
    differences = np.diff(times.to_numpy())
    differences = differences[differences > 0]
    return int(pd.Series(differences).mode().iloc[0]) if len(differences) else 1


def time_like(times: pd.Index, moment: Any) -> int | pd.Timestamp:
    """A time of the kind of an index's: a whole number, or a stamp in its time zone.

    What is no time raises ValueError, and a time of another kind TypeError.
    """
    if not isinstance(times, pd.DatetimeIndex):
        return int(moment)
    stamp = pd.Timestamp(moment)
    return stamp.tz_localize(times.tz) if isinstance(stamp, pd.Timestamp) and stamp.tz is None else stamp
