"""What a time says by itself: its hour, its weekday, its place in the year, and whether it is a public holiday."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.errors import ConfigError, closest
from multiway.extras import load_extra

HARMONICS = 3
"""Waves of a year."""
NONE = ""


def calendar_features(times: pd.Index, frequency: str | None) -> NDArray[np.float32]:
    """Hours and weekdays as 0 and 1, where the step is shorter than a day or a week, and waves of the year.

    `(rows, features)`; none of times that are counted.
    """
    if not isinstance(times, pd.DatetimeIndex) or frequency is None:
        return np.zeros((len(times), 0), np.float32)
    step = pd.tseries.frequencies.to_offset(frequency)
    span = times[:1] + step - times[:1]
    parts = []
    if len(span) and span[0] < pd.Timedelta(days=1):
        parts.append(times.hour.to_numpy()[:, None] == np.arange(24))
    if len(span) and span[0] < pd.Timedelta(days=7):
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
