"""Samples, one target day each, with what was known of every ticker before that day began; cut on whole arrays."""

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from multiway.data.samples import SPLITS, Rows, Splits
from multiway.errors import DataError, Fix
from multiway.tasks.stocks.panel import (
    ADJUSTED,
    CLOSE,
    FIELDS,
    STALE,
    Groups,
    StockPanel,
    StockTexts,
    day_numbers,
    group_texts,
)
from multiway.tasks.stocks.protocols import StockProtocol, movement_labels, refuse_tomorrow, split_days

FEATURES = ("adj_close", "high", "low")
NEEDED = ("high", "low", "close", "adj_close")
"""Columns that the features are made of."""
FIRST_TARGET = 2
"""For `chronological`: a change of price is known once a ticker has two days."""
Values = NDArray[np.float64]
Marks = NDArray[np.bool_]


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
    targets: Rows
    slots: Rows
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

    def last_days(self, rows: Rows) -> Rows:
        """`(rows,)` position of the window's last day before the target day, -1 without one."""
        slots = self.slots[rows]
        last: Rows = np.where(slots < self.targets[rows][:, None], slots, -1).max(1)
        return last

    def counts(self) -> dict[str, int]:
        """Labels in each split."""
        return {name: int((self.labels[rows] >= 0).sum()) for name, rows in self.splits.items()}


Cut = Callable[[StockPanel, StockTexts | None, StockProtocol], StockSamples]
CUTS: dict[str, Cut] = {}
"""Published protocols whose labels are no movements make their samples themselves; rooms above add theirs."""


def build_samples(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol) -> StockSamples:
    """Cut every target day, its window and its labels, in the order of time."""
    if protocol.complete and texts is None:
        raise DataError(
            f"{panel.source}: complete labels only where every slot has a text. Got no texts. Give them (",
            Fix("read.texts", like="FILE"), "), or leave complete out.",
        )  # fmt: skip
    if not protocol.of_movements:
        return CUTS[protocol.name](panel, texts, protocol)
    targets = _targets(panel, protocol)
    labels = movement_labels(panel.movement.T[targets], protocol)
    inputs = _inputs(panel, texts, protocol, targets)
    if protocol.complete:
        labels = np.where(inputs.is_complete(np.arange(len(targets))), labels, -1).astype(np.int8)
    rows = np.flatnonzero((labels >= 0).any(1))
    splits = split_days(panel.days[targets[rows]], protocol, panel.source)
    return dataclasses.replace(
        inputs, targets=targets[rows], slots=inputs.slots[rows], slot_valid=inputs.slot_valid[rows],
        text_rows=inputs.text_rows[rows], labels=labels[rows], previous=inputs.previous[rows],
        returns=panel.movement.T[targets[rows]].astype(np.float32), splits=splits,
    )  # fmt: skip


def tomorrow(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol) -> StockSamples:
    """Cut the one sample of the session after the last day; it has no labels, since nobody knows them yet."""
    refuse_tomorrow(protocol)
    return _inputs(panel, texts, protocol, np.array([len(panel.days)]))


def _targets(panel: StockPanel, protocol: StockProtocol) -> Rows:
    """Positions of days that may be targets."""
    if protocol.rules is None:
        return np.arange(FIRST_TARGET, len(panel.days))
    first, last = np.searchsorted(panel.days, protocol.rules.borders[[0, -1]]).tolist()
    return np.arange(first, last)


def _inputs(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol, targets: Rows) -> StockSamples:
    """All but labels and splits.

    Whether a ticker will trade on the target day is not known before, so that day is a slot of every ticker.
    """
    days, traded = np.append(panel.days, panel.next_session), _traded(panel)
    slots, earliest = _slots(day_numbers(days), targets, protocol)
    valid = traded[slots].swapaxes(1, 2) & (slots >= 0)[:, None, :]
    valid[:, :, -1] = True
    rows, groups = np.zeros(valid.shape, np.int32), Groups.empty()
    if texts is not None:
        rows, groups = group_texts(texts, *_text_days(day_numbers(days)[slots], earliest, valid), valid)
    features, known, notes = _known_prices(panel, protocol)
    shape = (len(targets), len(panel.tickers))
    return StockSamples(
        tickers=panel.tickers, days=days, targets=targets, slots=slots, features=features, known=known,
        slot_valid=valid, text_rows=rows, groups=groups, labels=np.full(shape, -1, np.int8),
        returns=np.full(shape, np.nan, np.float32), previous=_last_movement(panel)[targets], traded=traded,
        splits={name: np.empty(0, np.int64) for name in SPLITS}, feature_names=FEATURES, notes=notes,
    )  # fmt: skip


def _slots(numbers: Rows, targets: Rows, protocol: StockProtocol) -> tuple[Rows, Rows]:
    """`(S, W)` positions of the days of windows that end with the targets, -1 in front where they are shorter.

    Also `(S,)` the day since which texts are read: the last trading day before the window, or where the protocol goes
    by the calendar the calendar day before it.
    """
    if protocol.rules is not None and protocol.rules.by_calendar:
        earliest = numbers[targets] - protocol.look_back
        first = np.searchsorted(numbers, earliest + 1)
    else:
        first = np.maximum(targets - protocol.look_back + 1, 0)
        earliest = np.where(first > 0, numbers[first - 1], numbers[0] - 1)
    slots = targets[:, None] + np.arange(1 - protocol.look_back, 1)
    return np.where(slots >= first[:, None], slots, -1), earliest


def _text_days(slot_days: Rows, earliest: Rows, valid: Marks) -> tuple[Rows, Rows]:
    """First day whose texts fall on a slot, `(S, N, W)`, and first day whose texts no longer do, `(S, 1, W)`.

    Each text falls on the ticker's first slot after it.
    """
    before = slot_days[:, None, :]
    reached = np.where(valid, before, earliest[:, None, None])
    after = np.empty_like(reached)
    after[:, :, 0] = earliest[:, None]
    np.maximum.accumulate(reached[:, :, :-1], axis=2, out=after[:, :, 1:])
    return after, before


def _known_prices(panel: StockPanel, protocol: StockProtocol) -> tuple[NDArray[np.float32], Marks, tuple[str, ...]]:
    """Features and mask of every trading day and of the next session, and what was made up for them.

    `(days + 1, tickers, 3)` adjusted close, high and low of the row before the day, their levels or returns against the
    adjusted close before; `(days + 1, tickers)` whether they are known; notes.
    """
    high, low, close = (panel.prices[:, :, FIELDS.index(name)] for name in ("high", "low", "close"))
    lacking = panel.traded & ~(np.isfinite(high) & np.isfinite(low))
    high, low = (np.where(np.isfinite(values), values, close) for values in (high, low))
    rows = (_levels if protocol.prices == "levels" else _changes)(panel, high, low)
    source = row_before(panel.traded)  # (tickers, days + 1)
    values = np.take_along_axis(rows, np.maximum(source, 0)[:, :, None], axis=1)
    fresh = np.arange(source.shape[1]) - source <= STALE
    known = (source >= 0) & fresh & np.isfinite(values).all(2)
    features = np.where(known[:, :, None], values, 0.0).astype(np.float32)
    note = f"{int(lacking.sum())} rows lack a high or low; their close stands in for it."
    notes = (note,) if lacking.any() else ()
    return np.ascontiguousarray(features.swapaxes(0, 1)), np.ascontiguousarray(known.T), notes


def _levels(panel: StockPanel, high: Values, low: Values) -> Values:
    """`(tickers, days, 3)` adjusted close, high and low as the file has them; NaN without a row."""
    return np.stack([panel.prices[:, :, ADJUSTED], high, low], axis=2)


def _changes(panel: StockPanel, high: Values, low: Values) -> Values:
    """`(tickers, days, 3)` of each row against the ticker's row before, all adjusted; NaN without either."""
    close, adjusted = panel.prices[:, :, CLOSE], panel.prices[:, :, ADJUSTED]
    factor = adjusted / close
    before = row_before(panel.traded)[:, :-1]
    base = np.where(before >= 0, np.take_along_axis(adjusted, np.maximum(before, 0), axis=1), np.nan)
    changes: Values = np.stack([adjusted, high * factor, low * factor], axis=2) / base[:, :, None] - 1
    return changes


def _last_movement(panel: StockPanel) -> NDArray[np.float32]:
    """`(days + 1, tickers)` movement of each ticker's row before the day, NaN without one."""
    source = row_before(panel.traded)
    values = np.take_along_axis(panel.movement, np.maximum(source, 0), axis=1)
    return np.where(source >= 0, values, np.nan).astype(np.float32).T


def _traded(panel: StockPanel) -> Marks:
    """`(days + 1, tickers)` whether there is a price row; the next session counts as one to come."""
    return np.concatenate([panel.traded, panel.is_listed[:, None]], axis=1).T


def row_before(traded: Marks) -> Rows:
    """`(tickers, days + 1)` position of each ticker's last row before the day, -1 without one."""
    positions = np.where(traded, np.arange(traded.shape[1]), -1)
    last = np.maximum.accumulate(positions, axis=1)
    return np.concatenate([np.full((len(traded), 1), -1), last], axis=1)
