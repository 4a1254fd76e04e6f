"""Columns as they were read, before anything is made of them."""

import dataclasses
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Place

TIME_NAMES = ("ds", "date", "datetime", "date_time", "time", "timestamp", "day", "month", "year", "week")
ID_NAMES = ("unique_id", "item_id", "series_id", "id", "series")
EMPTY_CELLS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "-nan", "null", "NULL", "Null", "None", "<NA>", "#N/A")
EXACT_INTEGERS = 2.0**53


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Raw columns, and how to name a row to the user.

    frame: Columns that are numbers throughout as such, others as they came.
    rows: What the user calls each row: its 1-based line in a text file, else its 0-based position.
    unit: Which of the two.
    broken: Rows already reported as irregular, whose cells say nothing.
    """

    frame: pd.DataFrame
    rows: NDArray[np.int64]
    unit: Literal["line", "row"]
    broken: NDArray[np.bool_]

    @property
    def names(self) -> list[str]:
        """Columns in the order of the file."""
        return [str(name) for name in self.frame.columns]

    def place(self, row: int, column: str | None = None, value: object = None, detail: str | None = None) -> Place:
        """Name a cell by its row in the file."""
        shown = None if value is None else str(value)
        return Place(row=int(self.rows[row]), unit=self.unit, column=column, value=shown, detail=detail)

    def sound(self) -> "Table":
        """The rows that are not broken."""
        kept = ~self.broken
        frame = self.frame[kept].reset_index(drop=True)
        return dataclasses.replace(self, frame=frame, rows=self.rows[kept], broken=self.broken[kept])

    def drop(self, columns: list[str]) -> "Table":
        """Leave columns out."""
        return dataclasses.replace(self, frame=self.frame.drop(columns=columns))
