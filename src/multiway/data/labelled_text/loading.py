"""From a file, a frame or lists in memory to a raw table of texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.findings import Findings, quoted
from multiway.data.json_lines import read_lines
from multiway.data.labelled_text.options import LabelledTextOptions
from multiway.data.loading import load_table, load_texts_table, pair_of
from multiway.data.options import ReadOptions
from multiway.data.raw import Table
from multiway.data.text import bytes_of, characters
from multiway.errors import DataError

TEXT, TARGET = "text", "target"
"""Columns of texts and classes that come as lists."""
JSON_LINES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")


def load_texts(source: Any, options: LabelledTextOptions, findings: Findings) -> Table:
    """Read CSV, TSV, Excel, Parquet, JSON lines, a file of one text on each line, frames, or lists."""
    if not isinstance(source, str | Path):
        return load_table(frame_of(source), options.reading(), findings)
    name = Path(source).name.lower()
    if name.endswith(JSON_LINES):
        return _from_json_lines(Path(source), options, findings)
    if is_lines(source):
        return _from_lines(Path(source), options.reading(), findings)
    return load_texts_table(source, options.reading(), findings)


def is_lines(source: Any) -> bool:
    """Whether it is a file of one text on each line."""
    return isinstance(source, str | Path) and str(source).lower().endswith(".txt") and Path(source).is_file()


def frame_of(source: Any) -> Any:
    """A frame as it is; a list of texts, or texts with their classes, as one.

    Raises:
        DataError: There is not one class per text.
    """
    texts, classes = pair_of(source)
    if classes is None:
        return texts if hasattr(texts, "columns") else pd.DataFrame({TEXT: listed_texts(texts)})
    texts, classes = listed_texts(texts), np.asarray(classes)
    if classes.shape != (len(texts),):
        raise DataError(f"y: one class is needed per text, ({len(texts)},). Got {classes.shape}.")
    return pd.DataFrame({TEXT: texts, TARGET: classes})


def listed_texts(source: Any) -> list[str]:
    """A list, a series or an array of texts as a list.

    Raises:
        DataError: Something in it is no text.
    """
    if isinstance(source, str) or not hasattr(source, "__len__"):
        raise DataError(f"texts: a list or a series of str is needed. Got {type(source).__name__}.")
    if getattr(source, "ndim", 1) != 1:
        raise DataError(f"texts: a list or a series of str is needed. Got an array of shape {source.shape}.")
    texts: Sequence[Any] = list(source)
    wrong = next((place for place, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise DataError(f"texts[{wrong}] must be text. Got {type(texts[wrong]).__name__}.")
    return list(map(str, texts))


def _from_json_lines(path: Path, options: LabelledTextOptions, findings: Findings) -> Table:
    if not path.is_file():
        raise DataError(f"{quoted(path, 200)} does not exist. Give the path of a CSV, JSONL, Excel or Parquet file.")
    rows = list(read_lines(path, options.max_bytes, findings))
    if not rows:
        raise findings.fatal("empty", "it holds no objects", "Give one JSON object on each line.")
    frame = pd.DataFrame([item for _, item in rows])
    lines = np.array([number for number, _ in rows])
    return Table(frame=frame, rows=lines, unit="line", broken=np.zeros(len(frame), dtype=bool))


def _from_lines(path: Path, options: ReadOptions, findings: Findings) -> Table:
    """One text on each line; empty lines are none."""
    lines = characters(bytes_of(path, findings), options.encoding, findings).split("\n")
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    if not numbers:
        raise findings.fatal("empty", "the file is empty", "Give one text on each line.")
    frame = pd.DataFrame({TEXT: [lines[number] for number in numbers]})
    return Table(frame=frame, rows=np.array(numbers) + 1, unit="line", broken=np.zeros(len(frame), dtype=bool))
