"""From cells of a table to one array of inputs, by what the training rows say."""

from typing import Self

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
    """Of each category, those with an input of their own; any other cell is 0 in all of them."""
    target: Scaler | None
    """Mean and deviation of a target that is a number."""
    dates: tuple[DateParts, ...] = ()
    """Parts of the dates, the last of the numbers, in their order."""

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        if tuple(parts.column for parts in self.dates) != self.numbers[len(self.numbers) - len(self.dates) :]:
            raise ValueError("dates that are not the last of the numbers")
        numbers = {"medians": self.medians, "mean": self.scaler.mean, "std": self.scaler.std}
        same_length({"numbers": self.numbers, **numbers})
        same_length({"categories": self.categories, "levels": self.levels})
        return self

    @classmethod
    def fit(cls, rows: Samples[Cells], max_levels: int = 100) -> Self:
        """Learn from samples: the training rows and no others."""
        cells = rows.inputs
        missing = np.isnan(cells.numbers)
        medians = np.array([_median(column) for column in cells.numbers.T])
        return cls(
            numbers=cells.of_numbers, categories=cells.of_words, target_name=rows.target_name or "",
            classes=rows.classes, medians=medians, indicated=tuple(map(int, np.flatnonzero(missing.any(0)))),
            scaler=Scaler.fit(np.where(missing, medians, cells.numbers)),
            levels=tuple(_levels(column, max_levels) for column in cells.words.T),
            target=None if rows.target is None or rows.classes is not None else Scaler.fit(rows.target[:, None]),
            dates=tuple(
                DateParts.fit(name, form, cells.numbers[:, cells.of_numbers.index(name)])
                for name, form in cells.dates.items()
            ),
        )  # fmt: skip

    @property
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
        )  # fmt: skip

    @property
    def num_outputs(self) -> int:
        """Classes, or 1 for a number."""
        return 1 if self.classes is None else len(self.classes)

    def inputs(self, cells: Cells) -> NDArray[np.float32]:
        """Inputs `(rows, inputs)`: scaled numbers, indicators of missing ones, one input per level, parts of dates."""
        missing = np.isnan(cells.numbers)
        numbers = self.scaler.transform(np.where(missing, self.medians, cells.numbers))
        parts = [np.clip(numbers, -FARTHEST, FARTHEST), missing[:, list(self.indicated)]]
        parts += [_one_hot(column, levels) for column, levels in zip(cells.words.T, self.levels, strict=True)]
        dated = cells.numbers.T[len(self.numbers) - len(self.dates) :]
        parts += [own.inputs(days) for own, days in zip(self.dates, dated, strict=True)]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def unknown(self, cells: Cells) -> dict[str, int]:
        """Cells of each category that have no input of their own, of those with any."""
        columns = zip(self.categories, cells.words.T, self.levels, strict=True)
        counts = {name: int((~np.isin(column.astype(str), levels)).sum()) for name, column, levels in columns}
        return {name: count for name, count in counts.items() if count}

    def encoded(self, rows: Samples[Cells]) -> Samples[Tensor]:
        """Rows as the network takes them; numbers to predict are scaled, and cells without an input are noted."""
        unknown = self.unknown(rows.inputs).items()
        notes = (f"{count} cells of '{quoted(name)}' have a level without an input" for name, count in unknown)
        target = rows.target
        if self.target is not None and target is not None:
            target = self.target.transform(target[:, None])[:, 0].astype(np.float32)
        return rows.with_inputs(torch.from_numpy(self.inputs(rows.inputs)), target=target, notes=(*rows.notes, *notes))


def _median(column: NDArray[np.float64]) -> float:
    present = column[~np.isnan(column)]
    return float(np.median(present)) if len(present) else 0.0


def _levels(column: NDArray[np.object_], most: int) -> tuple[str, ...]:
    """The most frequent levels, by the alphabet; ties go to the first of it."""
    names, counts = np.unique(column.astype(str), return_counts=True)
    return tuple(sorted(names[np.argsort(-counts, kind="stable")[:most]].tolist()))


def _one_hot(column: NDArray[np.object_], levels: tuple[str, ...]) -> NDArray[np.bool_]:
    codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(column))
    hot: NDArray[np.bool_] = np.arange(len(levels)) == codes[:, None]
    return hot
