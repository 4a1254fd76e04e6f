"""Later data of each task's tiny run, rewritten in ways that may not change what is answered."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from tasks.finished import Made

TABLES = {
    "forecast": ("loads.csv",), "series": ("waves.csv",), "volumes": ("scans.csv",), "segment": ("cases.csv",),
    "stocks": ("prices.csv", "texts.csv"), "text": ("notes.csv",), "tabular": ("people.csv",), "images": (),
    "language": ("stories.jsonl",), "grids": (),
}  # fmt: skip
"""Files with rows."""
SAMPLE = {
    "series": "id", "volumes": "path", "segment": "path", "text": "text", "tabular": "name", "language": "text",
    "images": "image",
}  # fmt: skip
"""Column that names the sample of a row."""
TARGET = {"series": "class", "volumes": "label", "text": "label", "tabular": "ill"}
NUMBERS = {
    "forecast": ("series 0", "series 1", "series 2"), "series": ("x", "y"), "tabular": ("age", "weight"),
    "stocks": ("open", "high", "low", "close", "adj_close"),
}  # fmt: skip
"""Columns of numbers that are inputs."""
TIME = {"forecast": "date", "series": "time", "stocks": "date"}
COPY = "copy-"
"""Before the name of a sample that stands there twice."""
Write = Callable[[pd.DataFrame, Path], Path]


class Later(NamedTuple):
    """A copy of a run's data to be changed in place.

    data: What `--data` names.
    """

    task: str
    folder: Path
    data: Path

    @property
    def tables(self) -> list[Path]:
        """Files with rows."""
        root = self.data if self.data.is_dir() else self.folder
        return [root / name for name in TABLES[self.task]]

    def rewritten(self, edit: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows, write: Write | None = None):
        """The data with every table edited and written; cells that an edit sees are text."""
        written = self.data
        for path in self.tables:
            written = (write or usual)(edit(read(path)), path)
            if written != path:
                path.unlink()
        return self.data if self.data.is_dir() else written


def copied(made: Made, folder: Path) -> Later:
    """The data of a run without the run."""
    source = made.tiny.data.parent
    ignored = shutil.ignore_patterns("run", "report.html")
    shutil.copytree(source, folder, ignore=ignored)
    return Later(made.tiny.task, folder, folder / made.tiny.data.name)


def read(path: Path) -> pd.DataFrame:
    """Cells as they are written."""
    if path.suffix == ".jsonl":
        return pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def usual(rows: pd.DataFrame, path: Path, **how: object) -> Path:
    """As the format of the path is usually written."""
    if path.suffix == ".jsonl":
        return json_lines(rows, path)
    rows.to_csv(path, index=False, **how)
    return path


def json_lines(rows: pd.DataFrame, path: Path) -> Path:
    """An object on each line."""
    target = path.with_suffix(".jsonl")
    typed(rows).to_json(target, orient="records", lines=True, force_ascii=False)
    return target


def parquet(rows: pd.DataFrame, path: Path) -> Path:
    """Columns of numbers as such."""
    target = path.with_suffix(".parquet")
    typed(rows).to_parquet(target, index=False)
    return target


def narrow(rows: pd.DataFrame, path: Path) -> Path:
    """Parquet with words as categories, and whole numbers in as few bytes as they need."""
    frame = typed(rows)
    for name, column in frame.items():
        if pd.api.types.is_integer_dtype(column):
            frame[name] = pd.to_numeric(column, downcast="integer")
        elif not pd.api.types.is_numeric_dtype(column):
            frame[name] = column.astype("category")
    return parquet_of(frame, path)


def parquet_of(frame: pd.DataFrame, path: Path) -> Path:
    """A frame as it is."""
    frame.to_parquet(path.with_suffix(".parquet"), index=False)
    return path.with_suffix(".parquet")


def workbook(rows: pd.DataFrame, path: Path) -> Path:
    """A sheet of Excel."""
    target = path.with_suffix(".xlsx")
    typed(rows).to_excel(target, index=False)
    return target


def text_of(change: Callable[[str], bytes], **how: object) -> Write:
    """A text file whose characters become bytes in some way."""

    def write(rows: pd.DataFrame, path: Path) -> Path:
        usual(rows, path, **how)
        path.write_bytes(change(path.read_text()))
        return path

    return write


def packed(rows: pd.DataFrame, path: Path) -> Path:
    """Behind gzip."""
    usual(rows, path)
    target = path.with_name(f"{path.name}.gz")
    target.write_bytes(gzip.compress(path.read_bytes()))
    return target


def typed(rows: pd.DataFrame) -> pd.DataFrame:
    """Columns of numbers and of truth values as such."""
    return rows.apply(_typed)


def _typed(column: pd.Series) -> pd.Series:
    if set(column) <= {"True", "False"}:
        return column == "True"
    numbers = pd.to_numeric(column, errors="coerce")
    return column if numbers.isna().any() else numbers


def other_pixels(later: Later) -> Path:
    """The same voxels in eight bytes each, the same pixels in another format."""
    for path in later.folder.rglob("*.npy"):
        np.save(path, np.load(path).astype(np.float64))
    for path in later.data.rglob("*.png") if later.data.is_dir() else ():
        Image.open(path).save(path.with_suffix(".bmp"))
        path.unlink()
    return later.data
