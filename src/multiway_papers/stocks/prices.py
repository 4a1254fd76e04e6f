"""Rows of prices: numbers, days and tickers, and every row that no price can be; nothing is repaired or shifted."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place
from multiway.data.options import ReadOptions
from multiway.data.sources.columns import RawTable, parse_times
from multiway.data.sources.values import parse_numbers
from multiway_papers.stocks.config import StockOptions
from multiway_papers.stocks.headers import long_prices
from multiway_papers.stocks.options import SHOWN, find_column, load_rows, needed_column, tickers_of
from multiway_papers.stocks.panel import FIELDS, PriceRows

PRICES = FIELDS[:5]
CELLS = (*FIELDS, "movement")
HIGH, LOW, VOLUME, MOVEMENT = FIELDS.index("high"), FIELDS.index("low"), FIELDS.index("volume"), len(FIELDS)
LEAST, MOST = 1e-12, 1e12
"""Prices between them have ratios that float32 holds."""
FIXES = {
    "number": "Correct it, or take the row out.",
    "words": "Write numbers there, or rename the column.",
    "time": "Write every day in one form, such as 2014-01-31.",
}
ONE_ROW = "Keep one row per ticker and day."
Cells = NDArray[np.float64]
Days = NDArray[np.datetime64]
Marks = NDArray[np.bool_]


def read_prices(source: object, ticker: str | None, options: StockOptions, findings: Findings) -> PriceRows:
    """Rows of one file or frame; `ticker` names its stock where it has no column of tickers."""
    table = load_rows(long_prices(source, options.max_bytes, findings), options, findings)
    tickers = tickers_of(table, ticker, options, findings)
    date = needed_column(table.names, "date", options, findings)
    day, is_dated = _days(table, date, options, findings)
    columns = {name: find_column(table.names, name) for name in CELLS}
    there = tuple(name for name in PRICES if columns[name] is not None)
    columns["close"] = columns["close"] or columns["adj_close"]
    if columns["close"] is None:
        raise findings.fatal("columns", "there is no column of closing prices", "Name it close.")
    cells = _cells(table, columns, options, findings)
    empty = np.isnan(cells[:, : len(PRICES)]).all(1)
    if empty.any():
        findings.add("empty rows", "note", f"{empty.sum()} rows have no prices and are days without trading")
    keep = is_dated & ~table.broken & ~empty
    frame = pd.DataFrame({"ticker": tickers[keep], "day": day[keep], **dict(zip(CELLS, cells[keep].T, strict=True))})
    kept = dataclasses.replace(table, rows=table.rows[keep])
    _judge(kept, [columns[name] for name in CELLS], frame, cells[keep], findings)
    _judge_days(frame, "rows repeat", lambda row: kept.place(row, date, detail=_name(frame, row)), findings)
    return PriceRows(frame=frame, read=there)


def together(parts: list[PriceRows], findings: Findings) -> PriceRows:
    """Rows of several files, of which no two are of one ticker and day."""
    frame = pd.concat([part.frame for part in parts], ignore_index=True)
    _judge_days(frame, "rows of different files repeat", lambda row: Place(detail=_name(frame, row)), findings)
    read = tuple(field for field in parts[0].read if all(field in part.read for part in parts))
    return PriceRows(frame=frame, read=read)


def _days(
    table: RawTable, column: str, options: StockOptions, findings: Findings
) -> tuple[NDArray[np.datetime64], Marks]:
    """Trading days, and which rows have a sound one; stamps with a zone count by the exchange's clock."""
    inner = Findings(findings.source)
    try:
        stamps, good = parse_times(table, column, ReadOptions(), inner)
    finally:
        _take_over(inner, findings, only_errors=True)
    if not isinstance(stamps, pd.DatetimeIndex):
        first = table.place(0, column, table.frame[column].iloc[0])
        raise findings.fatal("time", "days are needed", FIXES["time"], [first])
    if stamps.tz is not None:
        stamps = stamps.tz_convert(options.exchange_zone).tz_localize(None)
    day = np.full(len(good), np.datetime64("NaT"), dtype="datetime64[s]")
    day[good] = stamps.to_numpy().astype("datetime64[D]")
    return day, good


def _take_over(inner: Findings, outer: Findings, *, only_errors: bool = False) -> None:
    """Take over what was found, with fixes that fit prices."""
    outer.found += [
        dataclasses.replace(finding, fix=FIXES.get(finding.kind, finding.fix))
        for finding in inner.found
        if finding.severity == "error" or not only_errors
    ]


def _numbers(table: RawTable, column: str | None, options: StockOptions, findings: Findings) -> Cells:
    if column is None:
        return np.full(len(table.frame), np.nan)
    inner = Findings(findings.source)
    values = parse_numbers(table, [column], inner, marks=options.sentinels)[:, 0]
    _take_over(inner, findings)
    return values


def _cells(table: RawTable, columns: dict[str, str | None], options: StockOptions, findings: Findings) -> Cells:
    """`(rows, cells)`; a price that the file does not have is the close, and says so."""
    values = [_numbers(table, columns[field], options, findings) for field in FIELDS]
    absent = [field for field in PRICES if columns[field] is None]
    for field in absent:
        values[FIELDS.index(field)] = values[FIELDS.index("close")]
    if absent:
        names = ", ".join(name.replace("_", " ") for name in absent)
        findings.add("columns", "note", f"there is no {names}: the close stands in")
    return np.stack([*values, _numbers(table, columns["movement"], options, findings)], axis=1)


def _name(frame: pd.DataFrame, row: int) -> str:
    return f"{frame['ticker'][row]} {frame['day'][row]:%Y-%m-%d}"


def _judge(table: RawTable, names: list[str | None], frame: pd.DataFrame, cells: Cells, findings: Findings) -> None:
    """Note every cell that cannot be; a field without a column is not judged."""
    given = np.array([name is not None for name in names])
    for kind, rule, fix, columns, is_wrong in RULES:
        marks = np.zeros(cells.shape, dtype=bool)
        with np.errstate(invalid="ignore"):
            marks[:, columns] = is_wrong(cells[:, columns])
        where = np.argwhere(marks & given)
        if len(where):
            places = [
                table.place(row, names[field], f"{cells[row, field]:g}", _name(frame, row))
                for row, field in where[:SHOWN].tolist()
            ]
            findings.add(kind, "error", f"{len(where)} {rule}", fix, places, len(where))


def _judge_days(frame: pd.DataFrame, rule: str, place_of: Callable[[int], Place], findings: Findings) -> None:
    repeated = frame.duplicated(["ticker", "day"]).to_numpy(bool)
    findings.mark("duplicates", f"{rule} a ticker and day", ONE_ROW, repeated, place_of)


PRICED, QUOTED, TRADED, MOVED = slice(0, VOLUME), slice(HIGH, LOW + 1), slice(VOLUME, MOVEMENT), slice(MOVEMENT, None)
"""Cells that a rule is of."""
RULES: tuple[tuple[str, str, str, slice, Callable[[Cells], Marks]], ...] = (
    ("empty", "prices are empty", "Fill them in, or take the rows out.", PRICED, np.isnan),
    (
        "price",
        "prices are not above 0",
        "Correct them, or empty the rows of days without trading.",
        PRICED,
        lambda cells: cells <= 0,
    ),
    (
        "bounds",
        f"prices lie outside {LEAST:g} to {MOST:g}",
        "Correct them, or give them in another unit.",
        PRICED,
        lambda cells: (cells > MOST) | ((cells > 0) & (cells < LEAST)),
    ),
    (
        "order",
        "highs lie below the low of the day",
        "Correct them.",
        QUOTED,
        lambda cells: (cells < cells[:, [1]]) & [True, False],
    ),
    ("volume", "volumes are below 0", "Correct them.", TRADED, lambda cells: cells < 0),
    (
        "movement",
        "movements lie below -1 or above all bounds",
        "Give them as shares, so 0.01 is one per cent.",
        MOVED,
        lambda cells: (cells <= -1) | (cells > MOST),
    ),
)
