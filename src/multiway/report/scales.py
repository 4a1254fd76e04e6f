"""Places on an axis: numbers for time stamps, and ticks at round values or round times."""

import math
from collections.abc import Sequence
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
    room = (high - low) * margin or abs(high) * 0.05 or 1.0
    return Scale(0.0 if from_zero and low == 0 else low - room, high + room)


def number_ticks(scale: Scale, most: int = 5) -> list[Tick]:
    """Ticks at multiples of 1, 2 or 5 times a power of ten."""
    span = scale.high - scale.low
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if span / (power * factor) <= most)
    first = math.ceil(scale.low / step - 1e-9)
    values = [index * step for index in range(first, first + most + 2) if scale.contains(index * step)]
    return [Tick(float(scale.place(value)), _tick_label(value, step)) for value in values]


def _tick_label(value: float, step: float) -> str:
    if abs(value) >= 1e6 or step < 1e-6:
        text = f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    else:
        text = f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
    return text.replace("-", "\u2212")


def axis_numbers(parts: Sequence[pd.Index]) -> list[Floats]:
    """Put several indexes on one axis: seconds for time stamps, the numbers themselves, or one place per row."""
    parts = [part.to_timestamp() if isinstance(part, pd.PeriodIndex) else part for part in parts]
    if all(isinstance(part, pd.DatetimeIndex) for part in parts):
        return [_seconds(part) for part in parts]
    if all(pd.api.types.is_numeric_dtype(part.dtype) for part in parts):
        return [np.asarray(part, float) for part in parts]
    starts = np.cumsum([0, *(len(part) for part in parts)])
    return [np.arange(start, start + len(part), dtype=float) for start, part in zip(starts, parts, strict=False)]


def axis_ticks(parts: Sequence[pd.Index], scale: Scale, most: int = 5) -> list[Tick]:
    """Ticks for what `axis_numbers` placed: round times, or round numbers."""
    stamps = [part.to_timestamp() if isinstance(part, pd.PeriodIndex) else part for part in parts]
    if all(isinstance(part, pd.DatetimeIndex) for part in stamps):
        zone = next((part.tz for part in stamps if isinstance(part, pd.DatetimeIndex)), None)
        return time_ticks(scale, most, zone)
    if all(pd.api.types.is_numeric_dtype(part.dtype) for part in stamps):
        return number_ticks(scale, most)
    labels = [str(label) for part in stamps for label in part]
    step = max(1, math.ceil(len(labels) / most))
    return [Tick(float(scale.place(row)), labels[row]) for row in range(0, len(labels), step)]


def time_ticks(scale: Scale, most: int = 5, zone: object = None) -> list[Tick]:
    """Ticks at round times of the zone's clock; `scale` is in seconds."""
    ends = pd.to_datetime([scale.low * 1e9, scale.high * 1e9], utc=True).tz_convert(zone)  # type: ignore[call-overload]
    low, high = ends.tz_localize(None)
    for step, frequency, shape in _TIME_STEPS:
        if (high - low) / step <= most:
            local = pd.date_range(_floor(low, frequency, step), high, freq=frequency)
            local = local[local >= low][: most + 1]
            found = local.tz_localize(zone, ambiguous="NaT", nonexistent="NaT")  # type: ignore[arg-type]
            kept = ~found.isna()
            places = scale.place(_seconds(found[kept]))
            labels = [_time_label(stamp, shape, step) for stamp in local[kept]]
            return [Tick(float(place), label) for place, label in zip(places, labels, strict=True)]
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
    return np.asarray(naive.to_numpy().astype("datetime64[ns]").astype("int64") / 1e9)


def stamps_in_words(times: pd.Index) -> list[str]:
    """Write time stamps to the minute, or to the day where none has a time of day."""
    if not isinstance(times, pd.DatetimeIndex):
        return [str(item) for item in times]
    wall = times.tz_localize(None)
    daily = bool((wall == wall.normalize()).all())
    return [stamp.strftime("%Y-%m-%d" if daily else "%Y-%m-%d %H:%M") for stamp in wall]
