"""Inputs of a column of dates besides the days that have passed: its year, month, weekday, day of month and hour.

Months and weekdays are few, so each has an input of its own and a linear model can give it any effect: a weekend, a
December. Days of the month and hours are many; they lie on a circle, as a sine and a cosine.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.config import Config
from multiway.data.scaling import Floats, Scaler

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
THURSDAY = 3
"""Weekday of the first of January 1970."""
LONGEST = 31
FAR = 3e6
"""Days from 1970 that a calendar is asked about at most: some eight thousand years."""


class DateParts(Config):
    """What training says of a column of dates; parts that never change there have no input."""

    column: str
    form: str
    """How training wrote its dates; later ones are read by it."""
    years: Scaler | None
    months: tuple[int, ...]
    """Those with an input, from 1."""
    weekdays: tuple[int, ...]
    """Those with an input, from Monday, which is 0."""
    has_days: bool
    has_hours: bool

    @classmethod
    def fit(cls, column: str, form: str, days: Floats) -> Self:
        """Learn from the days since 1970 of the training rows, NaN where missing."""
        parts = calendar(days[~np.isnan(days)])
        seen = {name: np.unique(values) for name, values in parts.items()}
        return cls(
            column=column, form=form, years=Scaler.fit(parts["year"][:, None]) if len(seen["year"]) > 1 else None,
            months=_levels(seen["month"]), weekdays=_levels(seen["weekday"]), has_days=len(seen["day"]) > 1,
            has_hours=len(seen["hour"]) > 1,
        )  # fmt: skip

    @property
    def names(self) -> tuple[str, ...]:
        """What each input is."""
        circles = [part for part, has in (("day", self.has_days), ("hour", self.has_hours)) if has]
        return (
            *([f"{self.column}: year"] if self.years else []),
            *(f"{self.column}: month {month}" for month in self.months),
            *(f"{self.column}: {WEEKDAYS[weekday]}" for weekday in self.weekdays),
            *(f"{self.column}: {part}, {side}" for part in circles for side in ("sine", "cosine")),
        )

    def inputs(self, days: NDArray[np.float64]) -> NDArray[np.float64]:
        """One input per name, `(rows, names)`; zeros where a date is missing."""
        known = ~np.isnan(days)
        parts = calendar(np.where(known, days, 0.0))
        columns = [self.years.transform(parts["year"][:, None])] if self.years else []
        columns += [parts["month"][:, None] == np.array(self.months, float)] if self.months else []
        columns += [parts["weekday"][:, None] == np.array(self.weekdays, float)] if self.weekdays else []
        columns += [circle((parts["day"] - 1) / LONGEST)] if self.has_days else []
        columns += [circle(parts["hour"] / 24)] if self.has_hours else []
        return np.where(known[:, None], np.hstack([np.empty((len(days), 0)), *columns]), 0.0)


def calendar(days: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Year, month (from 1), weekday (from Monday, 0), day of the month (from 1) and hour of days since 1970."""
    days = np.clip(days, -FAR, FAR)
    whole = np.floor(days)
    dates = whole.astype(np.int64).astype("datetime64[D]")
    years, months = dates.astype("datetime64[Y]"), dates.astype("datetime64[M]")
    return {
        "year": years.astype(float) + 1970,
        "month": (months - years).astype(float) + 1,
        "weekday": (whole + THURSDAY) % 7,
        "day": (dates - months).astype(float) + 1,
        "hour": (days - whole) * 24,
    }


def circle(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sine and cosine `(rows, 2)` of shares of a turn."""
    angles = 2 * np.pi * turns
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


def _levels(seen: NDArray[np.float64]) -> tuple[int, ...]:
    """Levels with an input of their own: none where there is but one."""
    return tuple(map(int, seen)) if len(seen) > 1 else ()
