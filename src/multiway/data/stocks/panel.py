"""Prices of many tickers on one calendar of trading days."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

FIELDS = ("open", "high", "low", "close", "adj_close", "volume")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockPanel:
    """Prices by ticker and trading day."""

    tickers: tuple[str, ...]
    days: NDArray[np.datetime64]
    prices: NDArray[np.float64]
    traded: NDArray[np.bool_]
    movement: NDArray[np.float64]
    source: str = "prices"
    notes: tuple[str, ...] = ()

    @property
    def next_session(self) -> np.datetime64:
        """The next weekday after the last day."""
        following: np.datetime64 = np.busday_offset(self.days[-1] + 1, 0, roll="forward")
        return following
