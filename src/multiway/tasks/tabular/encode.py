"""From cells of a table to one array of inputs, by what the training rows say."""

import functools
from typing import Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from pydantic import model_validator
from torch import Tensor

from multiway.config import Config
from multiway.data.findings import quoted
from multiway.data.samples import Cells, Samples
from multiway.data.scaling import Floats, Scaler
from multiway.tasks.stored import same_length
from multiway.tasks.tabular.dates import DateParts
from multiway.tasks.tabular.means import TargetMeans
from multiway.tasks.targets import rare_class

FARTHEST = 1e6
"""Deviations from the mean beyond which a number is taken as that far, so that float32 can hold what follows."""
MISSING = "(missing)"


class TableState(Config):
    """What was learnt from the training rows."""

    numbers: tuple[str, ...]
    """Columns of numbers, then of dates as days; later tables are matched to them by name."""
    categories: tuple[str, ...]
    """Columns of words, likewise."""
    target_name: str
    """The column to predict."""
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
        medians = np.array([_median(column) for column in cells.numbers.T])
        categories = dict(zip(cells.of_words, cells.words.T, strict=True))
        has_means = {name: len(pd.unique(column)) > max_levels for name, column in categories.items()}
        return cls(
            numbers=cells.of_numbers, categories=cells.of_words, target_name=rows.target_name or "",
            classes=rows.classes, medians=medians, indicated=tuple(map(int, np.flatnonzero(missing.any(0)))),
            scaler=Scaler.fit(np.where(missing, medians, cells.numbers)),
            levels=tuple(() if has_means[name] else _levels(column) for name, column in categories.items()),
            target=None if rows.target is None or rows.classes is not None else Scaler.fit(rows.target[:, None]),
            dates=tuple(
                DateParts.fit(name, form, cells.numbers[:, cells.of_numbers.index(name)])
                for name, form in cells.dates.items()
            ),
            rare=None if rows.target is None else rare_class(rows.target, rows.classes),
            means=tuple(TargetMeans.fit(name, column, rows) for name, column in categories.items() if has_means[name]),
        )  # fmt: skip

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """What each input is."""
        return (
            *self.numbers,
            *(f"{self.numbers[position]} is missing" for position in self.indicated),
            *(
                f"{name} = {level or MISSING}"
                for name, levels in zip(self.categories, self.levels, strict=True) for level in levels
            ),
            *(name for parts in self.dates for name in parts.names),
            *(name for means in self.means for name in means.names),
        )  # fmt: skip

    @property
    def num_outputs(self) -> int:
        """Classes, or 1 for a number."""
        return 1 if self.classes is None else len(self.classes)

    def inputs(self, cells: Cells) -> NDArray[np.float32]:
        """Inputs `(rows, inputs)`: scaled numbers, indicators of missing ones, levels, parts of dates, means."""
        missing = np.isnan(cells.numbers)
        numbers = self.scaler.transform(np.where(missing, self.medians, cells.numbers))
        parts = [np.clip(numbers, -FARTHEST, FARTHEST), missing[:, list(self.indicated)]]
        parts += [_one_hot(column, levels) for column, levels in zip(cells.words.T, self.levels, strict=True)]
        dated = cells.numbers.T[len(self.numbers) - len(self.dates) :]
        parts += [own.inputs(days) for own, days in zip(self.dates, dated, strict=True)]
        parts += [own.inputs(self._words(cells, own.column)) for own in self.means]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def training_inputs(self, rows: Samples[Cells]) -> NDArray[np.float32]:
        """Inputs of the training rows, where no mean of a level has seen the row's own target."""
        inputs = self.inputs(rows.inputs)
        means = [own.held_out(self._words(rows.inputs, own.column), rows) for own in self.means]
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

    def encoded(self, rows: Samples[Cells]) -> Samples[Tensor]:
        """Rows as the network takes them; numbers to predict are scaled, and cells without an input are noted."""
        unknown = self.unknown(rows.inputs).items()
        notes = (f"{count} cells of '{quoted(name)}' have a level that training had not" for name, count in unknown)
        target = rows.target
        if self.target is not None and target is not None:
            target = self.target.transform(target[:, None])[:, 0].astype(np.float32)
        return rows.with_inputs(torch.from_numpy(self.inputs(rows.inputs)), target=target, notes=(*rows.notes, *notes))


def _median(column: NDArray[np.float64]) -> float:
    present = column[~np.isnan(column)]
    return float(np.median(present)) if len(present) else 0.0


def _levels(column: NDArray[np.object_]) -> tuple[str, ...]:
    """Levels by the alphabet."""
    return tuple(np.unique(column.astype(str)).tolist())


def _one_hot(column: NDArray[np.object_], levels: tuple[str, ...]) -> NDArray[np.bool_]:
    codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(column))
    hot: NDArray[np.bool_] = np.arange(len(levels)) == codes[:, None]
    return hot
