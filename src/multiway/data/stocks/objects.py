"""Texts as JSON, one object on each line."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.cells import sound_text
from multiway.data.findings import Findings, Place
from multiway.data.json_lines import read_lines
from multiway.data.stocks.options import StockOptions
from multiway.data.stocks.raw_texts import RawTexts
from multiway.data.stocks.tables import find_column, is_ticker, require_column
from multiway.data.stocks.vectors import EMBEDDING, stacked
from multiway.data.text import free_memory

LINES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")
IN_MEMORY = 4
"""Bytes that one byte of JSON may take once read."""


def is_lines(path: Path) -> bool:
    """Whether a file holds JSON lines by its name."""
    return path.name.lower().endswith(LINES) and not path.name.startswith(".")


def from_lines(path: Path, ticker: str | None, options: StockOptions, findings: Findings) -> RawTexts:
    """Texts of one file, whose first object says under which names ticker, time and text stand."""
    _check_memory(path.stat().st_size, findings)
    lines = read_lines(path, options.max_bytes, findings)
    first = next(lines, None)
    if first is None:
        if not findings.errors():
            findings.add("empty", "error", "it holds no texts", "Give one JSON object on each line.")
        first = (0, {"ticker": None, "stamp": None, "text": None})
        lines = iter(())
    names = list(first[1])
    keys = {
        "ticker": _key(names, "ticker", options.ticker, ticker is not None, findings),
        "stamp": require_column(names, "stamp", "stamp", options.stamp, findings),
        "text": _key(names, "text", options.text, EMBEDDING in names, findings),
        "id": find_column(names, "id"),
    }
    every = itertools.chain([first] if first[0] else [], lines)
    return _Columns(keys, ticker).filled(every, findings)


def _key(names: list[str], kind: str, given: str, may_lack: bool, findings: Findings) -> str | None:
    if may_lack and find_column(names, kind, given) is None:
        return None
    return require_column(names, kind, kind, given, findings)


def _check_memory(size: int, findings: Findings) -> None:
    if size * IN_MEMORY > free_memory():
        rule = f"its {size / 1e9:.2g} GB of text may need {IN_MEMORY} times that memory"
        raise findings.fatal("memory", rule, "Write it as Parquet, or keep fewer texts.")


class _Columns:
    """Columns that grow line by line."""

    def __init__(self, keys: dict[str, str | None], ticker: str | None) -> None:
        self.keys, self.ticker = keys, ticker
        self.tickers, self.stamps, self.rows = list[str](), list[str](), list[int]()
        self.texts, self.ids, self.vectors = list[Any](), list[Any](), list[Any]()

    def filled(self, lines: Iterable[tuple[int, dict[str, Any]]], findings: Findings) -> RawTexts:
        """Take every object; those without a ticker or a time are a finding."""
        bad = [Place(row=number, value=fault) for number, item in lines if (fault := self._take(number, item))]
        if bad:
            rule = f"{len(bad)} objects lack a sound ticker or time"
            findings.add("json", "error", rule, "Give both, as text, in each.", bad, len(bad))
        rows = np.array(self.rows, dtype=np.int64)
        vectors = None
        if self.keys["text"] is None and self.rows:
            vectors = stacked(self.vectors, lambda row: Place(row=int(rows[row])), findings)
        return RawTexts(
            ticker=np.array(self.tickers, dtype=object),
            stamp=pd.Series(self.stamps, dtype="string"),
            text=self.texts if vectors is None else None,
            row=rows,
            vectors=vectors,
            id=self.ids if any(one is not None for one in self.ids) else None,
        )

    def _take(self, number: int, item: dict[str, Any]) -> str | None:
        """Keep an object, or say what of it is not sound."""
        ticker = self.ticker if self.keys["ticker"] is None else self._plain(item, "ticker")
        stamp = self._plain(item, "stamp")
        if ticker is None or not is_ticker(ticker):
            return str(item.get(self.keys["ticker"] or ""))
        if stamp is None:
            return str(item.get(self.keys["stamp"] or ""))
        self.tickers.append(ticker)
        self.stamps.append(stamp)
        self.rows.append(number)
        self.texts.append(item.get(self.keys["text"] or ""))
        self.vectors.append(item.get(EMBEDDING))
        self.ids.append(None if self.keys["id"] is None else item.get(self.keys["id"]))
        return None

    def _plain(self, item: dict[str, Any], kind: str) -> str | None:
        """Text or a whole number, as text."""
        value = item.get(self.keys[kind] or "")
        return sound_text(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else None
