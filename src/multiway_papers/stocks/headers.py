"""Prices under two headers, of prices and of tickers, as yfinance gives and writes them."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from multiway.data.findings import Findings
from multiway.data.sources.bytes import BROKEN, bytes_of, first_bytes, unpack_bytes
from multiway.data.sources.frames import SOURCE
from multiway_papers.stocks.options import find_column
from multiway_papers.stocks.panel import FIELDS

HEADERS = 3
"""Lines above the prices of a file: two headers, and the name of the days alone."""
MOST = 1 << 20
"""Bytes in which they end."""


def has_two_headers(source: object) -> bool:
    """Whether it is a frame or a file of prices of tickers side by side."""
    if isinstance(source, str | Path):
        return len(_rows_of(Path(source))) == HEADERS
    columns = getattr(source, "columns", None)
    return isinstance(columns, pd.MultiIndex) and columns.nlevels == 2 and level_of_prices(columns) is not None


def long_prices(source: object, limit: int, findings: Findings) -> Any:
    """Such prices with a row per day and ticker; whatever else it is comes back as it is."""
    if not has_two_headers(source):
        return source
    if not isinstance(source, str | Path):
        return _long(source)
    raw = unpack_bytes(bytes_of(Path(source), findings), limit, findings)
    frame = _long(pd.read_csv(io.BytesIO(raw), header=[0, 1], index_col=0, dtype=str))
    frame.attrs[SOURCE] = findings.source
    return frame


def level_of_prices(columns: pd.MultiIndex) -> int | None:
    """Which of two headers names prices."""
    return next((level for level in (0, 1) if _are_prices(columns.get_level_values(level))), None)


def _long(frame: Any) -> pd.DataFrame:
    tickers = 1 - (level_of_prices(frame.columns) or 0)
    rows = frame.stack(level=tickers, future_stack=True).rename_axis(index=["Date", "Ticker"])
    return pd.DataFrame(rows.rename_axis(columns=None).reset_index())


def _are_prices(names: Iterable[Any]) -> bool:
    """Whether each of some names is of a price or the volume, and one is of the close."""
    own = [str(name) for name in names]
    known = {find_column(own, field) for field in FIELDS}
    return find_column(own, "close") is not None and {*own} <= known


def _rows_of(path: Path) -> list[list[str]]:
    """The lines above the prices of a file with two headers; none of any other."""
    try:
        text = first_bytes(path, MOST).decode("utf-8-sig", errors="replace") if path.is_file() else ""
        rows = [row for row, _ in zip(csv.reader(io.StringIO(text)), range(HEADERS), strict=False)]
    except (*BROKEN, csv.Error):
        return []
    is_even = len(rows) == HEADERS and len({*map(len, rows)}) == 1 and len(rows[0]) > 1
    if not is_even or not rows[2][0] or any(rows[2][1:]):
        return []
    return rows if any(_are_prices(row[1:]) for row in rows[:2]) else []
