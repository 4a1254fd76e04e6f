"""The step between times: inferred through gaps and repeats, and the season that goes with it."""

import numpy as np
import pandas as pd

CALENDAR = ("MS", "ME", "QS", "QE", "YS", "YE", "B")
SEASONS = {"h": 24, "D": 7, "B": 5, "W": 52, "MS": 12, "ME": 12, "QS": 4, "QE": 4}
DAY_SECONDS = 86_400


def infer_frequency(times: pd.DatetimeIndex) -> str | None:
    """Pandas alias of the most common step; a calendar step where it explains more stamps."""
    unique = times.unique().sort_values()
    if len(unique) < 3:
        return None
    steps = pd.Series(unique[1:] - unique[:-1])
    common = steps.mode().iloc[0]
    regular = float((steps == common).mean())
    if regular < 0.9:
        for alias in CALENDAR:
            grid = pd.date_range(unique[0], unique[-1], freq=alias)
            if len(grid) and len(unique.intersection(grid)) >= 0.9 * len(unique):
                return alias
    return _alias(common, unique) if regular > 0.5 else None


def _alias(step: pd.Timedelta, times: pd.DatetimeIndex) -> str:
    """Whole days as calendar days, which keep their hour over a change of clocks; weeks on their weekday."""
    days = step / pd.Timedelta(days=1)
    if days == 7:
        return f"W-{times[0].day_name()[:3].upper()}"
    if days == int(days):
        return "D" if days == 1 else f"{int(days)}D"
    return str(pd.tseries.frequencies.to_offset(step).freqstr)


def season_of(frequency: str | None) -> int:
    """Steps in the usual season: a day for hours and minutes, a week for days, a year for longer steps."""
    if frequency is None:
        return 1
    offset = pd.tseries.frequencies.to_offset(frequency)
    name = offset.rule_code.split("-")[0]
    if offset.n == 1 and name in SEASONS:
        return SEASONS[name]
    try:
        seconds = pd.Timedelta(offset).total_seconds()
    except ValueError:
        return 1
    steps = DAY_SECONDS / seconds
    return int(steps) if steps >= 2 and steps == int(steps) else 1


def expected_times(times: pd.DatetimeIndex, frequency: str) -> pd.DatetimeIndex:
    """Every time from the first to the last that the step leads to."""
    return pd.date_range(times[0], times[-1], freq=frequency)


def missing_times(times: pd.DatetimeIndex, frequency: str) -> pd.DatetimeIndex:
    """Times that are absent; stamps off the grid do not fill it."""
    return expected_times(times, frequency).difference(times)


def integer_step(times: pd.Index) -> int:
    """Most common difference of integer times."""
    differences = np.diff(times.to_numpy())
    differences = differences[differences > 0]
    return int(pd.Series(differences).mode().iloc[0]) if len(differences) else 1
