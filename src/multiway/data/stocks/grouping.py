"""Texts that share a slot, as rows of one table: the same texts are the same row wherever they are used."""

import dataclasses
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks.texts import StockTexts
from multiway.data.stocks.windows import day_numbers

SPAN = 4_000_000
"""Days that a day's number is kept within; datetime64 reaches further than any calendar."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Texts of each row, one row after another: those of row r are `items[starts[r] : starts[r + 1]]`.

    Row 0 has none.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int64]

    @classmethod
    def empty(cls) -> Self:
        """The table without texts: row 0 alone."""
        return cls(starts=np.zeros(2, np.int64), items=np.empty(0, np.int64))

    @classmethod
    def of_ranges(cls, first: NDArray[np.int64], last: NDArray[np.int64]) -> Self:
        """Row 0 and one row for each half-open range of texts."""
        sizes = last - first
        starts = np.concatenate([[0, 0], np.cumsum(sizes)])
        items = np.arange(starts[-1]) + np.repeat(first - starts[1:-1], sizes)
        return cls(starts=starts, items=items)

    @property
    def num_rows(self) -> int:
        """Rows, the empty one included."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Texts in each row."""
        return np.diff(self.starts)

    def of(self, row: int) -> NDArray[np.int64]:
        """Positions of the texts of one row."""
        return self.items[self.starts[row] : self.starts[row + 1]]


def group_texts(
    texts: StockTexts, after: NDArray[np.int64], before: NDArray[np.int64], valid: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], Groups]:
    """Find the texts of each valid `(sample, ticker, slot)`: those of its ticker with `after` <= day < `before`.

    Texts are sorted by ticker and day, so each such group is a range of them.

    Returns:
        Rows of the table, 0 where no text falls, and the table.
    """
    keys = texts.ticker * SPAN + _clipped(day_numbers(texts.day))
    wanted = np.flatnonzero(valid & np.isin(np.arange(valid.shape[1]), texts.ticker)[:, None])
    offset = np.unravel_index(wanted, valid.shape)[1] * SPAN
    first, last = (
        np.searchsorted(keys, offset + _clipped(np.broadcast_to(edge, valid.shape).reshape(-1)[wanted]))
        for edge in (after, before)
    )
    used = last > first
    pairs, inverse = np.unique(first[used] * (len(keys) + 1) + last[used], return_inverse=True)
    rows = np.zeros(valid.size, np.int32)
    rows[wanted[used]] = inverse + 1
    return rows.reshape(valid.shape), Groups.of_ranges(*np.divmod(pairs, len(keys) + 1))


def _clipped(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.clip(numbers + SPAN // 2, 0, SPAN - 1)
