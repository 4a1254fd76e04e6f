"""Which tickers traded and were written about, month by month."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks.panel import StockPanel
from multiway.data.stocks.texts import StockTexts


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Coverage:
    """Counts by ticker and month.

    months: `(months,)` datetime64[M], from the first day to the last.
    days: `(months,)` trading days.
    traded: `(tickers, months)` stock-days with a price.
    texts: `(tickers, months)` texts; those of the days before the first month and after the last are not in it.
    with_text: `(tickers, months)` stock-days with a price on which at least one text is put.
    """

    tickers: tuple[str, ...]
    months: NDArray[np.datetime64]
    days: NDArray[np.int64]
    traded: NDArray[np.int64]
    texts: NDArray[np.int64]
    with_text: NDArray[np.int64]


def coverage(panel: StockPanel, texts: StockTexts | None) -> Coverage:
    """Count prices and texts by ticker and month."""
    month = panel.days.astype("datetime64[M]")
    months = np.arange(month[0], month[-1] + np.timedelta64(1, "M"))
    place = (month - months[0]).astype(np.int64)
    counts = np.zeros((len(panel.tickers), len(months)), dtype=np.int64)
    if texts is not None:
        of_text = (texts.day.astype("datetime64[M]") - months[0]).astype(np.int64)
        inside = (of_text >= 0) & (of_text < len(months))
        np.add.at(counts, (texts.ticker[inside], of_text[inside]), 1)
    return Coverage(
        tickers=panel.tickers, months=months, days=np.bincount(place, minlength=len(months)),
        traded=_by_month(panel.traded, place, len(months)), texts=counts,
        with_text=_by_month(panel.traded & _written_about(panel, texts), place, len(months)),
    )  # fmt: skip


def _by_month(marks: NDArray[np.bool_], place: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    sums = np.zeros((len(marks), count), dtype=np.int64)
    np.add.at(sums.T, place, marks.T.astype(np.int64))
    return sums


def _written_about(panel: StockPanel, texts: StockTexts | None) -> NDArray[np.bool_]:
    """`(tickers, days)`, whether a text is put there: on the first trading day strictly after its own."""
    marks = np.zeros(panel.traded.shape, dtype=bool)
    if texts is not None:
        day = np.searchsorted(panel.days, texts.day, side="right")
        inside = day < len(panel.days)
        marks[texts.ticker[inside], day[inside]] = True
    return marks


def odd_days(panel: StockPanel) -> NDArray[np.int64]:
    """Days on which fewer than half of the tickers listed then have a row."""
    traded = panel.traded
    listed = np.logical_or.accumulate(traded, axis=1) & np.logical_or.accumulate(traded[:, ::-1], axis=1)[:, ::-1]
    return np.flatnonzero(traded.sum(0) * 2 < listed.sum(0))
