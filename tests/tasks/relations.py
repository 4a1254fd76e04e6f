"""Relations between what a run answers for some data and for the same data told in another way."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tasks.later_data import (
    COPY,
    NUMBERS,
    SAMPLE,
    TARGET,
    TIME,
    Later,
    json_lines,
    narrow,
    other_pixels,
    packed,
    parquet,
    text_of,
    usual,
    workbook,
)

NO_TABLE = {"images": "a folder of images has no table", "grids": "fields have axes and no rows of a table"}
NO_TEXT_FILE = {**NO_TABLE, "language": "its tiny data are JSON lines, which have no other spelling"}
NO_NUMBERS = dict.fromkeys(["volumes", "segment", "text", "images", "language", "grids"], "it has no table of numbers")
NO_TIMES = dict.fromkeys(["volumes", "segment", "text", "tabular", "images", "language"], "its samples have no times")
NO_TIMES["grids"] = "days of its tiny data have one form in a file of arrays"
NO_CLASSES = {
    "forecast": "what follows a file's end is in no file", "stocks": "targets are later prices",
    "language": "the text is its own target", "grids": "what follows a file's end is in no file",
}  # fmt: skip
ATTENDS = {
    "forecast": "one series is forecast from all of them", "stocks": "one stock is answered from all of them",
    "grids": "one cell is forecast from all of them",
}  # fmt: skip


class Relation(NamedTuple):
    """A change of later data after which the answers are those of before, as far as a sample is there.

    change: Makes it in place; where the data are then.
    excepted: Tasks that it says nothing of, and why.
    """

    change: Callable[[Later], Path]
    excepted: Mapping[str, str] = {}


def other_order(later: Later) -> Path:
    """Any order; of a series that is forecast from the newest to the oldest, as others are refused."""
    is_series = later.task == "forecast"
    return later.rewritten(lambda rows: rows[::-1] if is_series else rows.sample(frac=1, random_state=0))


def half(later: Later) -> Path:
    """Every second sample."""
    if later.task == "images":
        for path in sorted(later.data.rglob("*.png"))[::2]:
            path.unlink()
        return later.data
    name = SAMPLE[later.task]
    return later.rewritten(lambda rows: rows[rows[name].isin(sorted(set(rows[name]))[::2])])


def twice(later: Later) -> Path:
    """Every sample once more, under another name where two may not have one."""
    if later.task == "images":
        for path in [*later.data.rglob("*.png")]:
            shutil.copy(path, path.with_name(COPY + path.name))
        return later.data
    for path in later.folder.glob("*.npy"):
        shutil.copy(path, path.with_name(COPY + path.name))
    names = [SAMPLE[later.task], *(["mask"] if later.task == "segment" else [])]
    renamed = {} if later.task in ("text", "language", "tabular") else dict.fromkeys(names, COPY)
    return later.rewritten(lambda rows: pd.concat([rows, rows.assign(**{n: p + rows[n] for n, p in renamed.items()})]))


def other_columns(later: Later) -> Path:
    return later.rewritten(lambda rows: rows[rows.columns[::-1]])


def column_more(later: Later) -> Path:
    return later.rewritten(lambda rows: rows.assign(remark=[f"seen {row}" for row in range(len(rows))]))


def other_targets(later: Later) -> Path:
    """The classes of the other samples, or none."""
    if later.task == "segment":
        return later.rewritten(lambda rows: rows.drop(columns="mask"))
    if later.task == "images":
        for path in [*later.data.rglob("*.png")]:
            path.rename(later.data / f"{path.parent.name}-{path.name}")
        return later.data
    name = TARGET[later.task]
    return later.rewritten(lambda rows: rows.assign(**{name: _rotated(rows[name])}))


def _rotated(column: pd.Series) -> pd.Series:
    names = sorted(set(column))
    return column.map(dict(zip(names, [*names[1:], names[0]], strict=True)))


def another_place(later: Later) -> Path:
    """A folder and a file of other names, with blanks and letters that are not ASCII."""
    folder = later.folder.rename(later.folder.with_name("später – 2"))
    target = folder / later.data.name
    return target if target.is_dir() else target.rename(folder / f"neue {target.name}")


def relative(later: Later) -> Path:
    return Path(os.path.relpath(later.data))


def linked(later: Later) -> Path:
    target = later.folder / f"link {later.data.name}"
    target.symlink_to(later.data)
    return target


def other_numbers(later: Later) -> Path:
    """The same numbers in other digits."""

    def respelt(rows: pd.DataFrame) -> pd.DataFrame:
        names = [name for name in NUMBERS[later.task] if name in rows]
        return rows.assign(**{name: [_respelt(cell, row) for row, cell in enumerate(rows[name])] for name in names})

    return later.rewritten(respelt)


def _respelt(cell: str, row: int) -> str:
    number = float(cell)
    forms = (cell, f"+{cell}" if number >= 0 else cell, f"{number!r}", f" {cell} ", f"{number:.17e}", f"{number:.17E}")
    return forms[row % len(forms)]


def other_times(later: Later) -> Path:
    """The same days in another form, or steps counted from elsewhere."""
    name = TIME[later.task]
    forms = {"forecast": "%d.%m.%Y %H:%M", "stocks": "%Y%m%d"}

    def rewritten(rows: pd.DataFrame) -> pd.DataFrame:
        if later.task == "series":
            return rows.assign(**{name: rows[name].astype(int) + 1000})
        return rows.assign(**{name: pd.to_datetime(rows[name]).dt.strftime(forms[later.task])})

    return later.rewritten(rewritten)


def other_floats(later: Later) -> Path:
    """Fields with numbers of half the bytes, which hold the predictions to as many digits."""
    with np.load(later.data) as arrays:
        kept = {name: each.astype(np.float32) if each.dtype.kind == "f" else each for name, each in arrays.items()}
    np.savez(later.data, **kept)
    return later.data


def in_format(write: Callable[..., Path]) -> Callable[[Later], Path]:
    return lambda later: later.rewritten(write=write)


RELATIONS = {
    "rows in another order": Relation(other_order, NO_TABLE),
    "half of the samples": Relation(half, ATTENDS),
    "every sample twice": Relation(twice, ATTENDS),
    "columns in another order": Relation(other_columns, NO_TABLE),
    "a column more": Relation(column_more, NO_TABLE),
    "other targets": Relation(other_targets, NO_CLASSES),
    "another name and folder": Relation(another_place),
    "a relative path": Relation(relative),
    "a link": Relation(linked),
    "packed": Relation(in_format(packed), NO_TABLE),
    "byte order mark and line ends of Windows": Relation(
        in_format(text_of(lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"))), NO_TEXT_FILE
    ),
    "UTF-16": Relation(in_format(text_of(lambda text: text.encode("utf-16"))), NO_TEXT_FILE),
    "semicolons": Relation(in_format(lambda rows, path: usual(rows, path, sep=";")), NO_TEXT_FILE),
    "quotation marks": Relation(in_format(lambda rows, path: usual(rows, path, quoting=1)), NO_TEXT_FILE),
    "numbers in other digits": Relation(other_numbers, NO_NUMBERS),
    "times in another form": Relation(other_times, NO_TIMES),
    "Parquet": Relation(in_format(parquet), NO_TABLE),
    "other types of columns and pixels": Relation(
        lambda later: other_pixels(later) if later.task in ("images", "volumes", "segment")
        else other_floats(later) if later.task == "grids"
        else later.rewritten(write=narrow)
    ),
    "Excel": Relation(in_format(workbook), NO_TABLE),
    "JSON lines": Relation(in_format(json_lines), NO_TABLE),
}  # fmt: skip
