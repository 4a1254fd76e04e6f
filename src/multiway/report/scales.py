"""Places on an axis: numbers for time stamps, and ticks at round values or round times."""

import math
from collections.abc import Sequence
from datetime import tzinfo
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

# Step of the ticks, and how a tick is written; the finest that gives no more ticks than asked for is taken.
_TIME_STEPS = [
    *[(pd.Timedelta(seconds=n), f"{n}s", "%H:%M:%S") for n in (1, 5, 15, 30)],
    *[(pd.Timedelta(minutes=n), f"{n}min", "%H:%M") for n in (1, 5, 15, 30)],
    *[(pd.Timedelta(hours=n), f"{n}h", "%H:%M") for n in (1, 3, 6, 12)],
    *[(pd.Timedelta(days=n), f"{n}D", "%-d %b") for n in (1, 2, 5, 10)],
    *[(pd.Timedelta(days=30.4 * n), f"{n}MS", "%b %Y") for n in (1, 2, 3, 6)],
    *[(pd.Timedelta(days=365.25 * n), f"{n}YS", "%Y") for n in (1, 2, 5, 10, 20, 50, 100)],
]


class Tick(NamedTuple):
    """A place on the axis, from 0 to 1, and its label."""

    place: float
    label: str


class Scale(NamedTuple):
    """A straight map from [low, high] to [0, 1]."""

    low: float
    high: float

    def place(self, values: npt.ArrayLike) -> Floats:
        """Map values to their places."""
        return (np.asarray(values, float) - self.low) / (self.high - self.low)

    def contains(self, value: float) -> bool:
        """Tell whether a value lies on the axis, up to rounding."""
        slack = 1e-9 * (self.high - self.low)
        return self.low - slack <= value <= self.high + slack


def scale_of(arrays: Sequence[npt.ArrayLike], *, from_zero: bool = False, margin: float = 0.04) -> Scale:
    """Span every finite value with a little room; a constant gets room around it."""
    joined = np.concatenate([np.ravel(np.asarray(array, float)) for array in arrays] or [np.zeros(0)])
    finite = joined[np.isfinite(joined)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    low = min(low, 0.0) if from_zero else low
    room = (high - low) * margin if high > low else abs(high) * 0.05 or 1.0
    return Scale(0.0 if from_zero and low == 0 else low - room, high + room)


def number_ticks(scale: Scale, most: int = 5, *, grouped: bool = True) -> list[Tick]:
    """Ticks at multiples of 1, 2 or 5 times a power of ten; `grouped` parts the thousands."""
    span = scale.high - scale.low
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if span / (power * factor) <= most)
    first = math.ceil(scale.low / step - 1e-9)
    values = [index * step for index in range(first, first + most + 2) if scale.contains(index * step)]
    return [Tick(float(scale.place(value)), _tick_label(value, step, grouped)) for value in values]


def _tick_label(value: float, step: float, grouped: bool) -> str:
    if abs(value) >= 1e6 or step < 1e-6:
        text = f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    else:
        text = f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
        text = text if grouped else text.replace(",", "")
    return text.replace("-", "\u2212")


def axis_numbers(parts: Sequence[pd.Index]) -> list[Floats]:
    """Put indexes on one axis: seconds for time stamps, the numbers themselves, or a place per row."""
    stamps = _as_stamps(parts)
    if stamps is not None:
        return [_seconds(part) for part in stamps]
    if _are_numbers(parts):
        return [np.asarray(part, float) for part in parts]
    ends = np.cumsum([len(part) for part in parts])
    return [np.arange(end - len(part), end, dtype=float) for end, part in zip(ends, parts, strict=True)]


def axis_ticks(parts: Sequence[pd.Index], scale: Scale, most: int = 5) -> list[Tick]:
    """Ticks for what `axis_numbers` placed: round times, or round numbers."""
    stamps = _as_stamps(parts)
    if stamps is not None:
        return time_ticks(scale, most, stamps[0].tz)
    if _are_numbers(parts):
        return number_ticks(scale, most, grouped=False)  # they may be years
    labels = [str(label) for part in parts for label in part]
    step = max(1, math.ceil(len(labels) / most))
    return [Tick(float(scale.place(row)), labels[row]) for row in range(0, len(labels), step)]


def _as_stamps(parts: Sequence[pd.Index]) -> list[pd.DatetimeIndex] | None:
    """Time stamps of every part, or `None` where one part has none."""
    found = [part.to_timestamp() if isinstance(part, pd.PeriodIndex) else part for part in parts]
    stamps = [part for part in found if isinstance(part, pd.DatetimeIndex)]
    return stamps if stamps and len(stamps) == len(found) else None


def _are_numbers(parts: Sequence[pd.Index]) -> bool:
    return all(pd.api.types.is_numeric_dtype(part.dtype) for part in parts)


def time_ticks(scale: Scale, most: int = 5, zone: tzinfo | None = None) -> list[Tick]:
    """Ticks at round times of the zone's clock; `scale` is in seconds."""
    low, high = (pd.Timestamp(edge, unit="s", tz="UTC").tz_convert(zone).tz_localize(None) for edge in scale)
    for step, frequency, shape in _TIME_STEPS:
        if (high - low) / step <= most:
            local = pd.date_range(_floor(low, frequency, step), high, freq=frequency)
            local = local[local >= low]
            found = local.tz_localize(zone, ambiguous="NaT", nonexistent="NaT")
            return [
                Tick(float(place), _time_label(stamp, shape, step))
                for place, stamp in zip(scale.place(_seconds(found)), local, strict=True)
                if np.isfinite(place)
            ]
    return number_ticks(scale, most)


def _floor(stamp: pd.Timestamp, frequency: str, step: pd.Timedelta) -> pd.Timestamp:
    if frequency.endswith("MS"):
        months = int(frequency[:-2])
        return stamp.normalize().replace(month=(stamp.month - 1) // months * months + 1, day=1)
    if frequency.endswith("YS"):
        years = int(frequency[:-2])
        return stamp.normalize().replace(year=max(stamp.year // years * years, 1), month=1, day=1)
    return stamp.floor(step)


def _time_label(stamp: pd.Timestamp, shape: str, step: pd.Timedelta) -> str:
    if step < pd.Timedelta(days=1) and stamp == stamp.normalize():
        return f"{stamp.day} {stamp:%b}"
    if "%-d" in shape:
        return f"{stamp.day} {stamp:%b}"
    return stamp.strftime(shape)


def _seconds(times: pd.DatetimeIndex) -> Floats:
    naive = times.tz_convert("UTC").tz_localize(None) if times.tz is not None else times
    return np.asarray((naive - pd.Timestamp(0)) / pd.Timedelta(seconds=1), float)


def stamps_in_words(times: pd.Index) -> list[str]:
    """Write time stamps to the minute, or to the day where none has a time of day."""
    if not isinstance(times, pd.DatetimeIndex):
        return [str(item) for item in times]
    wall = times.tz_localize(None)
    daily = bool((wall == wall.normalize()).all())
    return [stamp.strftime("%Y-%m-%d" if daily else "%Y-%m-%d %H:%M") for stamp in wall]
