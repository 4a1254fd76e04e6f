"""Texts from a table, from JSON lines, from a folder of either, or from StockNet's tweets; still as they came."""

from pathlib import Path
from typing import Any

import numpy as np

from multiway.data.findings import Findings, Unreadable, quoted
from multiway.data.stocks.joining import absorb
from multiway.data.stocks.objects import from_lines, is_lines
from multiway.data.stocks.options import StockOptions
from multiway.data.stocks.raw_texts import RawTexts
from multiway.data.stocks.tables import (
    find_column,
    is_table,
    is_ticker,
    load_rows,
    refuse_ticker,
    require_column,
    stem,
    tickers_of,
)
from multiway.data.stocks.tweets import read_tweets, tweets_folder
from multiway.data.stocks.vectors import vectors_of
from multiway.errors import DataError


def gather(source: Any, options: StockOptions, findings: Findings) -> list[RawTexts]:
    """All texts of a source, file by file.

    Raises:
        DataError: There is no such file or folder.
        Unreadable: It holds no texts.
    """
    if not isinstance(source, str | Path):
        return [_from_table(source, None, options, findings)]
    path = Path(source)
    if not path.exists():
        raise DataError(f"{quoted(path, 200)} does not exist. Give a file or folder of texts, or none (--texts none).")
    if path.is_file():
        return [_from_file(path, None, options, findings)]
    files = sorted(file for file in path.iterdir() if file.is_file() and (is_table(file) or is_lines(file)))
    if files:
        return _from_members(files, options, findings)
    tweets = tweets_folder(path)
    if tweets is None:
        rule = "there are no texts in this folder"
        raise findings.fatal("texts", rule, "Give CSV, Parquet or JSONL files, or StockNet's folder of tweets.")
    return [read_tweets(tweets, options, findings)]


def _from_members(files: list[Path], options: StockOptions, findings: Findings) -> list[RawTexts]:
    """Each of several files, whose name is the ticker where it has no column of them."""
    texts = []
    for file in files:
        inner = Findings(quoted(file.name, 80))
        try:
            if not is_ticker(stem(file)):
                refuse_ticker(file, inner)
            texts.append(_from_file(file, stem(file), options, inner))
        except Unreadable:
            pass  # noted, and the others are looked at too
        absorb(inner, findings)
    if findings.errors():
        raise Unreadable
    return texts


def _from_file(path: Path, ticker: str | None, options: StockOptions, findings: Findings) -> RawTexts:
    read = from_lines if is_lines(path) else _from_table
    return read(path, ticker, options, findings)


def _from_table(source: Any, ticker: str | None, options: StockOptions, findings: Findings) -> RawTexts:
    table = load_rows(source, options, findings)
    names = table.names
    if ticker is None or find_column(names, "ticker", options.ticker) is not None:
        column = require_column(names, "ticker", "ticker", options.ticker, findings)
        tickers = tickers_of(table, column, findings).to_numpy(object)
    else:
        tickers = np.full(len(table.frame), ticker, dtype=object)
    stamp = require_column(names, "stamp", "stamp", options.stamp, findings)
    vectors = vectors_of(table, findings)
    text = None
    if vectors is None:
        text = table.frame[require_column(names, "text", "text", options.text, findings)].tolist()
    id_column = find_column(names, "id")
    dated = find_column([name for name in names if name != stamp], "day") if options.stamp is None else None
    return RawTexts(
        ticker=tickers, stamp=table.frame[stamp].reset_index(drop=True), text=text, row=table.rows, vectors=vectors,
        dated=None if dated is None else table.frame[dated].reset_index(drop=True),
        id=None if id_column is None else table.frame[id_column].tolist(), unit=table.unit,
    )  # fmt: skip
