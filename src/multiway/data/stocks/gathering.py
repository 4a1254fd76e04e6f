"""Texts from tables, from JSON lines and from StockNet's folders, still as they came."""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data import columns as col
from multiway.data.findings import Findings, Place, listed, quoted
from multiway.data.raw import Table
from multiway.data.stocks.joining import absorb
from multiway.data.stocks.lines import read_lines
from multiway.data.stocks.options import StockOptions
from multiway.data.stocks.tables import find_column, is_table, load_rows, require_column, stem, tickers_of
from multiway.data.text import free_memory
from multiway.errors import DataError

LINES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")
EMBEDDING = "embedding"
IN_MEMORY = 4
"""Bytes that one byte of JSON may take once read."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RawTexts:
    """Texts of one file, or of one folder of StockNet's, in its order.

    day: StockNet's own calendar day, which wins over the stamp.
    dated: A column of days beside the stamp, which wins over stamps that say no zone.
    file: Where each text stands if there are several files.
    """

    ticker: NDArray[np.object_]
    stamp: pd.Series
    text: list[Any] | None
    row: NDArray[np.int64]
    vectors: NDArray[np.float32] | None = None
    day: NDArray[np.datetime64] | None = None
    dated: pd.Series | None = None
    id: list[Any] | None = None
    file: list[str] | None = None
    unit: Literal["line", "row"] = "line"

    def place(self, row: int, value: str | None = None) -> Place:
        """Where a text stands."""
        name = None if self.file is None else self.file[row]
        return Place(row=int(self.row[row]), unit=self.unit, value=value, detail=name)

    def kept(self, keep: NDArray[np.bool_]) -> "RawTexts":
        """Some of the texts."""
        return RawTexts(
            ticker=self.ticker[keep], stamp=self.stamp[keep].reset_index(drop=True), text=_some(self.text, keep),
            row=self.row[keep], vectors=None if self.vectors is None else self.vectors[keep],
            day=None if self.day is None else self.day[keep],
            dated=None if self.dated is None else self.dated[keep].reset_index(drop=True), id=_some(self.id, keep), file=_some(self.file, keep),
            unit=self.unit,
        )  # fmt: skip


def _some(values: list[Any] | None, keep: NDArray[np.bool_]) -> list[Any] | None:
    return None if values is None else list(itertools.compress(values, keep))


def is_lines(path: Path) -> bool:
    """Whether a file holds JSON lines by its name."""
    return path.name.lower().endswith(LINES) and not path.name.startswith(".")


def gather(source: Any, options: StockOptions, findings: Findings) -> list[RawTexts]:
    """Texts of a frame, a file, a folder with one file per ticker, or StockNet's folder of tweets."""
    if not isinstance(source, str | Path):
        return [_from_table(source, None, options, findings)]
    path = Path(source)
    if not path.exists():
        raise DataError(f"{quoted(path, 200)} does not exist. Give a file or folder of texts.")
    if path.is_file():
        return [_from_file(path, None, options, findings)]
    files = sorted(file for file in path.iterdir() if file.is_file() and (is_table(file) or is_lines(file)))
    if files:
        return [_from_member(file, options, findings) for file in files]
    tweets = stocknet_tweets(path)
    if tweets is None:
        rule = f"there are no texts in {quoted(path.name, 80)}"
        raise findings.fatal("texts", rule, "Give CSV, Parquet or JSONL files, or StockNet's folder of tweets.")
    return [_from_stocknet(tweets, findings)]


def _from_member(file: Path, options: StockOptions, findings: Findings) -> RawTexts:
    """One of several files, whose name is the ticker where it has no column of them."""
    inner = Findings(quoted(file.name, 80))
    try:
        return _from_file(file, stem(file), options, inner)
    finally:
        absorb(inner, findings)


def _from_file(path: Path, ticker: str | None, options: StockOptions, findings: Findings) -> RawTexts:
    if is_lines(path):
        return _from_lines(path, ticker, options, findings)
    return _from_table(path, ticker, options, findings)


def _from_table(source: Any, ticker: str | None, options: StockOptions, findings: Findings) -> RawTexts:
    table = load_rows(source, options, findings)
    names = table.names
    if ticker is None or find_column(names, "ticker", options.ticker) is not None:
        column = require_column(names, "ticker", "ticker", options.ticker, findings)
        tickers = tickers_of(table, column, findings).to_numpy(object)
    else:
        tickers = np.full(len(table.frame), ticker, dtype=object)
    stamp = require_column(names, "stamp", "stamp", options.stamp, findings)
    vectors = _vectors(table, findings)
    text = None
    if vectors is None:
        text = table.frame[require_column(names, "text", "text", options.text, findings)].tolist()
    key = find_column(names, "id")
    dated = find_column([name for name in names if name != stamp], "day") if options.stamp is None else None
    return RawTexts(
        ticker=tickers, dated=None if dated is None else table.frame[dated].reset_index(drop=True), stamp=table.frame[stamp].reset_index(drop=True), text=text, vectors=vectors, row=table.rows,
        id=None if key is None else table.frame[key].tolist(), unit=table.unit,
    )  # fmt: skip


def _vectors(table: Table, findings: Findings) -> NDArray[np.float32] | None:
    """Ready vectors: columns e0, e1, ..., or one column of lists; None where there are neither."""
    names = [f"e{position}" for position in range(len(table.names)) if f"e{position}" in table.names]
    if names:
        if names != [f"e{position}" for position in range(len(names))]:
            raise findings.fatal("vectors", f"vectors are columns e0, e1, ... without a gap. Got {listed(names)}")
        values = col.parse_numbers(table, names, findings).astype(np.float32)
    elif EMBEDDING in table.names:
        values = _from_lists(table, findings)
    else:
        return None
    wrong = np.flatnonzero(~np.isfinite(values).all(1))
    if len(wrong):
        places = [table.place(int(row)) for row in wrong[:20]]
        findings.add("vectors", "error", f"{len(wrong)} vectors are not finite", "Make them again.", places, len(wrong))
    return values


def _from_lists(table: Table, findings: Findings) -> NDArray[np.float32]:
    cells = table.frame[EMBEDDING].tolist()
    try:
        rows = [np.asarray(cell, dtype=np.float32).reshape(-1) for cell in cells]
    except (TypeError, ValueError):
        raise findings.fatal(
            "vectors", f"column {EMBEDDING} does not hold lists of numbers", "Write Parquet."
        ) from None
    lengths = np.array([len(row) for row in rows])
    odd = np.flatnonzero((lengths != lengths[0]) | (lengths == 0))
    if len(odd):
        place = table.place(int(odd[0]), EMBEDDING, f"{lengths[odd[0]]} numbers")
        rule = f"vectors must have one length, that of the first is {lengths[0]}"
        raise findings.fatal("vectors", rule, "Make them again.", [place])
    return np.stack(rows)


def _from_lines(path: Path, ticker: str | None, options: StockOptions, findings: Findings) -> RawTexts:
    """JSON lines; the first object says under which names ticker, stamp and text stand."""
    _check_memory(path.stat().st_size, findings)
    lines = read_lines(path, findings)
    first = next(lines, None)
    if first is None:
        if not findings.errors():
            raise findings.fatal("empty", "it holds no texts", "Give one JSON object on each line.")
        return _empty()
    names = list(first[1])
    keys = {
        "ticker": _key(names, "ticker", options.ticker, findings, ticker is not None),
        "stamp": require_column(names, "stamp", "stamp", options.stamp, findings),
        "text": _key(names, "text", options.text, findings, EMBEDDING in names),
        "id": find_column(names, "id"),
    }
    every = itertools.chain([first], lines)
    return _collected(((number, item, None, None) for number, item in every), keys, ticker, findings)


def _key(names: list[str], kind: str, given: str, findings: Findings, may_lack: bool) -> str | None:
    if may_lack and find_column(names, kind, given) is None:
        return None
    return require_column(names, kind, kind, given, findings)


def _check_memory(size: int, findings: Findings) -> None:
    if size * IN_MEMORY > free_memory():
        rule = f"its {size / 1e9:.2g} GB of text may need {IN_MEMORY} times that memory"
        raise findings.fatal("memory", rule, "Write it as Parquet, or keep fewer texts.")


def _empty() -> RawTexts:
    return RawTexts(ticker=np.array([], dtype=object), stamp=pd.Series([], dtype="string"), text=[],
                    row=np.array([], dtype=np.int64))  # fmt: skip


Item = tuple[int, dict[str, Any], str | None, str | None]


def _collected(items: Iterable[Item], keys: dict[str, str | None], ticker: str | None, findings: Findings) -> RawTexts:
    """Columns of what stands on the lines; each item is line, object, file and StockNet's day, the last two if known."""
    tickers, stamps, texts, ids = list[Any](), list[Any](), list[Any](), list[Any]()
    rows, vectors, bad = list[int](), list[Any](), list[Place]()
    for number, item, _, _ in items:
        name = ticker if keys["ticker"] is None else item.get(keys["ticker"])
        stamp = item.get(keys["stamp"] or "")
        if not isinstance(name, str) or isinstance(stamp, dict | list | bool | None):
            bad.append(Place(row=number, value=str(name)))
            continue
        tickers.append(name.strip())
        stamps.append(str(stamp))
        texts.append(words(item.get(keys["text"])) if keys["text"] is not None else None)
        vectors.append(item.get(EMBEDDING))
        ids.append(None if keys["id"] is None else item.get(keys["id"]))
        rows.append(number)
    if bad:
        rule = f"{len(bad)} objects lack a ticker or a time"
        findings.add("json", "error", rule, "Give both as text in each.", bad[:20], len(bad))
    matrix = None
    if keys["text"] is None and rows:
        table = Table(frame=pd.DataFrame({EMBEDDING: vectors}), rows=np.array(rows), unit="line",
                      broken=np.zeros(len(rows), dtype=bool))  # fmt: skip
        matrix = _from_lists(table, findings)
    return RawTexts(
        ticker=np.array(tickers, dtype=object), stamp=pd.Series(stamps, dtype="string"), row=np.array(rows, np.int64),
        text=texts if matrix is None else None, vectors=matrix, id=ids if any(one is not None for one in ids) else None,
    )  # fmt: skip


def words(value: Any) -> Any:
    """A text as it is, or StockNet's list of words with blanks between."""
    if isinstance(value, list):
        return " ".join(word for word in value if isinstance(word, str))
    return value


def stocknet_tweets(path: Path) -> Path | None:
    """The folder that holds StockNet's tweets as TICKER/DAY, at or below a folder."""
    for folder in (path / "tweet" / "preprocessed", path / "tweet" / "raw", path / "preprocessed", path):
        if folder.is_dir() and any(_days_in(ticker) for ticker in _folders(folder)):
            return folder
    return None


def _folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _days_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if re.fullmatch(r"\d{4}-\d{2}-\d{2}", file.name))


def _from_stocknet(folder: Path, findings: Findings) -> RawTexts:
    """Every tweet of every ticker and day; the name of its file is its day, as StockNet counts."""
    parts: dict[str, list[Any]] = {name: [] for name in ("ticker", "stamp", "day", "text", "row", "file")}
    for ticker, file, number, item in _tweets(folder, findings):
        for name, value in (
            ("ticker", ticker), ("stamp", str(item.get("created_at", file.name))), ("day", file.name),
            ("text", words(item.get("text"))), ("row", number), ("file", f"{ticker}/{file.name}"),
        ):  # fmt: skip
            parts[name].append(value)
    return RawTexts(
        ticker=np.array(parts["ticker"], dtype=object), stamp=pd.Series(parts["stamp"], dtype="string"),
        text=parts["text"], row=np.array(parts["row"], dtype=np.int64), day=np.array(parts["day"], "datetime64[D]"),
        file=parts["file"],
    )  # fmt: skip


def _tweets(folder: Path, findings: Findings) -> Iterator[tuple[str, Path, int, dict[str, Any]]]:
    for ticker in _folders(folder):
        for file in _days_in(ticker):
            inner = Findings(f"{quoted(ticker.name)}/{file.name}")
            for number, item in read_lines(file, inner):
                yield ticker.name, file, number, item
            absorb(inner, findings)
