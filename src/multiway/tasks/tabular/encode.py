"""From cells of a table to one array of inputs, by what the training rows say.

A date is its days that have passed, and its year, month, weekday, day of month and hour. Months and weekdays are few,
so each has an input of its own and a linear model can give it any effect: a weekend, a December. Days of the month and
hours are many; they lie on a circle, as a sine and a cosine.
"""

import functools
from typing import Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from pydantic import model_validator
from torch import Tensor

from multiway.config import Config
from multiway.data.findings import quote
from multiway.data.samples import Cells, Samples
from multiway.data.scaling import Floats, Scaler
from multiway.tasks.stored import same_length
from multiway.tasks.tabular.means import TargetMeans
from multiway.tasks.targets import rare_class

FARTHEST = 1e6
"""Deviations from the mean beyond which a number is taken as that far, so that float32 can hold what follows."""
MISSING = "(missing)"
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
THURSDAY = 3
"""Weekday of the first of January 1970."""
LONGEST = 31
FAR = 3e6
"""Days from 1970 that a calendar covers at most: some eight thousand years."""


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
            column=column,
            form=form,
            years=Scaler.fit(parts["year"][:, None]) if len(seen["year"]) > 1 else None,
            months=_several(seen["month"]),
            weekdays=_several(seen["weekday"]),
            has_days=len(seen["day"]) > 1,
            has_hours=len(seen["hour"]) > 1,
        )

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


def _several(seen: NDArray[np.float64]) -> tuple[int, ...]:
    """Levels with an input of their own: none where there is but one."""
    return tuple(map(int, seen)) if len(seen) > 1 else ()


class TableState(Config):
    """What was learnt from the training rows."""

    numbers: tuple[str, ...]
    """Columns of numbers, then of dates as days; later tables are matched to them by name."""
    categories: tuple[str, ...]
    """Columns of words, likewise."""
    target_name: str
    """The column to predict."""
    target_sign: str = ""
    """The currency or percent sign without which its numbers are read."""
    classes: tuple[str, ...] | None
    """Names of the target's classes; None where it is a number."""
    medians: Floats
    """One per number; put in place of missing cells."""
    indicated: tuple[int, ...]
    """Positions of the numbers that missed cells in training; each has an input of 0 or 1 that says so."""
    scaler: Scaler
    """Mean and deviation of each number, medians filled in."""
    levels: tuple[tuple[str, ...], ...]
    """Of each category, those with an input of their own; any other cell is 0 in all of them, and many have means."""
    target: Scaler | None
    """Mean and deviation of a target that is a number."""
    dates: tuple[DateParts, ...] = ()
    """Parts of the dates, the last of the numbers, in their order."""
    means: tuple[TargetMeans, ...] = ()
    """Of categories of many levels, which have no input per level."""
    rare: Literal[0, 1] | None = None
    """Position of the rarer of two classes, where few training rows have it."""

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        if tuple(parts.column for parts in self.dates) != self.numbers[len(self.numbers) - len(self.dates) :]:
            raise ValueError("dates that are not the last of the numbers")
        numbers = {"medians": self.medians, "mean": self.scaler.mean, "std": self.scaler.std}
        same_length({"numbers": self.numbers, **numbers})
        same_length({"categories": self.categories, "levels": self.levels})
        if not {means.column for means in self.means} <= set(self.categories):
            raise ValueError("means of columns that are no categories")
        return self

    @classmethod
    def fit(cls, rows: Samples[Cells], max_levels: int = 100) -> Self:
        """Learn from samples: the training rows and no others."""
        cells = rows.inputs
        missing = np.isnan(cells.numbers)
        present = [column[~np.isnan(column)] for column in cells.numbers.T]
        medians = np.array([float(np.median(column)) if len(column) else 0.0 for column in present])
        categories = dict(zip(cells.of_words, cells.words.T, strict=True))
        has_means = {name: len(pd.unique(column)) > max_levels for name, column in categories.items()}
        return cls(
            numbers=cells.of_numbers,
            categories=cells.of_words,
            target_name=rows.target_name or "",
            target_sign=rows.target_sign,
            classes=rows.classes,
            medians=medians,
            indicated=tuple(map(int, np.flatnonzero(missing.any(0)))),
            scaler=Scaler.fit(np.where(missing, medians, cells.numbers)),
            levels=tuple(
                () if has_means[name] else tuple(np.unique(column.astype(str)).tolist())
                for name, column in categories.items()
            ),
            target=None if rows.target is None or rows.classes is not None else Scaler.fit(rows.target[:, None]),
            dates=tuple(
                DateParts.fit(name, form, cells.numbers[:, cells.of_numbers.index(name)])
                for name, form in cells.dates.items()
            ),
            rare=None if rows.target is None else rare_class(rows.target, rows.classes),
            means=tuple(TargetMeans.fit(name, column, rows) for name, column in categories.items() if has_means[name]),
        )

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """What each input is."""
        return (
            *self.numbers,
            *(f"{self.numbers[position]} is missing" for position in self.indicated),
            *(
                f"{name} = {level or MISSING}"
                for name, levels in zip(self.categories, self.levels, strict=True)
                for level in levels
            ),
            *(name for parts in self.dates for name in parts.names),
            *(name for means in self.means for name in means.names),
        )

    @property
    def num_inputs(self) -> int:
        """Inputs of a row."""
        return len(self.names)

    @property
    def num_outputs(self) -> int:
        """Classes, or 1 for a number."""
        return 1 if self.classes is None else len(self.classes)

    def inputs(self, cells: Cells) -> NDArray[np.float32]:
        """Inputs `(rows, inputs)`: scaled numbers, indicators of missing ones, levels, parts of dates, means."""
        missing = np.isnan(cells.numbers)
        numbers = self.scaler.transform(np.where(missing, self.medians, cells.numbers))
        parts = [np.clip(numbers, -FARTHEST, FARTHEST), missing[:, list(self.indicated)]]
        for column, levels in zip(cells.words.T, self.levels, strict=True):
            codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(column))
            parts.append(np.arange(len(levels)) == codes[:, None])
        dated = cells.numbers.T[len(self.numbers) - len(self.dates) :]
        parts += [own.inputs(days) for own, days in zip(self.dates, dated, strict=True)]
        parts += [own.inputs(self._words(cells, own.column)) for own in self.means]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def training_inputs(self, rows: Samples[Cells]) -> NDArray[np.float32]:
        """Inputs of the training rows, where no mean of a level has seen the row's own target."""
        inputs = self.inputs(rows.inputs)
        means = [own.leave_out(self._words(rows.inputs, own.column), rows) for own in self.means]
        return np.hstack([inputs[:, : len(self.names) - sum(own.shape[1] for own in means)], *means]).astype(np.float32)

    def _words(self, cells: Cells, column: str) -> NDArray[np.object_]:
        words: NDArray[np.object_] = cells.words[:, self.categories.index(column)]
        return words

    def unknown(self, cells: Cells) -> dict[str, int]:
        """Cells of each category whose level training had not, of those with any."""
        columns = zip(self.categories, cells.words.T, self.levels, strict=True)
        counts = {name: int((~np.isin(column.astype(str), levels)).sum()) for name, column, levels in columns}
        counts |= {own.column: int((~own.is_known(self._words(cells, own.column))).sum()) for own in self.means}
        return {name: count for name, count in counts.items() if count}

    def encode(self, rows: Samples[Cells]) -> Samples[Tensor]:
        """Rows as the network takes them; numbers to predict are scaled, and cells without an input are noted."""
        unknown = self.unknown(rows.inputs).items()
        notes = (f"{count} cells of '{quote(name)}' have a level that training had not" for name, count in unknown)
        target = rows.target
        if self.target is not None and target is not None:
            target = self.target.transform(target[:, None])[:, 0].astype(np.float32)
        return rows.with_inputs(torch.from_numpy(self.inputs(rows.inputs)), target=target, notes=(*rows.notes, *notes))
