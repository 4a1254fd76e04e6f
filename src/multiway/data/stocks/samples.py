"""Samples: one target day, with what was known of every ticker before that day began."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks.grouping import Groups
from multiway.data.stocks.protocols import Splits


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
    known: NDArray[np.bool_]
    slot_valid: NDArray[np.bool_]
    text_rows: NDArray[np.int32]
    groups: Groups
    labels: NDArray[np.int8]
    returns: NDArray[np.float32]
    previous: NDArray[np.float32]
    traded: NDArray[np.bool_]
    splits: Splits
    feature_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def target_days(self) -> NDArray[np.datetime64]:
        """`(S,)` day that is predicted."""
        return np.asarray(self.days[self.targets])

    def price_valid(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`(rows, N, W)` whether the slot belongs to the ticker's window and its features are known."""
        valid: NDArray[np.bool_] = self.slot_valid[rows] & self.known[self.slots[rows]].swapaxes(1, 2)
        return valid

    def days_seen(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`(D, N)` whether one of these samples shows what is known of this day of this ticker."""
        slots = self.slots[rows]
        sample, ticker, slot = np.nonzero(self.price_valid(rows) & (slots >= 0)[:, None])
        seen = np.zeros_like(self.known)
        seen[slots[sample, slot], ticker] = True
        return seen

    def is_complete(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`(rows, N)` whether every slot of the ticker's window has a text and a known price."""
        filled = self.price_valid(rows) & (self.text_rows[rows] > 0)
        complete: NDArray[np.bool_] = np.all(filled | ~self.slot_valid[rows], axis=2)
        return complete

    def last_days(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
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
        return {name: float(found.mean()) if len(found) else None for name, found in labels.items()}
