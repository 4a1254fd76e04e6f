"""StockNet's folder of tweets: TICKER/DAY, each a file of JSON lines."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.cells import sound_text
from multiway.data.findings import Findings, quoted
from multiway.data.json_lines import read_lines
from multiway.data.stocks.joining import absorb
from multiway.data.stocks.options import StockOptions
from multiway.data.stocks.raw_texts import RawTexts

COLUMNS = ("ticker", "stamp", "day", "text", "row", "file")


def tweets_folder(path: Path) -> Path | None:
    """The folder that holds tweets as TICKER/DAY, at or below a folder."""
    for folder in (path / "tweet" / "preprocessed", path / "tweet" / "raw", path / "preprocessed", path):
        if folder.is_dir() and any(_days_in(ticker) for ticker in _folders(folder)):
            return folder
    return None


def read_tweets(folder: Path, options: StockOptions, findings: Findings) -> RawTexts:
    """Every tweet of every ticker and day; the name of its file is its day, unless its stamp is asked for."""
    parts: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for file, number, item in _tweets(folder, options.max_bytes, findings):
        ticker, day = file.parent.name, file.name
        text, stamp = _words(item.get("text")), sound_text(item.get("created_at", day))
        for name, value in zip(COLUMNS, (ticker, stamp, day, text, number, f"{ticker}/{day}"), strict=True):
            parts[name].append(value)
    return RawTexts(
        ticker=np.array(parts["ticker"], dtype=object), stamp=pd.Series(parts["stamp"], dtype="string"),
        text=parts["text"], row=np.array(parts["row"], dtype=np.int64), file=parts["file"],
        dated=pd.Series(parts["day"], dtype="string") if options.stamp is None else None, by_day=options.stamp is None,
    )  # fmt: skip


def _tweets(folder: Path, limit: int, findings: Findings) -> Iterator[tuple[Path, int, dict[str, Any]]]:
    for ticker in _folders(folder):
        for file in _days_in(ticker):
            inner = Findings(f"{quoted(ticker.name)}/{file.name}")
            for number, item in read_lines(file, limit, inner):
                yield file, number, item
            absorb(inner, findings)


def _words(value: Any) -> Any:
    """A text as it is, or StockNet's list of words with blanks between."""
    return " ".join(word for word in value if isinstance(word, str)) if isinstance(value, list) else value


def _folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _days_in(folder: Path) -> list[Path]:
    """Files named as days that there are; what else lies there is passed over."""
    return sorted(file for file in folder.iterdir() if _is_day(file.name) and file.is_file())


def _is_day(name: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", name):
        return False
    try:
        np.datetime64(name, "D")
    except ValueError:
        return False
    return True
