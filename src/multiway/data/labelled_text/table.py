"""Texts with their classes, as they were read."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from multiway.errors import DataError


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TextColumns:
    """Names of the columns that are read; later files are matched to them.

    second: Of a second text of each row.
    target: None where there are no classes.
    classes: Names of the target's classes.
    """

    text: str
    second: str | None = None
    target: str | None = None
    classes: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns of texts."""
        return (self.text,) if self.second is None else (self.text, self.second)

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Self:
        """Undo `dataclasses.asdict`, whose tuples JSON makes lists."""
        return cls(**{**plain, "classes": tuple(plain["classes"])})


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TextTable:
    """Texts and, where known, their classes.

    texts: Single blanks between words; a second text stands on a line of its own below the first.
    truth: `(rows,)` int64 positions in `columns.classes`; None without a target.
    rows, unit: What the user calls each row: its line in a text file, else its 0-based position.
    groups: Group of each row, if a column of groups is named.
    official: Split that each row is said to be in, if a column of splits is named; empty where that is none we know.
    notes: What was detected and done on the way in, one line each.
    """

    columns: TextColumns
    texts: tuple[str, ...]
    truth: NDArray[np.int64] | None
    rows: NDArray[np.int64]
    unit: Literal["line", "row"]
    source: str
    groups: tuple[str, ...] | None = None
    official: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def labels(self) -> NDArray[np.int64]:
        """Classes by position.

        Raises:
            DataError: There are none.
        """
        if self.truth is None:
            raise DataError(f"{self.source}: scores need the column of classes. Name it (--target NAME).")
        return self.truth

    @property
    def keys(self) -> tuple[str, ...]:
        """Texts by which copies are found: case does not count."""
        return tuple(text.casefold() for text in self.texts)

    def names(self, rows: NDArray[np.int64]) -> list[str]:
        """What the user calls some rows."""
        return [f"{self.unit} {self.rows[row]}" for row in rows]

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Choose rows."""
        return dataclasses.replace(
            self,
            texts=_some(self.texts, rows),
            truth=None if self.truth is None else self.truth[rows],
            rows=self.rows[rows],
            groups=None if self.groups is None else _some(self.groups, rows),
            official=None if self.official is None else _some(self.official, rows),
        )


def _some(values: Sequence[str], rows: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(values[row] for row in rows.tolist())
