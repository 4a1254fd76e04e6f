"""What lies between two times: a step that pandas knows, or the sessions of a week."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.tseries.frequencies import to_offset

from multiway.errors import DataError

SEASONS = {"B": 5, "W": 52, "MS": 12, "ME": 12, "BMS": 12, "BME": 12, "QS": 4, "QE": 4}
MONTHS = {"M": 1, "Q": 3, "Y": 12}
HOUR, DAY, WEEK = 3_600, 86_400, 604_800
"""In seconds."""
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONDAY = pd.Timestamp("1969-12-29")
"""The start of the week that holds the first moment of Unix time."""
PART = re.compile(r"(?:([a-z]{3}(?:[,-][a-z]{3})*) ?)?([\d:,-]+)?", re.IGNORECASE)
"""Weekdays and times of day of the sessions of some days."""
FEWEST_DAYS, FEWEST_CLOSED = 5, 2
"""Days with rows from which times of day are learnt, and days of a weekday without any that make it a closed one."""
FIT, FILL, LAST, LAST_FILL = 0.95, 0.8, 10, 0.9
"""Shares of rows in sessions and of sessions with rows at least; on the last days with rows more have to be there."""
LEAST_CLOSED, LONGEST = 0.1, 120
"""Part of a week that sessions leave out at least, and characters that they are written in at most."""


@dataclasses.dataclass(frozen=True)
class Regular:
    """A step that pandas knows by an alias, such as h, 10min, D, B, W-MON or MS."""

    alias: str

    @functools.cached_property
    def offset(self) -> pd.offsets.BaseOffset:
        """As pandas has it."""
        return to_offset(self.alias)

    @property
    def name(self) -> str:
        """The alias without a number, and without the day or month that it is bound to."""
        return str(self.offset.rule_code.split("-")[0])

    @property
    def keeps_hour(self) -> bool:
        """Whether it counts days or more, which keep their hour when clocks change."""
        return self.name == "D" or not isinstance(self.offset, pd.offsets.Tick)

    @property
    def length(self) -> pd.Timedelta:
        """Mean of ten steps."""
        start = pd.Timestamp("2001-01-01")
        return (start + 10 * self.offset - start) / 10

    @property
    def season(self) -> int:
        """A day for hours and minutes, a week for days, a year for longer steps; else 1."""
        number = self.offset.n
        if self.name == "D":
            return 7 if number == 1 else 1
        if self.name in SEASONS:
            return SEASONS[self.name] // number if SEASONS[self.name] % number == 0 else 1
        if self.keeps_hour:
            return 1
        steps = pd.Timedelta(days=1) / self.length
        return int(steps) if steps >= 2 and steps == int(steps) else 1

    def clock(self, wall: pd.DatetimeIndex) -> NDArray[np.int64]:
        """The number of every time in steps of the calendar, by the clock on the wall."""
        if self.name == "B":
            return np.busday_count("1970-01-01", wall.to_numpy("datetime64[D]")).astype(np.int64)
        if self.name.lstrip("B")[0] in MONTHS and self.keeps_hour:
            months = MONTHS[self.name.lstrip("B")[0]] * self.offset.n
            return (12 * wall.year + wall.month - 1).to_numpy(np.int64) // months
        length = pd.Timedelta(weeks=self.offset.n) if self.name == "W" else self.length
        if wall.unit != "ns" and length.value % 1000 == 0:  # nanoseconds end in 1677 and 2262
            return wall.as_unit("us").asi8 // (length.value // 1000)
        return wall.as_unit("ns").asi8 // length.value

    def times(self, first: pd.Timestamp, end: pd.Timestamp | int) -> pd.DatetimeIndex:
        """Times from one on, up to the last or so many."""
        if isinstance(end, int):
            return pd.date_range(first, freq=self.alias, periods=end)
        return pd.date_range(first, freq=self.alias, end=end)


@dataclasses.dataclass(frozen=True)
class Sessions:
    """Times of a week at which there are rows: those of trading, work or opening, or days.

    Written as a step, days and times: `h Mon-Fri 09:30-15:30`, `D Mon-Sat`, `30min 09:00-17:00`,
    `h Mon-Fri 09:00-17:00; Sat 09:00-12:00`.
    """

    slots: tuple[int, ...]
    """Seconds from midnight on Monday, by the clock on the wall, in order."""
    keeps_hour = True

    @functools.cached_property
    def places(self) -> NDArray[np.int64]:
        """The slots as an array."""
        return np.array(self.slots)

    @property
    def step(self) -> int:
        """The shortest step within a day, in seconds; a day where each has one time."""
        return min([b - a for a, b in itertools.pairwise(self.slots) if a // DAY == b // DAY], default=DAY)

    @property
    def length(self) -> pd.Timedelta:
        """The shortest step within a day."""
        return pd.Timedelta(seconds=self.step)

    @functools.cached_property
    def season(self) -> int:
        """Steps of a session, if a step's time of day comes back after so many; else those of a week."""
        counts = np.bincount(self.places // DAY)
        daily, hours = int(np.bincount(counts[counts > 0]).argmax()), self.places % DAY
        comes_back = float((np.roll(hours, -daily) == hours).mean()) >= 1 - LEAST_CLOSED
        return daily if daily > 1 and comes_back else len(hours)

    def clock(self, wall: pd.DatetimeIndex) -> NDArray[np.int64]:
        """The number of every time in steps of the sessions; between them that of the last one."""
        weeks, seconds = np.divmod(_seconds(wall), WEEK)
        return weeks * len(self.slots) + np.searchsorted(self.places, seconds, side="right") - 1

    def times(self, first: pd.Timestamp, end: pd.Timestamp | int) -> pd.DatetimeIndex:
        """Times of sessions from the first that is not before one, up to the last or so many."""
        number = int(self.clock(pd.DatetimeIndex([first]))[0])
        if self._at(np.array([number]))[0] < first:
            number += 1
        stop = number + end if isinstance(end, int) else int(self.clock(pd.DatetimeIndex([end]))[0]) + 1
        return self._at(np.arange(number, stop))

    def last_until(self, time: pd.Timestamp) -> pd.Timestamp:
        """The last time of a session that is not after one."""
        return self._at(self.clock(pd.DatetimeIndex([time])))[0]

    def _at(self, numbers: NDArray[np.int64]) -> pd.DatetimeIndex:
        weeks, places = np.divmod(numbers, len(self.slots))
        return MONDAY + pd.to_timedelta(weeks * WEEK + self.places[places], unit="s")

    def __str__(self) -> str:
        days: dict[tuple[int, ...], list[int]] = {}
        for day, slots in itertools.groupby(self.slots, lambda slot: slot // DAY):
            days.setdefault(tuple(slot % DAY for slot in slots), []).append(day)
        parts = [
            ("" if len(own) == 7 else _ranges(own, 1, DAYS.__getitem__), _ranges(hours, self.step, _clock_time))
            for hours, own in days.items()
        ]
        written = "; ".join(f"{own} {'' if hours == '00:00' else hours}".strip() for own, hours in parts)
        return f"{to_offset(self.length).freqstr if self.step < DAY else 'D'} {written}".strip()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes; raises ValueError where that is not it."""
        alias, _, parts = text.strip().partition(" ")
        step, slots = int(Regular(alias).length.total_seconds()), set[int]()
        for part in parts.split(";"):
            match = PART.fullmatch(" ".join(part.split()))
            if match is None or not part.strip() or not 0 < step <= DAY:
                raise ValueError(part)
            days = _numbers(match[1] or "Mon-Sun", 1, lambda word: DAYS.index(word.capitalize()), 7)
            hours = _numbers(match[2] or "00:00", step, _seconds_of, DAY)
            slots |= {DAY * day + hour for day in days for hour in hours}
        return cls(tuple(sorted(slots)))

    @classmethod
    def find(cls, times: pd.DatetimeIndex) -> Self | None:
        """The sessions that nearly all times are in, and nearly all of which are there; holidays are gaps in them.

        A weekday is open if it has rows in half of the weeks, and a time of day if it is there on half of the days with
        rows, of that weekday where these are enough. On the last days with rows, too, sessions hold.

        Args:
            times: Different ones, in order.
        """
        wall = times.tz_localize(None)
        days, seconds = np.divmod(_seconds(wall), DAY)
        seen = np.unique(days)
        span = np.bincount(np.arange(seen[0], seen[-1] + 1) % 7, minlength=7)
        is_open = np.bincount(seen % 7, minlength=7) >= np.maximum(span, 1) / 2
        if len(seen) < FEWEST_DAYS or (span[~is_open] < FEWEST_CLOSED).any():
            return None
        slots: list[int] = []
        for day in np.flatnonzero(is_open):
            own = days % 7 == day
            own = own if len(np.unique(days[own])) >= FEWEST_DAYS else np.ones_like(own)
            hours, counts = np.unique(seconds[own], return_counts=True)
            slots += (DAY * day + hours[counts >= len(np.unique(days[own])) / 2]).tolist()
        least = int(pd.Series(np.diff(_seconds(wall))).mode().iloc[0])
        if len(slots) < 2 or len(slots) > (1 - LEAST_CLOSED) * WEEK / max(least, 1):
            return None
        found, late = cls(tuple(slots)), seen[-LAST - 1 : -1]  # the last day may not be over
        is_in, is_late = np.isin(days % 7 * DAY + seconds, found.places), np.isin(days, late)
        first, last = found.clock(wall[[0, -1]])
        wanted = np.bincount(found.places // DAY, minlength=7)[late % 7].sum()
        holds = is_in.mean() >= FIT and is_in.sum() >= FILL * (last - first + 1)
        holds_late = is_in[is_late].mean() >= FIT and is_in[is_late].sum() >= LAST_FILL * wanted
        return found if holds and holds_late and len(str(found)) <= LONGEST else None


@dataclasses.dataclass(frozen=True)
class MonthDay:
    """One day of every month, or its last one where it is shorter: `MS 30` for the 30th."""

    day: int
    keeps_hour = True
    name, season, length = "MS", Regular("MS").season, Regular("MS").length

    def clock(self, wall: pd.DatetimeIndex) -> NDArray[np.int64]:
        """The number of every time in months; before the day that of the month before."""
        is_before = wall.day < np.minimum(self.day, wall.days_in_month)
        return np.asarray(12 * wall.year + wall.month - 1 - is_before, np.int64)

    def times(self, first: pd.Timestamp, end: pd.Timestamp | int) -> pd.DatetimeIndex:
        """Days from the first that is not before a time, by its hour, up to the last or so many."""
        number, hour = int(self.clock(pd.DatetimeIndex([first]))[0]), first - first.normalize()
        number += self._at(np.array([number]))[0] + hour < first
        stop = number + end if isinstance(end, int) else int(self.clock(pd.DatetimeIndex([end]))[0]) + 1
        times = self._at(np.arange(number, stop)) + hour
        return times if isinstance(end, int) else times[times <= end]

    def last_until(self, time: pd.Timestamp) -> pd.Timestamp:
        """The last of these days that is not after a time."""
        return self._at(self.clock(pd.DatetimeIndex([time])))[0]

    def _at(self, numbers: NDArray[np.int64]) -> pd.DatetimeIndex:
        months = pd.DatetimeIndex((numbers - 12 * 1970).astype("datetime64[M]"))
        return months + pd.to_timedelta(np.minimum(self.day, months.days_in_month) - 1, unit="D")

    def __str__(self) -> str:
        return f"MS {self.day}"

    @classmethod
    def find(cls, times: pd.DatetimeIndex) -> Self | None:
        """The day that nearly all times are on; None where they are on several, or on the first."""
        found = cls(int(times.day.max()))
        is_on = np.asarray(times.day == np.minimum(found.day, times.days_in_month))
        return found if found.day > 1 and is_on.mean() >= FIT else None


Step = Regular | Sessions | MonthDay
PLAIN = [*(unit * count for unit in (1, 60) for count in (1, 2, 5, 10, 15, 20, 30)), HOUR, 6 * HOUR, 12 * HOUR, DAY]
"""Seconds of steps that clocks are read at."""
NEAR, LONGEST_OFF = 20, 60
"""Part of a step within which stamps lie near it, and seconds that they are off at most."""
FEWEST_STAMPS, OFF = 20, 0.25
"""Stamps that show that all lie near a step, and the share of them that is off it."""


def near_step(times: pd.DatetimeIndex) -> tuple[str, int] | None:
    """The step that all times are some seconds off, early or late, and how many; None where they are on it, or far."""
    seconds = times.tz_convert(None).as_unit("us").asi8 if times.tz else times.as_unit("us").asi8
    for step in PLAIN[::-1] if len(times) >= FEWEST_STAMPS else []:
        length = step * 1_000_000
        off = (seconds + length // 2) % length - length // 2
        if np.abs(off).max() > min(length / NEAR, LONGEST_OFF * 1_000_000) or (step > HOUR and times.tz):
            continue
        is_jitter = off.min() < off.max() and (off != 0).mean() >= OFF
        return (
            (str(to_offset(pd.Timedelta(seconds=step)).freqstr), int(np.abs(off).max() // 1e6)) if is_jitter else None
        )
    return None


@functools.lru_cache(maxsize=32)
def step_of(frequency: str) -> Step:
    """What a frequency says.

    Raises:
        DataError: It is no alias of pandas, and no sessions.
    """
    try:
        if re.fullmatch(r"MS ([1-9]|[12]\d|3[01])", frequency):
            return MonthDay(int(frequency[3:]))
        if " " in frequency.strip():
            return Sessions.parse(frequency)
        to_offset(frequency)
        return Regular(frequency)
    except (ValueError, TypeError):
        raise DataError(
            f"frequency: '{frequency}' is no step that pandas knows. Write h, 10min, D, W-MON or MS; "
            "or a step with its days and times, as in 'h Mon-Fri 09:30-15:30'."
        ) from None


def _seconds(wall: pd.DatetimeIndex) -> NDArray[np.int64]:
    """Whole seconds from a Monday on."""
    return np.asarray((wall - MONDAY) // pd.Timedelta(seconds=1), np.int64)


def _seconds_of(word: str) -> int:
    hours, minutes, *rest = map(int, word.split(":"))
    return HOUR * hours + 60 * minutes + sum(rest)


def _clock_time(seconds: int) -> str:
    words = f"{seconds // HOUR:02d}:{seconds % HOUR // 60:02d}"
    return f"{words}:{seconds % 60:02d}" if seconds % 60 else words


def _ranges(numbers: Sequence[int], step: int, spell: Callable[[int], str]) -> str:
    """Numbers as ranges with one step: "Mon-Wed,Sat"."""
    breaks = [0, *(place for place in range(1, len(numbers)) if numbers[place] - numbers[place - 1] != step)]
    runs = [numbers[start:stop] for start, stop in itertools.pairwise([*breaks, len(numbers)])]
    return ",".join(spell(run[0]) + (f"-{spell(run[-1])}" if len(run) > 1 else "") for run in runs)


def _numbers(text: str, step: int, read: Callable[[str], int], limit: int) -> list[int]:
    """Numbers below a limit that ranges say; of weekdays they may go over the end of the week."""
    numbers: list[int] = []
    for word in text.split(","):
        first, _, last = word.partition("-")
        start, stop = read(first), read(last or first)
        if max(start, stop) >= limit or (limit > 7 and stop < start):
            raise ValueError(word)
        numbers += [number % limit for number in range(start, start + (stop - start) % limit + 1, step)]
    return numbers
