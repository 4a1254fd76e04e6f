"""What prices tell before a day begins: the row before it, relative to the one before that or as it is."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks.panel import FIELDS, StockPanel

FEATURES = ("adj_close", "high", "low")
NEEDED = ("high", "low", "close", "adj_close")
"""Columns that the features are made of."""
Values = NDArray[np.float64]
STALE = 20
"""Trading days after which a ticker's last price no longer counts as known."""


def known_prices(
    panel: StockPanel, prices: Literal["changes", "levels"]
) -> tuple[NDArray[np.float32], NDArray[np.bool_], tuple[str, ...]]:
    """Features and mask of every trading day and of the next session, and what was made up for them.

    Returns:
        `(days + 1, tickers, 3)` adjusted close, high and low of the row before the day, their levels or returns
        against the adjusted close before; `(days + 1, tickers)` whether they are known; notes.
    """
    high, low, notes = _extremes(panel)
    rows = (_levels if prices == "levels" else _changes)(panel, high, low)
    source = row_before(panel.traded)  # (tickers, days + 1)
    values = np.take_along_axis(rows, np.maximum(source, 0)[:, :, None], axis=1)
    fresh = np.arange(source.shape[1]) - source <= STALE
    known = (source >= 0) & fresh & np.isfinite(values).all(2)
    features = np.where(known[:, :, None], values, 0.0).astype(np.float32)
    return np.ascontiguousarray(features.swapaxes(0, 1)), np.ascontiguousarray(known.T), notes


def last_movement(panel: StockPanel) -> NDArray[np.float32]:
    """`(days + 1, tickers)` movement of each ticker's row before the day, NaN without one."""
    source = row_before(panel.traded)
    values = np.take_along_axis(panel.movement, np.maximum(source, 0), axis=1)
    return np.where(source >= 0, values, np.nan).astype(np.float32).T


def traded_days(panel: StockPanel) -> NDArray[np.bool_]:
    """`(days + 1, tickers)` whether there is a price row; the next session counts as one to come."""
    listed = panel.traded[:, -STALE:].any(axis=1, keepdims=True)
    return np.concatenate([panel.traded, listed], axis=1).T


def row_before(traded: NDArray[np.bool_]) -> NDArray[np.int64]:
    """`(tickers, days + 1)` position of each ticker's last row before the day, -1 without one."""
    positions = np.where(traded, np.arange(traded.shape[1]), -1)
    last = np.maximum.accumulate(positions, axis=1)
    return np.concatenate([np.full((len(traded), 1), -1), last], axis=1)


def _extremes(panel: StockPanel) -> tuple[Values, Values, tuple[str, ...]]:
    """High and low of each row, the close where they are missing, and a note on that."""
    high, low, close = (panel.prices[:, :, FIELDS.index(name)] for name in ("high", "low", "close"))
    lacking = panel.traded & ~(np.isfinite(high) & np.isfinite(low))
    high, low = (np.where(np.isfinite(values), values, close) for values in (high, low))
    note = f"{int(lacking.sum())} rows lack a high or low; their close stands in for it."
    return high, low, (note,) if lacking.any() else ()


def _levels(panel: StockPanel, high: Values, low: Values) -> Values:
    """`(tickers, days, 3)` adjusted close, high and low as the file has them; NaN without a row."""
    return np.stack([panel.prices[:, :, FIELDS.index("adj_close")], high, low], axis=2)


def _changes(panel: StockPanel, high: Values, low: Values) -> Values:
    """`(tickers, days, 3)` of each row against the ticker's row before, all adjusted; NaN without either."""
    close, adjusted = (panel.prices[:, :, FIELDS.index(name)] for name in ("close", "adj_close"))
    factor = adjusted / close
    before = row_before(panel.traded)[:, :-1]
    base = np.where(before >= 0, np.take_along_axis(adjusted, np.maximum(before, 0), axis=1), np.nan)
    changes: Values = np.stack([adjusted, high * factor, low * factor], axis=2) / base[:, :, None] - 1
    return changes
