"""A table whose columns have kinds."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.errors import DataError


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """What each column is; later files are matched to it by name.

    numbers, categories: Names of the inputs, in order.
    target: None where the table has none.
    classes: Names of the target's classes; None where the target is a number.
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    target: str | None = None
    classes: tuple[str, ...] | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of all inputs, numbers first."""
        return self.numbers + self.categories

    @property
    def num_outputs(self) -> int:
        """Classes, or 1 for a number."""
        return 1 if self.classes is None else len(self.classes)

    def without_target(self) -> Self:
        """The same inputs, for rows to predict."""
        return dataclasses.replace(self, target=None)

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Self:
        """Undo `dataclasses.asdict`, whose tuples JSON makes lists."""
        classes = plain["classes"]
        return cls(
            numbers=tuple(plain["numbers"]),
            categories=tuple(plain["categories"]),
            target=plain["target"],
            classes=None if classes is None else tuple(classes),
        )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Rows of inputs and, where known, targets.

    numbers: `(rows, numbers)` float64, NaN where missing.
    categories: `(rows, categories)` strings, empty where missing.
    target: `(rows,)` float64: positions in `columns.classes`, or numbers; None without a target.
    groups: Group of each row, if a column of groups is named.
    times: Time of each row, if a column of times is named.
    rows, unit: What the user calls each row: its line in a text file, else its 0-based position.
    notes: What was detected and done on the way in, one line each.
    """

    columns: Columns
    numbers: NDArray[np.float64]
    categories: NDArray[np.object_]
    target: NDArray[np.float64] | None
    rows: NDArray[np.int64]
    unit: Literal["line", "row"]
    source: str
    groups: tuple[str, ...] | None = None
    times: pd.Index | None = None
    notes: tuple[str, ...] = ()

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def truth(self) -> NDArray[Any]:
        """Targets: positions of classes as whole numbers, or numbers.

        Raises:
            DataError: There are none.
        """
        if self.target is None:
            raise DataError(f"{self.source}: scores need the column to predict. Name it (--target NAME).")
        return self.target if self.labels is None else self.labels

    @property
    def labels(self) -> NDArray[np.int64] | None:
        """Targets that are classes."""
        return None if self.target is None or self.columns.classes is None else self.target.astype(np.int64)

    def missing(self) -> dict[str, int]:
        """Missing cells by input column, those with any."""
        counts = [*np.isnan(self.numbers).sum(0), *(self.categories == "").sum(0)]
        return {name: int(count) for name, count in zip(self.columns.inputs, counts, strict=True) if count}

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Choose rows."""
        return dataclasses.replace(
            self,
            numbers=self.numbers[rows],
            categories=self.categories[rows],
            target=None if self.target is None else self.target[rows],
            rows=self.rows[rows],
            groups=None if self.groups is None else tuple(self.groups[row] for row in rows),
            times=None if self.times is None else self.times[rows],
        )

    def shuffled(self, columns: Sequence[str], chance: np.random.Generator) -> Self:
        """The same rows with the cells of some inputs exchanged between them, each column for itself."""
        numbers, categories = self.numbers.copy(), self.categories.copy()
        for name in columns:
            if name in self.columns.numbers:
                place = self.columns.numbers.index(name)
                numbers[:, place] = chance.permutation(numbers[:, place])
            else:
                place = self.columns.categories.index(name)
                categories[:, place] = chance.permutation(categories[:, place])
        return dataclasses.replace(self, numbers=numbers, categories=categories)

    def frame(self) -> pd.DataFrame:
        """Inputs and target as columns, classes by name."""
        columns: dict[str, NDArray[np.generic]] = {
            **dict(zip(self.columns.numbers, self.numbers.T, strict=True)),
            **dict(zip(self.columns.categories, self.categories.T, strict=True)),
        }
        names = self.columns.classes
        if self.target is not None and self.columns.target is not None:
            columns[self.columns.target] = self.truth if names is None else np.array(names, object)[self.truth]
        return pd.DataFrame(columns)
