"""`read_sequences`: from a file, a folder or data in memory to labelled series, with every flaw named."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from multiway.data.findings import Findings, Place, listed, quoted, soundly
from multiway.data.sources.series import SequenceOptions, Sequences, joined_series
from multiway.data.sources.series_arrays import holds_series, looks_long, of_arrays, read_long, read_npz
from multiway.data.sources.series_files import looks_like_rows_of_values, read_rows, read_ts
from multiway.data.sources.tables import column_names, source_name
from multiway.errors import DataError, Fix

ROWS = (".tsv", ".txt", ".csv")
ARCHIVE = (".ts", ".tsv", ".txt")
Reader = Callable[[Any, SequenceOptions, Findings], Sequences]


def read_sequences(source: Any, options: SequenceOptions | None = None, *, has_target: bool = True) -> Sequences:
    """Read labelled series.

    A `.ts`, `.tsv`, `.txt` or `.npz` file, a folder with NAME_TRAIN.ts and NAME_TEST.ts, a long table; in memory an
    array `(series, steps[, variates])`, a list of arrays, a pair of either and classes, or a frame.
    """
    given = options or SequenceOptions()
    return soundly(
        series_label(source), lambda findings: read_series_into(source, given, findings, has_target=has_target)
    )


def series_label(source: Any) -> str:
    """What messages call the source."""
    return "arrays in memory" if isinstance(source, list | tuple | np.ndarray) else source_name(source)


def read_series_into(
    source: Any, options: SequenceOptions, findings: Findings, *, has_target: bool = True
) -> Sequences:
    """The same, with flaws noted; the series are sound only where no finding is an error."""
    sequences = _reader(source, has_target=has_target)(source, options, findings)
    _note_missing(sequences, options, findings)
    return sequences if options.length is None else sequences.resized(options.length)


def looks_like_sequences(source: Any) -> bool:
    """Whether data look like labelled series: a file or folder of an archive, or a long table with classes."""
    if not isinstance(source, str | Path):
        return not isinstance(source, tuple | list | np.ndarray) and looks_long(column_names(source))
    path = Path(source)
    if path.is_dir():
        return bool(_official(path))
    if path.suffix.lower() == ".npz":
        try:
            return holds_series(path)
        except DataError:
            return False
    is_row_file = path.suffix.lower() in (".tsv", ".txt") and path.stem.endswith(("_TRAIN", "_TEST"))
    return path.suffix.lower() == ".ts" or is_row_file or looks_long(column_names(path))


def _reader(source: Any, *, has_target: bool = True) -> Reader:
    """What reads this source."""
    if isinstance(source, list | tuple | np.ndarray):
        return _read_memory
    if not isinstance(source, str | Path):
        return functools.partial(read_long, has_target=has_target)
    path = Path(source)
    if path.is_dir():
        return _read_folder
    if path.suffix.lower() in (".ts", ".npz"):
        return _of_path(read_ts if path.suffix.lower() == ".ts" else read_npz)
    is_rows = path.suffix.lower() in ROWS and looks_like_rows_of_values(path)
    return _of_path(read_rows) if is_rows else functools.partial(read_long, has_target=has_target)


def _of_path(read: Callable[[Path, SequenceOptions, Findings], Sequences]) -> Reader:
    return lambda source, options, findings: read(Path(source), options, findings)


def _read_memory(source: Any, options: SequenceOptions, findings: Findings) -> Sequences:
    x, y = source if isinstance(source, tuple) and len(source) == 2 else (source, None)
    return of_arrays(x, y, findings)


def _read_folder(source: Any, options: SequenceOptions, findings: Findings) -> Sequences:
    """The official split in a folder of an archive."""
    folder = Path(source)
    found = _official(folder)
    if len(found) != 1:
        what = f"it holds {listed(sorted(found))}" if found else "it holds none"
        raise DataError(
            f"{quoted(folder.name)}: a folder of series has one pair NAME_TRAIN.ts and NAME_TEST.ts (or .tsv, .txt); "
            f"{what}. Give that folder, or one file."
        )
    (pair,) = found.values()
    train, test = (_reader(path)(path, options, findings) for path in pair)
    return joined_series(train, test, findings.source)


def _official(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Pairs of training and test file by the name of their set; of several forms the first is taken."""
    found: dict[str, tuple[Path, Path]] = {}
    for suffix in ARCHIVE:
        for train in sorted(folder.glob(f"*_TRAIN{suffix}")):
            name = train.name.removesuffix(f"_TRAIN{suffix}")
            test = folder / f"{name}_TEST{suffix}"
            if test.is_file():
                found.setdefault(name, (train, test))
    return found


def _note_missing(sequences: Sequences, options: SequenceOptions, findings: Findings) -> None:
    """Refuse missing values, or say how many there are; padding is none."""
    missing = sequences.missing().sum(0)
    if missing.any():
        places = [
            Place(column=name, detail=f"{count} values")
            for name, count in zip(sequences.variates, missing.tolist(), strict=True) if count
        ]  # fmt: skip
        is_error = options.missing == "error"
        fix = ("Fill them in, or set missing to mask (", Fix("read.missing", "mask"), ").") if is_error else ""
        rule = f"{missing.sum()} values are missing"
        findings.add("missing", "error" if is_error else "note", rule, fix, places)
