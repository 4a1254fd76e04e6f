"""From rows of prices to the panel: the calendar, the movements, and jumps that no market makes."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, listed
from multiway.data.stocks.options import StockOptions
from multiway.data.stocks.panel import FIELDS, StockPanel
from multiway.data.stocks.prices import PriceRows
from multiway.data.text import free_memory

MAX_TICKERS = 100_000
CLOSE, ADJUSTED = FIELDS.index("close"), FIELDS.index("adj_close")
WHOLE_SPLITS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100)
WHOLE_TOLERANCE, HALF_TOLERANCE = 0.05, 0.015
APART = 0.25
"""Share by which adjusted close and close may move apart in a day; the largest dividends are paid below it."""
DIGITS = 6
"""StockNet's movements have six."""


def build_panel(rows: PriceRows, options: StockOptions, findings: Findings) -> StockPanel:
    """Put every row in its place; jumps are judged on all rows, also outside the days that are kept."""
    codes, tickers = pd.factorize(rows.ticker, sort=True)
    _check_size(len(tickers), len(np.unique(rows.day)), findings)
    order = np.lexsort((rows.day, codes))
    codes, day = codes[order], rows.day[order]
    values, movement = rows.values[order], _movements(codes, rows.values[order], rows.movement[order])
    _check_jumps(tickers, codes, day, values, options, findings)
    keep = _within(day, options)
    if not keep.any():
        raise findings.fatal(
            "days", f"no row lies between {options.start or 'the start'} and {options.end or 'the end'}",
            f"The rows run from {day.min()} to {day.max()}.",
        )  # fmt: skip
    present, codes = np.unique(codes[keep], return_inverse=True)
    if len(present) < len(tickers):
        gone = sorted(set(tickers) - set(tickers[present]))
        findings.add("tickers", "note", f"{len(gone)} tickers have no row in the days kept: {listed(gone)}")
    return _placed(tuple(map(str, tickers[present])), codes, day[keep], values[keep], movement[keep], findings.source)


def _placed(
    tickers: tuple[str, ...], codes: NDArray[np.int64], day: NDArray[np.datetime64], values: NDArray[np.float64],
    movement: NDArray[np.float64], source: str,
) -> StockPanel:  # fmt: skip
    days, column = np.unique(day, return_inverse=True)
    prices = np.full((len(tickers), len(days), len(FIELDS)), np.nan)
    moved = np.full(prices.shape[:2], np.nan)
    traded = np.zeros(prices.shape[:2], dtype=bool)
    prices[codes, column], moved[codes, column], traded[codes, column] = values, movement, True
    return StockPanel(tickers=tickers, days=days, prices=prices, traded=traded, movement=moved, source=source)


def _within(day: NDArray[np.datetime64], options: StockOptions) -> NDArray[np.bool_]:
    keep = np.ones(len(day), dtype=bool)
    if options.start is not None:
        keep &= day >= np.datetime64(options.start)
    if options.end is not None:
        keep &= day <= np.datetime64(options.end)
    return keep


def _check_size(tickers: int, days: int, findings: Findings) -> None:
    needed, free = tickers * days * (len(FIELDS) + 2) * 8 * 2, free_memory()
    if tickers > MAX_TICKERS or needed > free:
        rule = (
            f"{tickers:,} tickers x {days:,} days would take {needed / 1e9:.2g} GB; at most {MAX_TICKERS:,} tickers "
            f"are read, and {free / 1e9:.2g} GB are free"
        )
        raise findings.fatal("memory", rule, "Keep fewer tickers or days.")


def _follows(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows, sorted by ticker and day, have an earlier row of their ticker."""
    return np.concatenate([[False], codes[1:] == codes[:-1]])


def _movements(
    codes: NDArray[np.int64], values: NDArray[np.float64], given: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The file's own where it has them, else changes of the adjusted close."""
    if not np.isnan(given).all():
        return np.round(given, DIGITS)
    close = values[:, ADJUSTED]
    moved = np.full(len(codes), np.nan)
    moved[1:] = np.round(close[1:] / close[:-1] - 1, DIGITS)
    return np.where(_follows(codes), moved, np.nan)


def _check_jumps(
    tickers: NDArray[np.object_], codes: NDArray[np.int64], day: NDArray[np.datetime64], values: NDArray[np.float64],
    options: StockOptions, findings: Findings,
) -> None:  # fmt: skip
    """Splits that the adjusted close does not take out, and jumps that it makes on its own."""
    if options.jumps == "ignore" or len(codes) < 2:
        return
    follows = _follows(codes)[1:]
    close, adjusted = (values[1:, field] / values[:-1, field] for field in (CLOSE, ADJUSTED))
    split = follows & _like_split(adjusted) & (np.abs(np.log(adjusted / close)) < np.log1p(APART))
    alone = follows & (np.abs(np.log(adjusted)) > np.abs(np.log(close)) + np.log1p(APART))
    for kind, rule, found in (
        ("split", "an adjusted close jumps like a split that was not taken out", split),
        ("adjusted", "an adjusted close jumps where the close does not", alone),
    ):
        places = [
            Place(detail=f"{tickers[codes[row + 1]]} {day[row + 1]}: close {values[row, CLOSE]:g} to "
                  f"{values[row + 1, CLOSE]:g}, adjusted {values[row, ADJUSTED]:g} to {values[row + 1, ADJUSTED]:g}")
            for row in np.flatnonzero(found)[:20]
        ]  # fmt: skip
        if places:
            severity = "error" if options.jumps == "error" else "warning"
            mend = "Adjust the prices, or take it as a true movement (--set read.jumps=warn)."
            findings.add(kind, severity, rule, mend, places, int(found.sum()))


def _like_split(ratio: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether a price changed by nearly a whole factor, or by 3:2, in either direction."""
    factor = np.maximum(ratio, 1 / ratio)
    near = np.abs(factor[:, None] / np.array(WHOLE_SPLITS) - 1).min(1) < WHOLE_TOLERANCE
    return near | (np.abs(factor / 1.5 - 1) < HALF_TOLERANCE)
