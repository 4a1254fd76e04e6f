"""Times of a grid in any calendar: their step, their season, and those that follow."""

import dataclasses
import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.config import Config
from multiway.data.findings import list_some
from multiway.errors import DataError

DAY = 86_400.0
LONGEST = 200 * DAY
"""Steps from which on a year has no season."""
TOLERATED = 0.01
"""Share of a step by which another may differ."""
Whole = NDArray[np.int64]


class Step(Config):
    """What lies between two times: calendar months, or seconds; of plain numbers, their difference."""

    months: int = 0
    length: float = 0.0


@dataclasses.dataclass(frozen=True, eq=False)
class Times:
    """Times of the rows of a grid.

    moments: Each a `datetime`, a date of cftime, or a plain number.
    calendar: `standard`, or as cftime calls it; empty for plain numbers.
    """

    moments: list[Any]
    calendar: str

    @classmethod
    def read(cls, values: NDArray[Any]) -> "Times":
        """Times as a file gives them; words are dates as ISO 8601 writes them.

        Raises:
            DataError: They are other words, or one is missing.
        """
        if values.dtype.kind == "O" and all(hasattr(each, "calendar") for each in values):
            return cls(values.tolist(), str(values[0].calendar))
        if values.dtype.kind in "iufb":
            return cls(values.astype(np.float64).tolist(), "")
        try:
            moments = values.astype(str).astype("datetime64[us]")
        except ValueError:
            moments = np.array(["NaT"], "datetime64[us]")
        if np.isnat(moments).any():
            raise DataError(f"times are dates such as 2024-01-31. Got {list_some(values, 3)}.")
        return cls(moments.tolist(), "standard")

    def __len__(self) -> int:
        return len(self.moments)

    @property
    def values(self) -> NDArray[Any]:
        """As xarray holds them."""
        is_usual = isinstance(self.moments[0], datetime.datetime)
        return np.array(self.moments, "datetime64[ns]" if is_usual else object if self.calendar else float)

    @property
    def months(self) -> Whole:
        """Calendar months since the year 0."""
        return np.array([12 * each.year + each.month - 1 for each in self.moments])

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Seconds since 1970; plain numbers as they are."""
        if not self.calendar:
            return np.array(self.moments, float)
        start = self.moments[0].replace(year=1970, month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
        return np.array([(each - start).total_seconds() for each in self.moments])

    def words(self) -> list[str]:
        """Each time as text, with a clock where steps are shorter than days."""
        if not self.calendar:
            return [f"{each:g}" for each in self.moments]
        is_short = len(self) > 1 and np.median(np.diff(self.seconds)) < DAY
        return [each.isoformat() if is_short else each.isoformat().partition("T")[0] for each in self.moments]

    def step(self) -> tuple[Step, Whole]:
        """The usual step, and the places of times that do not follow the one before by it."""
        months = np.diff(self.months) if self.calendar else np.zeros(1, int)
        if np.median(months) >= 1:
            usual = int(np.median(months))
            return Step(months=usual), np.flatnonzero(months != usual) + 1
        lengths = np.diff(self.seconds)
        length = float(np.median(lengths))
        return Step(length=length), np.flatnonzero(~(np.abs(lengths - length) < TOLERATED * abs(length))) + 1

    def season(self, step: Step) -> int:
        """Steps of a year, or of a day for shorter steps; 1 where none repeats."""
        if step.months:
            return 12 // step.months if 12 % step.months == 0 else 1
        if not self.calendar or step.length >= LONGEST:
            return 1
        if step.length < DAY:
            return round(DAY / step.length) if DAY % step.length == 0 else 1
        return round((360 if self.calendar == "360_day" else 365) * DAY / step.length)

    def phases(self, step: Step, period: int) -> Whole:
        """Place of each time in its season, from 0: by the calendar, so that later files agree."""
        places: Whole = self.months // step.months if step.months else np.rint(self.seconds / step.length).astype(int)
        if self.calendar and period == self.season(step) > 1 and DAY <= step.length < LONGEST:
            days = np.array([each.timetuple().tm_yday - 1 for each in self.moments])
            places = (days * DAY / step.length).astype(np.int64).clip(max=period - 1)
        return places % period

    def later(self, step: Step, count: int) -> "Times":
        """So many times after the last; a day that its month lacks becomes the last of it."""
        last, found = self.moments[-1], []
        day = max(each.day for each in self.moments) if step.months else 0
        for ahead in range(1, count + 1):
            if step.months:
                months = 12 * last.year + last.month - 1 + step.months * ahead
                found.append(_in_month(last, months // 12, months % 12 + 1, day))
            else:
                length = step.length * ahead
                found.append(last + (datetime.timedelta(seconds=length) if self.calendar else length))
        return Times(found, self.calendar)


def _in_month(time: Any, year: int, month: int, day: int) -> Any:
    """The same clock on a day of another month, or on its last day."""
    for each in range(day, 28, -1):
        try:
            return time.replace(year=year, month=month, day=each)
        except ValueError:
            continue
    return time.replace(year=year, month=month, day=min(day, 28))
