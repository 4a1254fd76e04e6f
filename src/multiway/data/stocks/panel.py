"""A panel of stocks: tickers x trading days x fields, with nothing where nothing was traded."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

FIELDS = ("open", "high", "low", "close", "adj_close", "volume")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockPanel:
    """Daily prices of some stocks on the days of their exchange.

    tickers: Names, sorted.
    days: `(days,)` datetime64[D], every day on which a ticker has a row: the trading calendar, as far as is seen.
    prices: `(tickers, days, fields)` in the order of `FIELDS`, NaN where there is no row and never 0.
    traded: `(tickers, days)`, where there is a row.
    movement: `(tickers, days)`, change of the adjusted close since the ticker's row before, as a share of it and
        rounded to 6 digits; as the file says it where it has a column `movement`. NaN without a row or an earlier one.
    source: Name of the file or folder.
    read: Columns of prices that were there to be read, in every file; the close stands in for others.
    notes: What a reader should know, one line each.
    """

    tickers: tuple[str, ...]
    days: NDArray[np.datetime64]
    prices: NDArray[np.float64]
    traded: NDArray[np.bool_]
    movement: NDArray[np.float64]
    source: str
    read: tuple[str, ...] = FIELDS
    notes: tuple[str, ...] = ()

    @property
    def next_session(self) -> np.datetime64:
        """The first weekday after the last day."""
        return next_weekday(self.days[-1])


def next_weekday(day: np.datetime64) -> np.datetime64:
    """The first day after this one that is no Saturday or Sunday; holidays are not known."""
    later: np.datetime64 = np.busday_offset(day + np.timedelta64(1, "D"), 0, roll="forward")
    return later
