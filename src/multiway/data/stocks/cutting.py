"""From prices, texts and a protocol to samples, in a few operations on whole arrays."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks.features import FEATURES, known_prices, last_movement, traded_days
from multiway.data.stocks.grouping import Groups, group_texts
from multiway.data.stocks.panel import StockPanel
from multiway.data.stocks.protocols import (
    SPLITS,
    STOCKNET_BORDERS,
    StockProtocol,
    movement_labels,
    refuse_tomorrow,
    split_days,
)
from multiway.data.stocks.published_code import published_samples
from multiway.data.stocks.samples import StockSamples
from multiway.data.stocks.texts import StockTexts
from multiway.data.stocks.windows import Windows, cut_windows
from multiway.errors import DataError

FIRST_TARGET = 2
"""For `chronological`: a change of price is known once a ticker has two days."""


def build_samples(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol) -> StockSamples:
    """Cut every target day, its window and its labels, in the order of time.

    Raises:
        DataError: A split would be empty, or the protocol needs texts and there are none.
    """
    if protocol.complete and texts is None:
        raise DataError(
            f"{panel.source}: complete labels only where every slot has a text. Got no texts. Give them "
            f"(--texts FILE), or leave complete out."
        )
    if protocol.name == "published-code":
        return published_samples(panel, texts, protocol)
    targets = _targets(panel, protocol)
    labels = movement_labels(panel.movement.T[targets], protocol)
    parts = _inputs(panel, texts, protocol, targets)
    if protocol.complete:
        labels = np.where(parts.is_complete(np.arange(len(targets))), labels, -1).astype(np.int8)
    labelled = (labels >= 0).any(1)
    splits = split_days(panel.days[targets[labelled]], protocol, panel.source)
    rows = np.flatnonzero(labelled)
    return dataclasses.replace(
        parts, targets=targets[rows], slots=parts.slots[rows], slot_valid=parts.slot_valid[rows],
        text_rows=parts.text_rows[rows], labels=labels[rows], previous=parts.previous[rows],
        returns=panel.movement.T[targets[rows]].astype(np.float32), splits=splits,
    )  # fmt: skip


def tomorrow(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol) -> StockSamples:
    """Cut the one sample of the session after the last day; it has no labels, since nobody knows them yet.

    Raises:
        ConfigError: The protocol is `published-code`.
    """
    refuse_tomorrow(protocol)
    return _inputs(panel, texts, protocol, np.array([len(panel.days)]))


def _targets(panel: StockPanel, protocol: StockProtocol) -> NDArray[np.int64]:
    """Positions of days that may be targets."""
    if protocol.name != "stocknet":
        return np.arange(FIRST_TARGET, len(panel.days))
    first, last = np.searchsorted(panel.days, STOCKNET_BORDERS[[0, -1]]).tolist()
    return np.arange(first, last)


def _inputs(
    panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol, targets: NDArray[np.int64]
) -> StockSamples:
    """All but labels and splits."""
    days = np.append(panel.days, panel.next_session)
    traded = traded_days(panel)
    windows = cut_windows(days, traded, targets, protocol)
    features, known, notes = known_prices(panel, protocol.prices)
    rows, groups = _texts(texts, windows)
    shape = (len(targets), len(panel.tickers))
    return StockSamples(
        tickers=panel.tickers, days=days, targets=targets, slots=windows.slots, features=features, known=known,
        slot_valid=windows.valid, text_rows=rows, groups=groups, labels=np.full(shape, -1, np.int8),
        returns=np.full(shape, np.nan, np.float32), previous=last_movement(panel)[targets], traded=traded,
        splits={name: np.empty(0, np.int64) for name in SPLITS}, feature_names=FEATURES, notes=notes,
    )  # fmt: skip


def _texts(texts: StockTexts | None, windows: Windows) -> tuple[NDArray[np.int32], Groups]:
    if texts is None:
        return np.zeros(windows.valid.shape, np.int32), Groups.empty()
    return group_texts(texts, windows.after, windows.before, windows.valid)
