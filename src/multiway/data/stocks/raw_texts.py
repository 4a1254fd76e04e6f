"""Columns of texts as they were gathered, before anything is left out."""

import dataclasses
import itertools
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Place


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RawTexts:
    """Texts of one file, or of one folder of StockNet's, in its order.

    dated: Days that stand beside the stamps, and win over stamps that say no zone.
    by_day: They win over any, as in StockNet's folder.
    file: Where each text stands if there are several files.
    """

    ticker: NDArray[np.object_]
    stamp: pd.Series
    text: list[Any] | None
    row: NDArray[np.int64]
    vectors: NDArray[np.float32] | None = None
    dated: pd.Series | None = None
    by_day: bool = False
    id: list[Any] | None = None
    file: list[str] | None = None
    unit: Literal["line", "row"] = "line"

    def place(self, row: int, value: str | None = None) -> Place:
        """Where a text stands."""
        name = None if self.file is None else self.file[row]
        return Place(row=int(self.row[row]), unit=self.unit, value=value, detail=name)

    def kept(self, keep: NDArray[np.bool_]) -> "RawTexts":
        """Some of the texts."""
        return dataclasses.replace(
            self, ticker=self.ticker[keep], stamp=self.stamp[keep].reset_index(drop=True), text=_some(self.text, keep),
            row=self.row[keep], vectors=None if self.vectors is None else self.vectors[keep], id=_some(self.id, keep),
            dated=None if self.dated is None else self.dated[keep].reset_index(drop=True), file=_some(self.file, keep),
        )  # fmt: skip


def _some(values: list[Any] | None, keep: NDArray[np.bool_]) -> list[Any] | None:
    return None if values is None else list(itertools.compress(values, keep))
