"""Rows of prices: numbers, days and tickers, and every row that no price can be."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data import columns as col
from multiway.data.findings import Findings
from multiway.data.options import ReadOptions
from multiway.data.raw import Table
from multiway.data.stocks.judging import judge
from multiway.data.stocks.options import StockOptions
from multiway.data.stocks.panel import FIELDS
from multiway.data.stocks.tables import find_column, load_rows, require_column, tickers_of
from multiway.data.times import parse_times

PRICES = FIELDS[:5]
FIXES = {
    "number": "Correct it, or take the row out.",
    "words": "Write numbers there, or rename the column.",
    "time": "Write every day in one form, such as 2014-01-31.",
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PriceRows:
    """Rows of prices, in the order of their file.

    ticker: `(rows,)` names.
    day: `(rows,)` datetime64[D].
    values: `(rows, fields)` in the order of `FIELDS`.
    movement: `(rows,)`, NaN where the file does not say it.
    read: Columns of prices that the file has.
    table: Where the rows stand.
    """

    ticker: NDArray[np.object_]
    day: NDArray[np.datetime64]
    values: NDArray[np.float64]
    movement: NDArray[np.float64]
    read: tuple[str, ...]
    table: Table


def read_prices(source: Any, ticker: str | None, options: StockOptions, findings: Findings) -> PriceRows:
    """Rows of one file or frame; `ticker` names its stock where it has no column of tickers."""
    table = load_rows(source, options, findings)
    names = table.names
    if ticker is None or find_column(names, "ticker", options.ticker) is not None:
        column = require_column(names, "ticker", "ticker", options.ticker, findings)
        tickers = tickers_of(table, column, findings)
    else:
        tickers = pd.Series([ticker] * len(table.frame), dtype="string")
    date = require_column(names, "date", "date", options.date, findings)
    day, dated = _days(table, date, options, findings)
    found = {field: find_column(names, field) for field in (*FIELDS, "movement")}
    there = tuple(field for field in PRICES if found[field] is not None)
    if found["close"] is None:
        found["close"] = found["adj_close"]
    if found["close"] is None:
        raise findings.fatal("columns", "there is no column of closing prices", "Name it close.")
    values = _values(table, found, findings)
    movement = _numbers(table, found["movement"], findings)
    keep = dated & ~table.broken & _has_prices(values, findings)
    rows = PriceRows(
        ticker=tickers.to_numpy(object)[keep], day=day[keep], values=values[keep], movement=movement[keep],
        read=there, table=dataclasses.replace(
            table, frame=table.frame[keep].reset_index(drop=True), rows=table.rows[keep], broken=table.broken[keep]
        ),
    )  # fmt: skip
    cells = np.column_stack([rows.values, rows.movement])
    judge(rows.table, found | {"date": date}, rows.ticker, rows.day, cells, findings)
    return rows


def _days(
    table: Table, column: str, options: StockOptions, findings: Findings
) -> tuple[NDArray[np.datetime64], NDArray[np.bool_]]:
    """Trading days, and which rows have a sound one; stamps with a zone count by the exchange's clock."""
    inner = Findings(findings.source)
    try:
        stamps, good = parse_times(table, column, ReadOptions(), inner)
    finally:
        move_findings(inner, findings, only_errors=True)
    if not isinstance(stamps, pd.DatetimeIndex):
        fix = FIXES["time"]
        raise findings.fatal("time", "days are needed", fix, [table.place(0, column, table.frame[column].iloc[0])])
    if stamps.tz is not None:
        stamps = stamps.tz_convert(options.exchange_zone).tz_localize(None)
    day = np.full(len(good), np.datetime64("NaT"), dtype="datetime64[D]")
    day[good] = stamps.to_numpy().astype("datetime64[D]")
    return day, good


def move_findings(inner: Findings, outer: Findings, *, only_errors: bool = False) -> None:
    """Take over what was found, with fixes that fit prices."""
    for finding in inner.found:
        if finding.severity == "error" or not only_errors:
            fix = FIXES.get(finding.kind, finding.fix)
            outer.add(finding.kind, finding.severity, finding.rule, fix, finding.places, finding.count)


def _numbers(table: Table, column: str | None, findings: Findings) -> NDArray[np.float64]:
    if column is None:
        return np.full(len(table.frame), np.nan)
    inner = Findings(findings.source)
    values = col.parse_numbers(table, [column], inner)[:, 0]
    move_findings(inner, findings)
    return values


def _values(table: Table, found: dict[str, str | None], findings: Findings) -> NDArray[np.float64]:
    """All fields; a price that the file does not have is the close, and says so."""
    values = np.stack([_numbers(table, found[field], findings) for field in FIELDS], 1)
    absent = [field for field in PRICES if found[field] is None]
    for field in absent:
        values[:, FIELDS.index(field)] = values[:, FIELDS.index("close")]
    if absent:
        names = ", ".join(name.replace("_", " ") for name in absent)
        findings.add("columns", "note", f"there is no {names}: the close stands in")
    return values


def _has_prices(values: NDArray[np.float64], findings: Findings) -> NDArray[np.bool_]:
    """Which rows hold a price at all; a row of empty cells is a day without trading."""
    empty = np.isnan(values[:, : len(PRICES)]).sum(1) == len(PRICES)
    if empty.any():
        findings.add("empty rows", "note", f"{empty.sum()} rows have no prices and are days without trading")
    return np.asarray(~empty)
