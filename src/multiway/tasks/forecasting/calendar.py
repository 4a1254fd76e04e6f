"""The step between times, inferred through gaps and repeats, its season, and what a time says by its hour."""

import warnings
import zoneinfo
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.tseries.frequencies import to_offset

from multiway.errors import ConfigError, closest
from multiway.lazy import load_extra
from multiway.tasks.forecasting.steps import MonthDay, Regular, Sessions, step_of

CALENDAR = ("B", "MS", "ME", "QS", "QE", "YS", "YE")
MIN_SHARE = 0.9
GRID_LIMIT = 1_000_000
"""A grid may have this many times, or 20 times the rows if that is more."""
HARMONICS = 3
"""Waves of a year."""
NONE = ""


class GridTooLong(Exception):
    """One mistyped time would make billions of rows."""


def infer_frequency(times: pd.Index, usual: str | None = None) -> str | None:
    """The step that most times follow, or their sessions; None for integers and for times without one.

    usual: Of a run. Its sessions stay where the times are in them, and a run without has none.
    """
    if not isinstance(times, pd.DatetimeIndex):
        return None
    unique = times.unique().sort_values()
    if usual is not None and has_sessions(usual):
        fit, fill = in_step(unique, usual)
        if fit >= MIN_SHARE and fill > 0.5:
            return usual
    if len(unique) < 2:
        return None
    exact = regular_step(unique)
    if exact is not None:
        return exact
    steps = pd.Series(unique[1:] - unique[:-1])
    common = steps.mode().iloc[0]
    share = float((steps == common).mean())
    sessions = Sessions.find(unique) if usual is None and common < pd.Timedelta(days=7) else None
    if share < MIN_SHARE and common >= pd.Timedelta(days=1):
        calendar = next((alias for alias in CALENDAR if _follows(unique, alias)), None)
        if calendar is not None and (calendar != "B" or sessions is None or len(sessions.slots) == 5):
            return calendar
        if _is_monthly(unique):
            return str(MonthDay.find(unique) or "MS")
    if sessions is not None:
        return str(sessions)
    return _alias(common, unique) if share > 0.5 and _is_on_grid(unique, common) else None


def regular_step(times: pd.DatetimeIndex) -> str | None:
    """What pandas infers where every step agrees; anchored calendars (W-SUN, YS-APR) among them."""
    if len(times) < 3:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # later versions of pandas return an offset, earlier ones its name
        frequency = pd.infer_freq(times)
    name = None if frequency is None else str(getattr(frequency, "freqstr", frequency))
    return None if name == "bh" else name  # whatever the opening hours are


def in_step(times: pd.DatetimeIndex, frequency: str) -> tuple[float, float]:
    """Shares of the times that a step leads to, and of those that it leads to that are there."""
    grid = step_times(times[0], frequency, times[-1]) if len(times) else times
    return (float(times.isin(grid).mean()), float(grid.isin(times).mean())) if len(grid) else (0.0, 0.0)


def _follows(times: pd.DatetimeIndex, alias: str) -> bool:
    """Whether nearly all times lie on a calendar's grid and nearly all of the grid is there."""
    days = times.tz_localize(None).normalize()
    grid = pd.date_range(days[0], days[-1], freq=alias)
    common = len(days.intersection(grid))
    share = 1.0 if alias == "B" else MIN_SHARE  # a single weekend day is no business day
    return common >= share * len(times) and common >= 0.5 * len(grid)


def _is_monthly(times: pd.DatetimeIndex) -> bool:
    """Whether nearly all follow in the next month, on whatever day of it, such as the 15th or the last Friday."""
    months = np.asarray(12 * times.year + times.month)
    return float((np.diff(months) == 1).mean()) >= MIN_SHARE


def _is_on_grid(times: pd.DatetimeIndex, step: pd.Timedelta) -> bool:
    """Whether most times are whole steps of days after the first; shorter steps are not looked at."""
    wall = times.tz_localize(None).normalize()
    return step < pd.Timedelta(days=1) or float(((wall - wall[0]) % step == pd.Timedelta(0)).mean()) > 0.5


def _alias(step: pd.Timedelta, times: pd.DatetimeIndex) -> str:
    """Whole days as calendar days, which keep their hour over a change of clocks; weeks on their weekday."""
    days = step / pd.Timedelta(days=1)
    if days == 7:
        return f"W-{times[0].day_name()[:3].upper()}"
    if days == int(days):
        return "D" if days == 1 else f"{int(days)}D"
    offset = to_offset(step)
    return str(offset.freqstr)


def season_of(frequency: str | None) -> int:
    """Steps in the usual season; 1 where stamps have no step."""
    return 1 if frequency is None else step_of(frequency).season


def clock_of(times: pd.Index, frequency: str | None) -> NDArray[np.int64]:
    """The number of every time in steps of the calendar, by the clock on the wall; of times that are counted their own.

    A later table has the same numbers. Where stamps have no step these are places of rows.
    """
    if not isinstance(times, pd.DatetimeIndex):
        return times.to_numpy(np.int64) // integer_step(times)
    return np.arange(len(times)) if frequency is None else step_of(frequency).clock(times.tz_localize(None))


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
    _check_length((times[-1] - times[0]) / step_of(frequency).length, times)
    return step_times(times[0], frequency, times[-1]).as_unit(times.unit)


def step_times(first: pd.Timestamp, frequency: str, end: pd.Timestamp | int) -> pd.DatetimeIndex:
    """Times that a step leads to from one on, up to the last or so many.

    Steps of days and more, and sessions, keep their hour when clocks change: the next one where that is skipped, the
    first of two.
    """
    step, zone = step_of(frequency), first.tz
    if zone is None or not step.keeps_hour:
        return step.times(first, end)
    return _localize(step.times(first.tz_localize(None), end if isinstance(end, int) else end.tz_localize(None)), zone)


def _localize(wall: pd.DatetimeIndex, zone: tzinfo | None) -> pd.DatetimeIndex:
    times = wall.tz_localize(zone, ambiguous=np.ones(len(wall), bool), nonexistent="shift_forward")
    return pd.DatetimeIndex(times.unique())


def steps_over(times: pd.DatetimeIndex, frequency: str) -> pd.DatetimeIndex:
    """Every time that the step leads to, from one not after the first to one not before the last.

    Very many more times than there are raise `GridTooLong`.
    """
    step, wall = step_of(frequency), times.tz_localize(None)
    _check_length((times[-1] - times[0]) / step.length, times)
    if not isinstance(step, Regular):
        return _localize(step.times(step.last_until(wall[0]), step.times(wall[-1], 1)[0]), times.tz).as_unit(times.unit)
    if step.length >= pd.Timedelta(days=1):
        first = step.offset.rollback(times[0].normalize())
    elif times.tz is None:
        first = times[0].floor(frequency)
    else:
        first = times[0].tz_convert("UTC").floor(frequency).tz_convert(times.tz)
    return pd.date_range(first, times[-1] + step.offset, freq=step.offset).as_unit(times.unit)


def has_sessions(frequency: str | None) -> bool:
    """Whether steps are those of sessions."""
    return frequency is not None and isinstance(step_of(frequency), Sessions)


def is_end(frequency: str) -> bool:
    """Whether a step is the last day, or business day, of a month, a quarter or a year."""
    step = step_of(frequency)
    return isinstance(step, Regular) and step.name.lstrip("B") in ("ME", "QE", "YE")


def _check_length(steps: float, times: pd.Index) -> None:
    count = int(steps) + 1
    if count > max(GRID_LIMIT, 20 * len(times)):
        raise GridTooLong(f"{len(times):,} times from {times[0]} to {times[-1]} leave {count - len(times):,} absent")


def integer_step(times: pd.Index) -> int:
    """Most common difference of integer times."""
    differences = np.diff(times.to_numpy())
    differences = differences[differences > 0]
    return int(pd.Series(differences).mode().iloc[0]) if len(differences) else 1


def zone_of(times: pd.Index) -> str | None:
    """Name of the zone of times, but of UTC and of a fixed offset, which may be that of one season."""
    zone = getattr(times, "tz", None)
    if zone is None or str(zone) == "UTC" or str(zone) not in zoneinfo.available_timezones():
        return None
    return str(zone)


def time_like(times: pd.Index, moment: Any) -> int | pd.Timestamp:
    """A time of the kind of an index's: a whole number, or a stamp in its time zone.

    What is no time raises ValueError, and a time of another kind TypeError.
    """
    if not isinstance(times, pd.DatetimeIndex):
        return int(moment)
    stamp = pd.Timestamp(moment)
    return stamp.tz_localize(times.tz) if isinstance(stamp, pd.Timestamp) and stamp.tz is None else stamp


def time_kept(times: pd.Index, moment: str) -> Any:
    """A time that a run keeps in words, as one of an index, which may lack the time zone of the run."""
    kept = time_like(times, moment)
    is_plain = isinstance(times, pd.DatetimeIndex) and times.tz is None
    return pd.Timestamp(kept).tz_localize(None) if is_plain else kept


def calendar_features(times: pd.Index, frequency: str | None) -> NDArray[np.float32]:
    """Hours and weekdays as 0 and 1, where the step is shorter than a day or a week, and waves of the year.

    `(rows, features)`; none of times that are counted.
    """
    if not isinstance(times, pd.DatetimeIndex) or frequency is None:
        return np.zeros((len(times), 0), np.float32)
    length, parts = step_of(frequency).length, []
    if len(times) and length < pd.Timedelta(days=1):
        parts.append(times.hour.to_numpy()[:, None] == np.arange(24))
    if len(times) and length < pd.Timedelta(days=7):
        parts.append(times.day_of_week.to_numpy()[:, None] == np.arange(7))
    turn = 2 * np.pi * times.day_of_year.to_numpy()[:, None] * np.arange(1, HARMONICS + 1) / 365.25
    return np.hstack([*parts, np.cos(turn), np.sin(turn)]).astype(np.float32)


def holiday_names(country: str, times: pd.Index) -> NDArray[np.object_]:
    """Name of the public holiday of every time, empty where there is none; a day in lieu has that of its holiday.

    Raises:
        ConfigError: `holidays` is not installed, or knows no such country.
    """
    library = load_extra("holidays", "a calendar of public holidays", "holidays")
    if not isinstance(times, pd.DatetimeIndex):
        raise ConfigError(f"holidays: rows are counted, and only dates have public holidays. Leave {country} out.")
    code, _, part = country.partition("-")
    known = library.list_supported_countries()
    if code not in known or (part and part not in known[code]):
        hint = closest(country, [*known, *(f"{code}-{each}" for each in known.get(code, ()))])
        raise ConfigError(f"holidays: {country} is no country, or part of one, that has a calendar{hint}")
    days = times.date
    years = sorted({day.year for day in days})
    public = library.country_holidays(code, subdiv=part or None, years=years, language="en_US")
    names = {day: name.split(";")[0].removesuffix(" (observed)").strip() for day, name in public.items()}
    return np.array([names.get(day, NONE) for day in days], dtype=object)


def holiday_features(names: NDArray[np.object_], levels: Sequence[str]) -> NDArray[np.float32]:
    """Whether there is one, and whether it is that of each name, `(rows, 1 + names)`."""
    return np.hstack([(names != NONE)[:, None], names[:, None] == np.array(levels, dtype=object)]).astype(np.float32)
