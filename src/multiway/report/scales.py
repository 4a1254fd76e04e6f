"""Places on an axis: numbers for time stamps, ticks at round values or times; and the colours of models."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_numeric_dtype

Floats = npt.NDArray[np.float64]

# Steps of ticks in time; the finest that gives no more ticks than requested is taken.
_STEPS = [
    pd.Timedelta(f"{count}{unit}")
    for unit, counts in {"s": (1, 5, 15, 30), "min": (1, 5, 15, 30), "h": (1, 3, 6, 12), "D": (1, 2, 5, 10)}.items()
    for count in counts
]
_MONTH = pd.Timedelta(days=30.4375)
_MONTHS = (1, 2, 3, 6, *(12 * years for years in (1, 2, 5, 10, 20, 50, 100)))


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
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    ticks = []
    for value in (index * step for index in range(first, last + 1)):
        if abs(value) >= 1e6 or step < 1e-6:
            label = f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
        else:
            label = f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
            label = label if grouped else label.replace(",", "")
        ticks.append(Tick(float(scale.place(value)), label.replace("-", "\u2212")))
    return ticks


def axis_numbers(parts: Sequence[pd.Index]) -> list[Floats]:
    """Put indexes on one axis: seconds for time stamps, the numbers themselves, or a place per row."""
    joined = _join_indexes(parts)
    if isinstance(joined, pd.DatetimeIndex):
        numbers = _seconds(joined)
    else:
        numbers = np.asarray(joined if is_numeric_dtype(joined.dtype) else range(len(joined)), float)
    return np.split(numbers, np.cumsum([len(part) for part in parts])[:-1])


def axis_ticks(parts: Sequence[pd.Index], scale: Scale, most: int) -> list[Tick]:
    """Ticks for what `axis_numbers` placed: round times, or round numbers."""
    joined = _join_indexes(parts)
    if isinstance(joined, pd.DatetimeIndex):
        return time_ticks(scale, most, joined.tz)
    if is_numeric_dtype(joined.dtype):
        return number_ticks(scale, most, grouped=False)  # they may be years
    step = max(1, math.ceil(len(joined) / most))
    return [Tick(float(scale.place(row)), str(joined[row])) for row in range(0, len(joined), step)]


def _join_indexes(parts: Sequence[pd.Index]) -> pd.Index:
    joined = parts[0].append(list(parts[1:]))
    return joined.to_timestamp() if isinstance(joined, pd.PeriodIndex) else joined


def time_ticks(scale: Scale, most: int, zone: tzinfo | None) -> list[Tick]:
    """Ticks at round times of the zone's clock; `scale` is in seconds."""
    edges = pd.DatetimeIndex(np.round(np.multiply(scale, 1e6)).astype("M8[us]"), tz="UTC")  # ns end in 1677 and 2262
    low, high = edges.tz_convert(zone).tz_localize(None)
    local, shape = _round_times(low, high, most)
    days = local == local.normalize() if "%H" in shape else np.zeros(len(local))  # midnight is written as the day
    places = scale.place(_seconds(local.tz_localize(zone, ambiguous="NaT", nonexistent="NaT")))
    return [
        Tick(float(position), f"{stamp.day} {stamp:%b}" if is_day else stamp.strftime(shape))
        for position, stamp, is_day in zip(places, local, days, strict=True)
        if np.isfinite(position)
    ]


def _round_times(low: pd.Timestamp, high: pd.Timestamp, most: int) -> tuple[pd.DatetimeIndex, str]:
    """Times at the finest step that suits, and how they are written."""
    for step in _STEPS:
        if (high - low) / step <= most:
            return pd.date_range(low.ceil(step), high, freq=step), "%H:%M" if step.seconds % 60 == 0 else "%H:%M:%S"
    months = next((count for count in _MONTHS if (high - low) / (count * _MONTH) <= most), _MONTHS[-1])
    firsts = pd.date_range(low.ceil("D"), high, freq="MS")
    return firsts[(12 * firsts.year + firsts.month - 1) % months == 0], "%b %Y" if months < 12 else "%Y"


def _seconds(times: pd.DatetimeIndex) -> Floats:
    naive = times.tz_convert("UTC").tz_localize(None) if times.tz is not None else times
    return np.asarray((naive.as_unit("us") - pd.Timestamp(0).as_unit("us")) / pd.Timedelta(seconds=1), float)


def stamps_in_words(times: pd.Index) -> list[str]:
    """Write time stamps to the minute, or to the day where none has a time of day."""
    if not isinstance(times, pd.DatetimeIndex):
        return [str(item) for item in times]
    wall = times.tz_localize(None)
    daily = bool((wall == wall.normalize()).all())
    return [stamp.strftime("%Y-%m-%d" if daily else "%Y-%m-%d %H:%M") for stamp in wall]


NUM_COLOURS = 8
NUM_LINES = 2 * NUM_COLOURS
"""Lines that can be told apart: every colour with two dashes."""
_USUAL = {"ridge": 1, "seasonal naive": 2, "naive": 3, "network": 4, "blend": 5}


def title(model: str) -> str:
    """Write a model's name as it is read: underscores become spaces."""
    return model.replace("_", " ").strip() or "model"


def colour_numbers(models: Iterable[str], chosen: str | None) -> dict[str, int]:
    """Give each name the number of its colour, the chosen one 0."""
    names = list(dict.fromkeys(models))
    numbers = {chosen: 0} if chosen is not None else {}
    for model in names:
        usual = _USUAL.get(title(model).lower())
        if model not in numbers and usual is not None and usual not in numbers.values():
            numbers[model] = usual
    for model in names:
        if model not in numbers:
            free = (index for index in (0, *range(4, NUM_COLOURS)) if index not in numbers.values())
            numbers[model] = next(free, len(numbers) % NUM_COLOURS)
    return numbers


def order_models(models: Iterable[str], numbers: Mapping[str, int]) -> list[str]:
    """Models in the order of their colours, the chosen first; those that share a colour as they were numbered."""
    places = {model: place for place, model in enumerate(numbers)}
    return sorted(models, key=lambda model: (numbers.get(model, NUM_COLOURS), places.get(model, len(places))))
