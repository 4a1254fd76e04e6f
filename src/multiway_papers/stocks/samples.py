"""Target days with what was known of every ticker before each began; cut on whole arrays."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.config import Plain
from multiway.data.samples import Rows, Samples
from multiway.errors import DataError, Fix
from multiway_papers.stocks.config import StockProtocol
from multiway_papers.stocks.panel import (
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
from multiway_papers.stocks.protocols import find_official, movement_labels, refuse_tomorrow
from multiway_papers.stocks.source import Market

FEATURES = ("adj_close", "high", "low")
NEEDED = ("high", "low", "close", "adj_close")
"""Columns that the features are made of."""
FIRST_TARGET = 2
"""For `chronological`: a change of price is known once a ticker has two days."""
OF_SAMPLES = ("targets", "slots", "slot_valid", "text_rows", "labels", "returns", "previous")
Marks = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockWindows:
    """S target days with windows of W slots, in D days of N tickers with F price features.

    Attributes:
        panel, texts: What they are cut from.
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
        feature_names: Of the last axis of `features`.
        notes: What a reader should know.
    """

    panel: StockPanel
    texts: StockTexts | None
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
    feature_names: tuple[str, ...] = FEATURES
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, rows: Rows) -> Self:
        return dataclasses.replace(self, **{name: getattr(self, name)[rows] for name in OF_SAMPLES})

    @property
    def tickers(self) -> tuple[str, ...]:
        """Names."""
        return self.panel.tickers

    @property
    def target_days(self) -> NDArray[np.datetime64]:
        """`(S,)` day that is predicted."""
        return np.asarray(self.days[self.targets])

    @property
    def price_valid(self) -> Marks:
        """`(S, N, W)` whether the slot belongs to the ticker's window and its features are known."""
        valid: Marks = self.slot_valid & self.known[self.slots].swapaxes(1, 2)
        return valid

    @property
    def days_seen(self) -> Marks:
        """`(D, N)` whether one of the windows shows what is known of this day of this ticker."""
        sample, ticker, slot = np.nonzero(self.price_valid & (self.slots >= 0)[:, None])
        seen = np.zeros_like(self.known)
        seen[self.slots[sample, slot], ticker] = True
        return seen

    @property
    def is_complete(self) -> Marks:
        """`(S, N)` whether every slot of the ticker's window has a text and a known price."""
        filled = self.price_valid & (self.text_rows > 0)
        complete: Marks = np.all(filled | ~self.slot_valid, axis=2)
        return complete

    @property
    def last_days(self) -> Rows:
        """`(S,)` position of the window's last day before the target day, -1 without one."""
        last: Rows = np.where(self.slots < self.targets[:, None], self.slots, -1).max(1)
        return last

    def targets_of(self, *, quantiles: bool) -> Marks:
        """`(S, N)` which movements are learnt from and scored: those with a label; of quantiles all after a price."""
        if quantiles:
            return self.price_valid.any(-1) & np.isfinite(self.returns)
        labelled: Marks = self.labels >= 0
        return labelled

    def counted(self, mask: Marks) -> Plain:
        """Days, and the movements on them that are in a mask."""
        days = self.target_days
        return {
            "days": len(self),
            "first": str(days.min()),
            "last": str(days.max()),
            "count": int(mask.sum()),
            "rises": int((self.labels[mask] == 1).sum()),
            "tickers": int(mask.any(0).sum()),
            "with_text": int((mask & (self.text_rows > 0).any(-1)).sum()),
        }

    def content(self) -> Iterator[object]:
        """Everything that was read."""
        panel, texts = self.panel, self.texts
        yield panel.tickers
        yield from (panel.days, panel.prices, panel.traded, panel.movement)
        if texts is not None:
            yield from (texts.ticker, texts.day, texts.stamp, texts.vectors)
            yield from texts.text or ()


Cut = Callable[[StockPanel, StockTexts | None, StockProtocol], StockWindows]
CUTS: dict[str, Cut] = {}
"""Published protocols whose labels are no movements make their samples themselves; rooms above add theirs."""


def samples_of(market: Market, protocol: StockProtocol, *, ahead: bool = False) -> Samples[StockWindows]:
    """Samples of a market, one for each target day; the days of each split where the protocol says them.

    ahead: The one sample of the session after the last day.
    """
    windows = (tomorrow if ahead else cut)(*market, protocol)
    days, source = tuple(map(str, windows.target_days)), windows.panel.source
    official = None if ahead else find_official(protocol, windows.target_days, source)
    return Samples(
        inputs=windows,
        source=source,
        word="days",
        names={"date": days},
        keys=days,
        official=official,
        labelling=(),
        notes=windows.notes,
    )


def cut(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol) -> StockWindows:
    """Cut every target day, its window and its labels, in the order of time."""
    if protocol.complete and texts is None:
        raise DataError(
            f"{panel.source}: complete labels only where every slot has a text. Got no texts. Give them (",
            Fix("read.texts", like="FILE"),
            "), or leave complete out.",
        )
    if not protocol.of_movements:
        return CUTS[protocol.name](panel, texts, protocol)
    targets = np.arange(FIRST_TARGET, len(panel.days))
    if protocol.rules is not None:
        targets = np.arange(*np.searchsorted(panel.days, protocol.rules.borders[[0, -1]]).tolist())
    labels, windows = movement_labels(panel.movement.T[targets], protocol), _inputs(panel, texts, protocol, targets)
    if protocol.complete:
        labels = np.where(windows.is_complete, labels, -1).astype(np.int8)
    returns = panel.movement.T[targets].astype(np.float32)
    return dataclasses.replace(windows, labels=labels, returns=returns)[np.flatnonzero((labels >= 0).any(1))]


def tomorrow(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol) -> StockWindows:
    """Cut the one sample of the session after the last day; it has no labels, since nobody knows them yet."""
    refuse_tomorrow(protocol)
    return _inputs(panel, texts, protocol, np.array([len(panel.days)]))


def _inputs(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol, targets: Rows) -> StockWindows:
    """All but labels.

    Whether a ticker will trade on the target day is not known before, so that day is a slot of every ticker.
    """
    days = np.append(panel.days, panel.next_session)
    traded = np.concatenate([panel.traded, panel.is_listed[:, None]], axis=1).T  # the next session is one to come
    slots, earliest = _slots(day_numbers(days), targets, protocol)
    valid = traded[slots].swapaxes(1, 2) & (slots >= 0)[:, None, :]
    valid[:, :, -1] = True
    rows, groups = np.zeros(valid.shape, np.int32), Groups.empty()
    if texts is not None:
        rows, groups = group_texts(texts, *_text_days(day_numbers(days)[slots], earliest, valid), valid)
    features, known, notes = _known_prices(panel, protocol)
    before = row_before(panel.traded)
    moved = np.take_along_axis(panel.movement, np.maximum(before, 0), axis=1)
    previous = np.where(before >= 0, moved, np.nan).astype(np.float32).T
    shape = (len(targets), len(panel.tickers))
    return StockWindows(
        panel=panel,
        texts=texts,
        days=days,
        targets=targets,
        slots=slots,
        features=features,
        known=known,
        slot_valid=valid,
        text_rows=rows,
        groups=groups,
        labels=np.full(shape, -1, np.int8),
        returns=np.full(shape, np.nan, np.float32),
        previous=previous[targets],
        traded=traded,
        notes=notes,
    )


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
    source, adjusted = row_before(panel.traded), panel.prices[:, :, ADJUSTED]  # (tickers, days + 1)
    rows = np.stack([adjusted, high, low], axis=2)  # as the file has them, NaN without a row
    if protocol.prices == "changes":  # against the ticker's row before, all adjusted; NaN without either
        factor, before = adjusted / panel.prices[:, :, CLOSE], source[:, :-1]
        base = np.where(before >= 0, np.take_along_axis(adjusted, np.maximum(before, 0), axis=1), np.nan)
        rows = np.stack([adjusted, high * factor, low * factor], axis=2) / base[:, :, None] - 1
    values = np.take_along_axis(rows, np.maximum(source, 0)[:, :, None], axis=1)
    fresh = np.arange(source.shape[1]) - source <= STALE
    known = (source >= 0) & fresh & np.isfinite(values).all(2)
    features = np.where(known[:, :, None], values, 0.0).astype(np.float32)
    note = f"{int(lacking.sum())} rows lack a high or low; their close stands in for it."
    notes = (note,) if lacking.any() else ()
    return np.ascontiguousarray(features.swapaxes(0, 1)), np.ascontiguousarray(known.T), notes


def row_before(traded: Marks) -> Rows:
    """`(tickers, days + 1)` position of each ticker's last row before the day, -1 without one."""
    positions = np.where(traded, np.arange(traded.shape[1]), -1)
    last = np.maximum.accumulate(positions, axis=1)
    return np.concatenate([np.full((len(traded), 1), -1), last], axis=1)
