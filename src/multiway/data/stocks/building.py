"""From rows of prices to the panel: the calendar, the movements, and jumps that no market makes."""

import dataclasses

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, Severity, listed
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
DISAGREES = 1e-4
"""Difference of movements beyond their digits."""
DIGITS = 6
"""StockNet's movements have six."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Rows:
    """Rows sorted by ticker and day.

    code: `(rows,)` positions in `tickers`.
    """

    tickers: NDArray[np.object_]
    code: NDArray[np.int64]
    day: NDArray[np.datetime64]
    values: NDArray[np.float64]

    @property
    def follows(self) -> NDArray[np.bool_]:
        """`(rows - 1,)`, whether the row after each is of the same ticker."""
        return np.asarray(self.code[1:] == self.code[:-1])

    def name(self, row: int) -> str:
        """Ticker and day of a row."""
        return f"{self.tickers[self.code[row]]} {self.day[row]}"


def build_panel(rows: PriceRows, options: StockOptions, findings: Findings) -> StockPanel:
    """Put every row in its place; movements and jumps are judged on all rows, before days are left out."""
    code, tickers = pd.factorize(rows.ticker, sort=True)
    _check_size(len(tickers), len(np.unique(rows.day)), findings)
    order = np.lexsort((rows.day, code))
    every = _Rows(tickers=tickers, code=code[order], day=rows.day[order], values=rows.values[order])
    movement = _movements(every, rows.movement[order], options, findings)
    _check_jumps(every, options, findings)
    keep = _within(every.day, options)
    if not keep.any():
        rule = f"no row lies between {options.start or 'the start'} and {options.end or 'the end'}"
        raise findings.fatal("days", rule, f"The rows run from {every.day.min()} to {every.day.max()}.")
    present, code = np.unique(every.code[keep], return_inverse=True)
    if len(present) < len(tickers):
        gone = sorted(set(tickers) - set(tickers[present]))
        findings.add("tickers", "note", f"{len(gone)} tickers have no row in the days kept: {listed(gone)}")
    panel = _placed(tuple(map(str, tickers[present])), code, every.day[keep], every.values[keep], movement[keep])
    return dataclasses.replace(panel, read=rows.read)


def _placed(
    tickers: tuple[str, ...], code: NDArray[np.int64], day: NDArray[np.datetime64], values: NDArray[np.float64],
    movement: NDArray[np.float64],
) -> StockPanel:  # fmt: skip
    days, column = np.unique(day, return_inverse=True)
    prices = np.full((len(tickers), len(days), len(FIELDS)), np.nan)
    moved = np.full(prices.shape[:2], np.nan)
    traded = np.zeros(prices.shape[:2], dtype=bool)
    prices[code, column], moved[code, column], traded[code, column] = values, movement, True
    return StockPanel(tickers=tickers, days=days, prices=prices, traded=traded, movement=moved, source="")


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


def _movements(
    rows: _Rows, given: NDArray[np.float64], options: StockOptions, findings: Findings
) -> NDArray[np.float64]:
    """The file's own where it has them, else changes of the adjusted close."""
    close = rows.values[:, ADJUSTED]
    moved = np.full(len(close), np.nan)
    moved[1:][rows.follows] = np.round(close[1:] / close[:-1] - 1, DIGITS)[rows.follows]
    if np.isnan(given).all():
        return moved
    findings.add("movement", "note", "movements are those of the file")
    with np.errstate(invalid="ignore"):
        apart = np.flatnonzero(np.abs(given - moved) > DISAGREES)
    places = [Place(detail=f"{rows.name(row)}: {given[row]:.6f}, by the prices {moved[row]:.6f}") for row in apart[:20]]
    rule = f"{len(apart)} movements of the file disagree with its adjusted close"
    _complain("disagrees", rule, places, len(apart), options, findings)
    return np.round(given, DIGITS)


def _check_jumps(rows: _Rows, options: StockOptions, findings: Findings) -> None:
    """Splits that the adjusted close does not take out, and jumps that it makes on its own."""
    close, adjusted = (rows.values[1:, field] / rows.values[:-1, field] for field in (CLOSE, ADJUSTED))
    apart = np.abs(np.log(adjusted / close)) > np.log1p(APART)
    larger = np.abs(np.log(adjusted)) > np.abs(np.log(close)) + np.log1p(APART)
    for kind, rule, found in (
        ("split", "an adjusted close jumps like a split that was not taken out", _like_split(adjusted) & ~apart),
        ("adjusted", "an adjusted close jumps where the close does not", larger),
    ):
        after = np.flatnonzero(found & rows.follows) + 1
        places = [Place(detail=f"{rows.name(row)}: {_step(rows, row)}") for row in after[:20]]
        _complain(kind, rule, places, len(after), options, findings)


def _step(rows: _Rows, row: int) -> str:
    before, now = rows.values[row - 1], rows.values[row]
    return f"close {before[CLOSE]:g} to {now[CLOSE]:g}, adjusted {before[ADJUSTED]:g} to {now[ADJUSTED]:g}"


def _complain(kind: str, rule: str, places: list[Place], count: int, options: StockOptions, findings: Findings) -> None:
    if places and options.jumps != "ignore":
        severity: Severity = "error" if options.jumps == "error" else "warning"
        fix = "Adjust the prices, or take them as they are (--set read.jumps=warn)."
        findings.add(kind, severity, rule, fix, places, count)


def _like_split(ratio: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether a price changed by nearly a whole factor, or by 3:2, in either direction."""
    factor = np.maximum(ratio, 1 / ratio)
    near: NDArray[np.bool_] = np.abs(factor[:, None] / np.array(WHOLE_SPLITS) - 1).min(1) < WHOLE_TOLERANCE
    return np.logical_or(near, np.abs(factor / 1.5 - 1) < HALF_TOLERANCE)
