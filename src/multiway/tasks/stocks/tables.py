"""Tables of prices or texts to raw columns: which column is which, and tickers that stay text."""

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, listed, quoted
from multiway.data.sources.cells import RawTable, as_text
from multiway.data.sources.json_lines import is_line_file, load_lines
from multiway.data.sources.options import ReadOptions
from multiway.data.sources.tables import column_names, load_table
from multiway.errors import Fix
from multiway.tasks.stocks.options import StockOptions

CONTENTS = {"ticker": "tickers", "date": "days", "stamp": "times", "text": "texts"}
TABLE_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".tsv", ".xlsx", ".parquet", ".pq")
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
    "stamp": ("timestamp", "createdat", "datetime", "time", "published", "publishedat", "stamp", "created", "date",
              "day"),
    "day": ("date", "day"),
    "id": ("id", "idstr", "tweetid", "statusid"),
}  # fmt: skip


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
        lack = f"{kind} names '{quoted(given)}', which is not there"
        rule = lack if chosen else f"there is no column of {CONTENTS[kind]}"
        fix = (f"There are {listed(names)}. Name it (", Fix(f"read.{kind}", like="NAME"), ").")
        raise findings.fatal("columns", rule, fix)
    return column


def load_rows(source: object, options: StockOptions, findings: Findings) -> RawTable:
    """Raw columns of a file or frame; tickers and times are not taken for numbers, and NA is a ticker."""
    if isinstance(source, str | Path) and is_line_file(Path(source)):
        return load_lines(Path(source), options.max_bytes, findings)
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
    is_known = path.name.lower().endswith(TABLE_SUFFIXES) or (or_lines and is_line_file(path))
    return is_known and not path.name.startswith(".")


def stem(path: Path) -> str:
    """A file's name without the ending that says its format."""
    return re.sub(
        r"(?i)(\.csv(\.(gz|bz2|xz|zip))?|\.tsv|\.txt|\.xlsx|\.parquet|\.pq|\.jsonl|\.ndjson|\.json)$", "", path.name
    )


@contextlib.contextmanager
def file_of_ticker(path: Path, findings: Findings) -> Iterator[Findings]:
    """Findings of one file of several that is named by its ticker."""
    with findings.member(quoted(path.name, 80)) as inner:
        if not is_ticker(stem(path)):
            inner.add("ticker", "error", TICKER_RULE, "Rename the file.", [Place(value=stem(path))])
        yield inner
