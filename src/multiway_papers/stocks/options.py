"""How prices and texts of stocks are read, which column is which, and published folders; nothing is repaired.

The trading day after another is by the calendar of an exchange where that is known, else the next weekday.
"""

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, list_some, quote
from multiway.data.options import ReadOptions
from multiway.data.sources.cells import as_text
from multiway.data.sources.columns import RawTable
from multiway.data.sources.json_files import is_line_file
from multiway.data.sources.tables import column_names, load_table
from multiway.errors import ConfigError, Fix, closest
from multiway.lazy import is_installed, load_extensions, load_extra
from multiway_papers.stocks.config import StockOptions

CONTENTS = {"ticker": "tickers", "date": "days", "stamp": "times", "text": "texts"}
TABLE_ENDING = r"(?i)\.(csv(\.(gz|bz2|xz|zip))?|tsv|xlsx|parquet|pq)$"
ENDING = r"(?i)\.(csv(\.(gz|bz2|xz|zip))?|tsv|txt|xlsx|parquet|pq|jsonl|ndjson|json)$"
MAX_TICKER = 40
TICKER_RULE = f"a ticker has 1 to {MAX_TICKER} printable characters"
SHOWN = 20
"""Places of a flaw that are kept."""
USUAL = {
    "ticker": ("ticker", "symbol", "stock", "tic", "instrument", "asset", "code", "name"),
    "date": ("date", "day", "datetime", "timestamp", "time", "tradedate", "tradingday"),
    "open": ("open", "openprice"),
    "high": ("high", "highprice"),
    "low": ("low", "lowprice"),
    "close": ("close", "closeprice", "last", "price"),
    "adj_close": ("adjclose", "adjustedclose", "closeadj", "closeadjusted", "adjcloseprice"),
    "volume": ("volume", "vol"),
    "movement": ("movement", "movementpercent"),
    "text": ("text", "tweet", "headline", "title", "body", "content", "message", "news"),
    "stamp": (
        "timestamp",
        "createdat",
        "datetime",
        "time",
        "published",
        "publishedat",
        "stamp",
        "created",
        "date",
        "day",
    ),
    "day": ("date", "day"),
    "id": ("id", "idstr", "tweetid", "statusid"),
}
LIBRARY = "exchange_calendars"
REACH = np.timedelta64(40, "D")
"""No exchange is closed for longer."""


class DatedText(NamedTuple):
    """A text of a published folder: `row` is its line in `file`, and `day` what the file says of it."""

    ticker: str
    stamp: str
    day: str
    text: object
    row: int
    file: str


class PublishedFolder(Protocol):
    """How one lays out prices and texts."""

    def recognises(self, folder: Path) -> bool:
        """Whether it is such a folder."""

    def prices(self, folder: Path) -> tuple[Path, ...]:
        """Files of prices, named by their tickers."""

    def movements(self, file: Path, findings: Findings) -> dict[str, float]:
        """Movements by day next to a file of prices; empty where there are none."""

    def texts(self, folder: Path) -> Path | None:
        """The folder of texts at or below a folder."""

    def read_texts(self, folder: Path, max_bytes: int, findings: Findings) -> Iterator[DatedText]:
        """Every text of it."""


FOLDERS: list[PublishedFolder] = []
"""Published folders that are read as they are; rooms above add theirs."""


def published_folders() -> list[PublishedFolder]:
    """Every kind of folder that is known."""
    load_extensions("stock protocols")
    return FOLDERS


def find_column(names: Iterable[str], kind: str, given: str | None = None) -> str | None:
    """The column that is meant: the given name, else the first of the usual ones, spelt in any way."""
    every = list(names)
    if given is not None and given in every:
        return given
    plain = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in reversed(every)}
    return next((plain[name] for name in USUAL[kind] if name in plain), None)


def needed_column(names: list[str], kind: str, options: StockOptions, findings: Findings) -> str:
    """The same, or a refusal; a name that the user chose is not exchanged for a usual one."""
    given = getattr(options, kind)
    chosen = given is not None and given != StockOptions.model_fields[kind].default
    column = find_column(names, kind, given) if not chosen else given if given in names else None
    if column is None:
        lack = f"{kind} names '{quote(given)}', which is not there"
        rule = lack if chosen else f"there is no column of {CONTENTS[kind]}"
        fix = (f"There are {list_some(names)}. Name it (", Fix(f"read.{kind}", like="NAME"), ").")
        raise findings.fatal("columns", rule, fix)
    return column


def load_rows(source: object, options: StockOptions, findings: Findings) -> RawTable:
    """Raw columns of a file or frame; tickers and times are not taken for numbers, and NA is a ticker."""
    names = column_names(source) if isinstance(source, str | Path) else []
    chosen = ReadOptions(
        max_bytes=options.max_bytes,
        id_column=find_column(names, "ticker", options.ticker),
        time_column=options.stamp if options.stamp in names else find_column(names, "date", options.date),
    )
    return load_table(source, chosen, findings)


def tickers_of(table: RawTable, known: str | None, options: StockOptions, findings: Findings) -> NDArray[np.object_]:
    """Tickers as text: `known` in a table without a column of them, refused where one is empty or cannot be printed."""
    if known is not None and find_column(table.names, "ticker", options.ticker) is None:
        return np.full(len(table.frame), known, dtype=object)
    column = needed_column(table.names, "ticker", options, findings)
    text = as_text(table.frame[column])
    fix = "Fill it in; where pandas took a ticker NA for nothing, read with keep_default_na=False."
    empty = (text == "").to_numpy(bool)
    findings.mark("ticker", f"of {len(text)} tickers are empty", fix, empty, lambda row: table.place(row, column))
    odd = text.isin([name for name in pd.unique(text) if name and not is_ticker(name)]).to_numpy(bool)
    if odd.any():
        places = [table.place(int(row), column, text.iloc[row]) for row in np.flatnonzero(odd)[:SHOWN]]
        findings.add("ticker", "error", TICKER_RULE, "Correct it.", places, int(odd.sum()))
    return text.to_numpy(object)


def is_ticker(name: str) -> bool:
    """Whether a name can stand as a ticker in tables and figures."""
    return 0 < len(name) <= MAX_TICKER and name.isprintable()


def is_table(path: Path, *, or_lines: bool = False) -> bool:
    """Whether a file is a table by its name, or JSON lines where they count too."""
    is_known = bool(re.search(TABLE_ENDING, path.name)) or (or_lines and is_line_file(path))
    return is_known and not path.name.startswith(".")


def stem(path: Path) -> str:
    """A file's name without the ending that says its format."""
    return re.sub(ENDING, "", path.name)


@contextlib.contextmanager
def file_of_ticker(path: Path, findings: Findings) -> Iterator[Findings]:
    """Findings of one file of several that is named by its ticker."""
    with findings.member(quote(path.name, 80)) as inner:
        if not is_ticker(stem(path)):
            inner.add("ticker", "error", TICKER_RULE, "Rename the file.", [Place(value=stem(path))])
        yield inner


def has_calendar(exchange: str | None) -> bool:
    """Whether the holidays of an exchange are known on this machine."""
    return exchange is not None and is_installed(LIBRARY)


@functools.cache
def session_after(day: np.datetime64, exchange: str | None) -> np.datetime64:
    """The first trading day after a day; a weekday where the calendar of the exchange is not known."""
    later = day.astype("datetime64[D]") + np.timedelta64(1, "D")
    if exchange is None or not is_installed(LIBRARY):
        weekday: np.datetime64 = np.busday_offset(later, 0, roll="forward")
        return weekday
    calendars = load_extra(LIBRARY, "a calendar of trading days", "sessions")
    if exchange not in calendars.get_calendar_names():
        near = closest(exchange, calendars.get_calendar_names())
        raise ConfigError(f"read.exchange: no calendar is called {exchange!r}{near}")
    known = calendars.get_calendar(exchange, start=str(later - REACH), end=str(later + REACH))
    return np.datetime64(known.date_to_session(str(later), direction="next"), "D")
