"""Texts from a table, from JSON lines, from a folder of either, or from a published one; still as they came."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, Unreadable, listed, quoted
from multiway.data.sources import columns as col
from multiway.data.sources.cells import RawTable
from multiway.errors import DataError, Fix
from multiway.tasks.stocks import folders
from multiway.tasks.stocks.options import NO_TEXTS, StockOptions
from multiway.tasks.stocks.tables import (
    file_of_ticker,
    find_column,
    is_table,
    load_rows,
    needed_column,
    stem,
    tickers_of,
)

EMBEDDING = "embedding"
Column = Sequence[str] | NDArray[np.datetime64]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RawTexts:
    """Texts of one file, or of one published folder, in its order and before anything is left out.

    frame: Columns ticker, stamp and row; as far as they are there text, id, day (beside the stamps: it wins over stamps
        that say no zone) and file (where each text stands if there are several).
    vectors: One for each label of the frame's index.
    by_day: Days win over any stamps.
    """

    frame: pd.DataFrame
    vectors: NDArray[np.float32] | None = None
    by_day: bool = False
    unit: Literal["line", "row"] = "line"

    def place(self, row: int, value: str | None = None) -> Place:
        """Where a text stands."""
        text = self.frame.iloc[row]
        return Place(row=int(text["row"]), unit=self.unit, value=value, detail=text.get("file"))

    def kept(self, keep: NDArray[np.bool_], **changes: Column) -> "RawTexts":
        """Some of the texts, some of their columns changed."""
        return dataclasses.replace(self, frame=self.frame[keep].assign(**changes))


def gather(source: object, options: StockOptions, findings: Findings) -> list[RawTexts]:
    """All texts of a source, file by file.

    Raises:
        DataError: There is no such file or folder.
        Unreadable: It holds no texts.
    """
    if not isinstance(source, str | Path):
        return [_from_table(source, None, options, findings)]
    path = Path(source)
    if not path.exists():
        none = Fix("read.texts", NO_TEXTS)
        raise DataError(f"{quoted(path, 200)} does not exist. Give a file or folder of texts, or none (", none, ").")
    if path.is_file():
        return [_from_table(path, None, options, findings)]
    files = sorted(file for file in path.iterdir() if file.is_file() and is_table(file, or_lines=True))
    if files:
        return _from_members(files, options, findings)
    for published in folders.published_folder():
        folder = published.texts(path)
        if folder is not None:
            return [_from_items(published.read_texts(folder, options.max_bytes, findings), options)]
    rule = "there are no texts in this folder"
    raise findings.fatal("texts", rule, "Give CSV, Parquet or JSONL files, or StockNet's folder of tweets.")


def _from_members(files: list[Path], options: StockOptions, findings: Findings) -> list[RawTexts]:
    """Each of several files, whose name is the ticker where it has no column of them."""
    texts = []
    for file in files:
        with file_of_ticker(file, findings) as inner:
            texts.append(_from_table(file, stem(file), options, inner))
    if findings.errors():
        raise Unreadable
    return texts


def _from_table(source: object, ticker: str | None, options: StockOptions, findings: Findings) -> RawTexts:
    table = load_rows(source, options, findings)
    names = table.names
    tickers = tickers_of(table, ticker, options, findings)
    stamp = needed_column(names, "stamp", options, findings)
    vectors = _vectors_of(table, findings)
    day = find_column([name for name in names if name != stamp], "day") if options.stamp is None else None
    columns = {"stamp": stamp, "id": find_column(names, "id"), "day": day}
    given = {name: table.frame[column].reset_index(drop=True) for name, column in columns.items() if column is not None}
    if vectors is None:
        given["text"] = table.frame[needed_column(names, "text", options, findings)].astype(object)
    frame = pd.DataFrame({"ticker": tickers, "row": table.rows, **given})
    return RawTexts(frame=frame, vectors=vectors, unit=table.unit)


def _from_items(rows: Iterator[folders.DatedText], options: StockOptions) -> RawTexts:
    """Texts of a published folder: the day of each is that of its file, unless its stamp is to be read."""
    frame = pd.DataFrame(rows, columns=folders.DatedText._fields, dtype=object)
    frame = frame.astype({"stamp": "string", "day": "string"})
    if options.stamp is None:
        return RawTexts(frame=frame, by_day=True)
    return RawTexts(frame=frame.drop(columns="day"))


def _vectors_of(table: RawTable, findings: Findings) -> NDArray[np.float32] | None:
    """Ready vectors of a table, columns e0, e1, ..., or one column of lists; None where it holds none."""
    names = [f"e{position}" for position in range(len(table.names)) if f"e{position}" in table.names]
    if not names:
        if EMBEDDING not in table.names:
            return None
        return _stacked(table.frame[EMBEDDING].tolist(), table.place, findings)
    if names[-1] != f"e{len(names) - 1}":
        raise findings.fatal("vectors", f"vectors are columns e0, e1, ... without a gap. Got {listed(names)}")
    return _finite(col.parse_numbers(table, names, findings).astype(np.float32), table.place, findings)


def _stacked(cells: Sequence[object], place_of: Callable[[int], Place], findings: Findings) -> NDArray[np.float32]:
    """Lists of numbers as rows of one array."""
    try:
        rows = [np.asarray(cell, dtype=np.float32) for cell in cells]
    except (TypeError, ValueError):
        rule = f"'{EMBEDDING}' does not hold lists of numbers"
        raise findings.fatal("vectors", rule, "Write them to Parquet or JSONL as lists.") from None
    odd = next((row for row, one in enumerate(rows) if one.ndim != 1 or one.shape != rows[0].shape or not one.size), -1)
    if odd >= 0:
        rule = f"vectors must be lists of one length, and the first has {rows[0].size}"
        raise findings.fatal("vectors", rule, "Make them again.", [place_of(odd)])
    return _finite(np.stack(rows), place_of, findings)


def _finite(values: NDArray[np.float32], place_of: Callable[[int], Place], findings: Findings) -> NDArray[np.float32]:
    wrong = np.asarray(~np.isfinite(values).all(1))
    findings.mark("vectors", "vectors are not finite", "Make them again.", wrong, place_of)
    return values
