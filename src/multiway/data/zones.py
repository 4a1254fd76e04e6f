"""Times with UTC offsets: kept in the zone that they were written in."""

import datetime
import zoneinfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

OFFSET = r":\d\d(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)$"
USUAL = (
    "Europe/London", "Europe/Berlin", "Europe/Helsinki", "America/New_York", "America/Chicago", "America/Denver",
    "America/Los_Angeles", "America/Halifax", "America/Sao_Paulo", "Australia/Sydney", "Australia/Adelaide",
    "Pacific/Auckland",
)  # fmt: skip
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
