"""Samples: one target day, with what was known of every ticker before that day began."""

import dataclasses
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.tasks.stocks.panel import StockTexts, day_numbers

SPAN = 4_000_000
"""Days that a day's number is kept within; datetime64 reaches further than any calendar."""
SPLITS = ("train", "validation", "test")
Splits = dict[str, NDArray[np.int64]]
Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Texts that share a slot, as rows of one table: the same texts are the same row wherever they are used.

    Those of row r are `items[starts[r] : starts[r + 1]]`. Row 0 has none.
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


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockSamples:
    """D days, N tickers, S samples of W slots, F price features.

    Attributes:
        tickers: Names.
        days: `(D,)` what positions refer to: trading days and the next session after them, or calendar days.
        targets: `(S,)` position of the target day.
        slots: `(S, W)` positions of the window's days, ascending, -1 in front where the window is shorter.
        features: `(D, N, F)` what is known before the day begins; 0 where nothing is.
        known: `(D, N)` whether the features are.
        slot_valid: `(S, N, W)` whether the slot belongs to the ticker's window; the target day always does.
        text_rows: `(S, N, W)` row of `groups`, 0 without a text.
        groups: Texts of each row.
        labels: `(S, N)` 1 rise, 0 fall, -1 no label.
        returns: `(S, N)` movement of the target day, NaN where unknown.
        previous: `(S, N)` last movement known before the target day, NaN where unknown.
        traded: `(D, N)` whether there is a price row; for audits and baselines, never an input.
        splits: Positions of samples for train, validation and test.
        feature_names: Of the last axis of `features`.
        notes: What a reader should know.
    """

    tickers: tuple[str, ...]
    days: NDArray[np.datetime64]
    targets: NDArray[np.int64]
    slots: NDArray[np.int64]
    features: NDArray[np.float32]
    known: Marks
    slot_valid: Marks
    text_rows: NDArray[np.int32]
    groups: Groups
    labels: NDArray[np.int8]
    returns: NDArray[np.float32]
    previous: NDArray[np.float32]
    traded: Marks
    splits: Splits
    feature_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def target_days(self) -> NDArray[np.datetime64]:
        """`(S,)` day that is predicted."""
        return np.asarray(self.days[self.targets])

    def price_valid(self, rows: Rows) -> Marks:
        """`(rows, N, W)` whether the slot belongs to the ticker's window and its features are known."""
        valid: Marks = self.slot_valid[rows] & self.known[self.slots[rows]].swapaxes(1, 2)
        return valid

    def days_seen(self, rows: Rows) -> Marks:
        """`(D, N)` whether one of these samples shows what is known of this day of this ticker."""
        slots = self.slots[rows]
        sample, ticker, slot = np.nonzero(self.price_valid(rows) & (slots >= 0)[:, None])
        seen = np.zeros_like(self.known)
        seen[slots[sample, slot], ticker] = True
        return seen

    def is_complete(self, rows: Rows) -> Marks:
        """`(rows, N)` whether every slot of the ticker's window has a text and a known price."""
        filled = self.price_valid(rows) & (self.text_rows[rows] > 0)
        complete: Marks = np.all(filled | ~self.slot_valid[rows], axis=2)
        return complete

    def last_days(self, rows: Rows) -> NDArray[np.int64]:
        """`(rows,)` position of the window's last day before the target day, -1 without one."""
        slots = self.slots[rows]
        last: NDArray[np.int64] = np.where(slots < self.targets[rows][:, None], slots, -1).max(1)
        return last

    def counts(self) -> dict[str, int]:
        """Labels in each split."""
        return {name: int((self.labels[rows] >= 0).sum()) for name, rows in self.splits.items()}

    def rises(self) -> dict[str, float | None]:
        """Share of rises among the labels in each split; None where there is none."""
        labels = {name: self.labels[rows][self.labels[rows] >= 0] for name, rows in self.splits.items()}
        return {name: float(known.mean()) if len(known) else None for name, known in labels.items()}


def group_texts(
    texts: StockTexts, after: NDArray[np.int64], before: NDArray[np.int64], valid: Marks
) -> tuple[NDArray[np.int32], Groups]:
    """Find the texts of each valid `(sample, ticker, slot)`: those of its ticker with `after` <= day < `before`.

    Texts are sorted by ticker and day, so each such group is a range of them.

    Returns:
        Rows of the table, 0 where no text falls, and the table.
    """
    keys = texts.ticker * SPAN + _clipped(day_numbers(texts.day))
    places = np.flatnonzero(valid & np.isin(np.arange(valid.shape[1]), texts.ticker)[:, None])
    offset = np.unravel_index(places, valid.shape)[1] * SPAN
    first, last = (
        np.searchsorted(keys, offset + _clipped(np.broadcast_to(edge, valid.shape).reshape(-1)[places]))
        for edge in (after, before)
    )
    used = last > first
    pairs, inverse = np.unique(first[used] * (len(keys) + 1) + last[used], return_inverse=True)
    rows = np.zeros(valid.size, np.int32)
    rows[places[used]] = inverse + 1
    return rows.reshape(valid.shape), Groups.of_ranges(*np.divmod(pairs, len(keys) + 1))


def _clipped(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.clip(numbers + SPAN // 2, 0, SPAN - 1)
