"""From typed columns to one array of inputs, by what the training rows say."""

import dataclasses
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.series.scaling import Scaler
from multiway.data.tabular.table import Columns, Table

FARTHEST = 1e6
"""Deviations from the mean beyond which a number is taken as that far, so that float32 can hold what follows."""
MISSING = "(missing)"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Encoding:
    """What was learnt from the training rows.

    medians: One per number; put in place of missing cells.
    indicated: Positions of the numbers that missed cells in training; each has an input of 0 or 1 that says so.
    scaler: Mean and deviation of each number, medians filled in.
    levels: Of each category, those with an input of their own; any other cell is 0 in all of them.
    target: Mean and deviation of a target that is a number.
    """

    columns: Columns
    medians: NDArray[np.float64]
    indicated: tuple[int, ...]
    scaler: Scaler
    levels: tuple[tuple[str, ...], ...]
    target: Scaler | None

    @classmethod
    def fit(cls, table: Table, max_levels: int = 100) -> Self:
        """Learn from a table: the training rows and no others."""
        missing = np.isnan(table.numbers)
        medians = np.array([_median(column) for column in table.numbers.T])
        target = None if table.target is None or table.labels is not None else Scaler.fit(table.target[:, None])
        return cls(
            columns=table.columns,
            medians=medians,
            indicated=tuple(map(int, np.flatnonzero(missing.any(0)))),
            scaler=Scaler.fit(np.where(missing, medians, table.numbers)),
            levels=tuple(_levels(column, max_levels) for column in table.categories.T),
            target=target,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What each input is."""
        numbers = self.columns.numbers
        indicators = [f"{numbers[position]} is missing" for position in self.indicated]
        categories = zip(self.columns.categories, self.levels, strict=True)
        return (
            *numbers,
            *indicators,
            *(f"{name} = {level or MISSING}" for name, levels in categories for level in levels),
        )

    def inputs(self, table: Table) -> NDArray[np.float32]:
        """Inputs `(rows, inputs)`: scaled numbers, indicators of missing ones, one input per level."""
        missing = np.isnan(table.numbers)
        numbers = self.scaler.transform(np.where(missing, self.medians, table.numbers))
        parts = [np.clip(numbers, -FARTHEST, FARTHEST), missing[:, list(self.indicated)]]
        parts += [_one_hot(column, levels) for column, levels in zip(table.categories.T, self.levels, strict=True)]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def targets(self, table: Table) -> NDArray[np.int64] | NDArray[np.float32]:
        """Classes as their positions; numbers scaled."""
        if self.target is None:
            return table.truth.astype(np.int64)
        return self.target.transform(table.truth[:, None])[:, 0].astype(np.float32)

    def unknown(self, table: Table) -> dict[str, int]:
        """Cells of each category that have no input of their own, of those with any."""
        columns = zip(self.columns.categories, table.categories.T, self.levels, strict=True)
        counts = {name: int((~np.isin(column.astype(str), levels)).sum()) for name, column, levels in columns}
        return {name: count for name, count in counts.items() if count}

    def plain(self) -> dict[str, Any]:
        """Plain values that JSON keeps exactly."""
        return {
            "columns": dataclasses.asdict(self.columns),
            "medians": self.medians.tolist(),
            "indicated": list(self.indicated),
            "scaler": self.scaler.to_dict(),
            "levels": [list(levels) for levels in self.levels],
            "target": None if self.target is None else self.target.to_dict(),
        }

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Self:
        """Undo `plain`."""
        return cls(
            columns=Columns.parse(plain["columns"]),
            medians=np.array(plain["medians"], dtype=np.float64),
            indicated=tuple(plain["indicated"]),
            scaler=Scaler.from_dict(plain["scaler"]),
            levels=tuple(tuple(levels) for levels in plain["levels"]),
            target=None if plain["target"] is None else Scaler.from_dict(plain["target"]),
        )


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
