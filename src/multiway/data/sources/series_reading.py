"""`read_sequences`: from a file of the UCR and UEA archives, a folder or data in memory to labelled series."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, list_some, quote, soundly
from multiway.data.options import CLASS_NAMES, SequenceOptions
from multiway.data.sources.bytes import bytes_of
from multiway.data.sources.cells import ID_NAMES, TIME_NAMES, as_text
from multiway.data.sources.columns import RawTable, parse_times, require_column
from multiway.data.sources.frames import source_name
from multiway.data.sources.series import (
    Sequences,
    Values,
    check_observed,
    class_text,
    holds_series,
    join_series,
    missing_of,
    number_series,
    of_arrays,
    pad_series,
    read_npz,
)
from multiway.data.sources.tables import column_names, load_table
from multiway.data.sources.text import decode_text
from multiway.data.sources.values import parse_numbers
from multiway.errors import DataError, Fix, Message

ROWS = (".tsv", ".txt", ".csv")
ARCHIVE = (".ts", ".tsv", ".txt")
MISSING = ("?", "", "NaN", "nan", "NAN")
FLAGS = ("timestamps", "missing", "univariate", "equallength", "targetlabel")


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
    sequences = _read(source, options, findings, has_target)
    if options.sentinels:
        values = np.where(np.isin(sequences.values, options.sentinels), np.nan, sequences.values)
        sequences = dataclasses.replace(sequences, values=values)
    missing = missing_of(sequences.values).sum(0)
    if missing.any():  # padding is none
        counts = zip(sequences.variates, missing.tolist(), strict=True)
        places = [Place(column=name, detail=f"{count} values") for name, count in counts if count]
        is_error = options.missing == "error"
        fix = ("Fill them in, or set missing to mask (", Fix("read.missing", "mask"), ").") if is_error else ""
        rule = f"{missing.sum()} values are missing"
        findings.add("missing", "error" if is_error else "note", rule, fix, places)
    return sequences if options.length is None else sequences.resize(options.length)


def _read(source: Any, options: SequenceOptions, findings: Findings, has_target: bool) -> Sequences:
    """By what reads this source."""
    if isinstance(source, list | tuple | np.ndarray):
        x, y = source if isinstance(source, tuple) and len(source) == 2 else (source, None)
        return of_arrays(x, y, findings)
    if not isinstance(source, str | Path):
        return read_long(source, options, findings, has_target=has_target)
    path = Path(source)
    if path.is_dir():
        return _read_folder(path, options, findings)
    ending = path.suffix.lower()
    if ending in (".ts", ".npz"):
        return read_ts(path, options, findings) if ending == ".ts" else read_npz(path, options, findings)
    if ending in ROWS and looks_like_rows_of_values(path):
        return read_rows(path, options, findings)
    return read_long(source, options, findings, has_target=has_target)


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


def _read_folder(folder: Path, options: SequenceOptions, findings: Findings) -> Sequences:
    """The official split in a folder of an archive."""
    found = _official(folder)
    if len(found) != 1:
        what = f"it holds {list_some(sorted(found))}" if found else "it holds none"
        raise DataError(
            f"{quote(folder.name)}: a folder of series has one pair NAME_TRAIN.ts and NAME_TEST.ts (or .tsv, .txt); "
            f"{what}. Give that folder, or one file."
        )
    (pair,) = found.values()
    train, test = (_read(path, options, findings, has_target=True) for path in pair)
    return join_series(train, test, findings.source)


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Header:
    """What a `.ts` file says before its data.

    classes: As declared; None where series have no class.
    first: Line on which the data begin.
    """

    classes: tuple[str, ...] | None
    dimensions: int | None
    first: int


def read_ts(path: Path, options: SequenceOptions, findings: Findings) -> Sequences:
    """Read a `.ts` file: dimensions separated by colons, the class behind the last one."""
    lines = _lines(path, options, findings)
    header = _read_header(lines, findings)
    rows = [
        (number, line.strip())
        for number, line in enumerate(lines[header.first - 1 :], header.first)
        if line.strip() and not line.startswith(("#", "%"))
    ]
    cut = [(number, *_class_of(number, line, header, findings)) for number, line in rows]
    series = [_dimensions(number, cells, header, findings) for number, cells, _ in cut]
    labels = None if header.classes is None else tuple(label for *_, label in cut)
    return _sequences(series, labels, [number for number, _ in rows], findings)


def read_rows(path: Path, options: SequenceOptions, findings: Findings) -> Sequences:
    """Read rows of a class and the values of one variate, separated by tabs, commas or blanks."""
    lines = _lines(path, options, findings)
    rows = [(number, _cells(line)) for number, line in enumerate(lines, 1) if line.strip()]
    series = [_numbers(cells[1:], number, findings)[:, None] for number, cells in rows]
    labels = tuple(class_text(cells[0]) for _, cells in rows)
    return _sequences([_without_end(each) for each in series], labels, [number for number, _ in rows], findings)


def looks_like_rows_of_values(path: Path) -> bool:
    """Whether the first line of a text file is numbers alone, so that it has no header."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            cells = _cells(file.readline(1_000_000))
    except OSError:
        return False
    return len(cells) > 2 and all(re.fullmatch(r"[-+.\deE]+", cell) or cell in MISSING for cell in cells)


def _lines(path: Path, options: SequenceOptions, findings: Findings) -> list[str]:
    return decode_text(bytes_of(path, findings), options.encoding, options.max_bytes, findings).split("\n")


def _read_header(lines: Sequence[str], findings: Findings) -> Header:
    """Tags up to `@data`; time stamps and targets that are numbers are refused."""
    tags: dict[str, list[str]] = {}
    first = 0
    for number, line in enumerate(lines, 1):
        words = line.split()
        if words and words[0].lower() == "@data":
            first = number + 1
            break
        if words and words[0].startswith("@"):
            tags[words[0][1:].lower()] = words[1:]
    if not first:
        raise findings.fatal("header", "a .ts file has a line @data before its series", "Add it behind the header.")
    is_set = {name: (tags.get(name) or ["false"])[0].lower() == "true" for name in FLAGS}
    if is_set["timestamps"]:
        rule = "series with time stamps of their own (@timeStamps true) are not read"
        raise findings.fatal("time", rule, "Write values at even steps, NaN where one is missing.")
    if is_set["targetlabel"]:
        raise findings.fatal("target", "its targets are numbers (@targetLabel), not classes", "Give a set of classes.")
    has_class, *classes = tags.get("classlabel") or ["false"]
    dimensions = tags.get("dimensions") or tags.get("dimension") or [""]
    return Header(
        classes=tuple(map(class_text, classes)) if has_class.lower() == "true" else None,
        dimensions=int(dimensions[0]) if dimensions[0].isdecimal() else None,
        first=first,
    )


def _class_of(number: int, line: str, header: Header, findings: Findings) -> tuple[list[str], str]:
    """Dimensions of a line as text, and its class."""
    *cells, label = line.split(":") if header.classes is not None else [*line.split(":"), ""]
    label = class_text(label)
    if header.classes and label not in header.classes:
        raise findings.fatal(
            "class",
            f"a series ends with its class, one of {', '.join(map(quote, header.classes))}",
            "Correct the line.",
            [Place(row=number, value=label)],
        )
    return cells, label


def _dimensions(number: int, cells: Sequence[str], header: Header, findings: Findings) -> Values:
    """`(steps, variates)` of a line; a shorter dimension ends with NaN."""
    if header.dimensions not in (None, len(cells)):
        rule = f"the header declares {header.dimensions} dimensions, and a series has {len(cells)}"
        raise findings.fatal("dimensions", rule, "Correct the line.", [Place(row=number)])
    if any(cell.strip().startswith("(") for cell in cells):
        rule = "series with time stamps of their own, (time,value), are not read"
        raise findings.fatal("time", rule, "Write values at even steps, NaN where one is missing.", [Place(row=number)])
    columns = [_numbers(cell.split(","), number, findings) for cell in cells]
    return _without_end(pad_series([column[:, None] for column in columns])[:, :, 0].T)


def _cells(line: str) -> list[str]:
    separator = next((mark for mark in ("\t", ",") if mark in line), None)
    return [cell.strip() for cell in line.strip().split(separator)]


def _numbers(cells: Sequence[str], number: int, findings: Findings) -> Values:
    """Values of one series, NaN where one is missing."""

    def parse(cell: str | float) -> float:
        try:
            return float(cell)
        except ValueError:
            return np.inf

    known = [np.nan if cell.strip() in MISSING else cell for cell in cells]
    try:
        values = np.array(known, dtype=np.float64)
    except ValueError:
        values = np.array(list(map(parse, known)))
    wrong = np.flatnonzero(np.isinf(values))
    if len(wrong):
        place = Place(row=number, value=str(cells[wrong[0]]), detail=f"value {wrong[0] + 1}")
        raise findings.fatal("number", "a value is no finite number", "Correct it, or write NaN.", [place], len(wrong))
    return values


def _without_end(series: Values) -> Values:
    """A series without the steps behind its last observed one, with which shorter ones are filled up."""
    observed = np.flatnonzero(~np.isnan(series).all(1))
    return series[: observed[-1] + 1] if len(observed) else series[:0]


def _sequences(
    series: Sequence[Values], labels: tuple[str, ...] | None, lines: Sequence[int], findings: Findings
) -> Sequences:
    """Series of a file; each is called by its place among them."""
    if not series:
        raise findings.fatal("empty", "it holds no series", "Give a file with some.")
    numbered = number_series(series, [Place(row=line) for line in lines], findings)
    return dataclasses.replace(numbered, labels=labels)


CHOSEN: Message = ("Choose the columns of numbers (", Fix("read.columns", like="NAME,NAME"), ")")
Codes = NDArray[np.int64]


def read_long(source: Any, options: SequenceOptions, findings: Findings, *, has_target: bool = True) -> Sequences:
    """Read a long table; rows of a series are successive steps, in the order of their times."""
    table = load_table(source, options, findings)
    name = _find_column(table, options.id, "id", ID_NAMES, findings)
    if name is None:
        fix = (
            "Name it (",
            Fix("read.id", like="NAME"),
            "): a long table has a row per step, and a column of their series.",
        )
        raise findings.fatal("columns", f"no column of series is among {list_some(table.names)}", fix)
    target = _find_column(table, options.target, "target", CLASS_NAMES, findings) if has_target else None
    time = _find_column(table, options.time, "time", TIME_NAMES, findings)
    group = _find_column(table, options.group, "group", (), findings)
    variates = [require_column(table.names, each, "columns", findings) for each in options.columns or ()]
    variates = variates or [each for each in table.names if each not in (name, target, time, group)]
    if not variates:
        raise findings.fatal("columns", "no column of values is left", f"There are {list_some(table.names)}.")
    values = parse_numbers(table, variates, findings, emptied=("Correct or empty them.",), chosen=CHOSEN)
    codes, ids = pd.factorize(as_text(table.frame[name]))
    order = _order(table, codes, ids, time, options, findings)
    series = np.split(values[order], np.flatnonzero(np.diff(codes[order])) + 1)
    check_observed(series, [Place(column=name, value=str(each)) for each in ids], findings)
    return Sequences(
        values=pad_series(series),
        names=tuple(map(str, ids)),
        variates=tuple(variates),
        source=findings.source,
        labels=_read_once(table, target, codes, ids, findings),
        target_name=target,
        groups=_read_once(table, group, codes, ids, findings),
    )


def looks_long(names: Sequence[str]) -> bool:
    """Whether columns are called as those of labelled series: a name, a time and a class."""
    known = {name.lower() for name in names}
    return all(known & set(usual) for usual in (ID_NAMES, TIME_NAMES, CLASS_NAMES))


def _find_column(
    table: RawTable, named: str | None, option: str, usual: tuple[str, ...], findings: Findings
) -> str | None:
    """The named column, or the first with a usual name."""
    if named is not None:
        return require_column(table.names, named, option, findings)
    return next((name for name in table.names if name.lower() in usual), None)


def _order(
    table: RawTable, codes: Codes, ids: pd.Index, time: str | None, options: SequenceOptions, findings: Findings
) -> NDArray[np.int64]:
    """Rows series by series, each in the order of time; two rows of one series at one time are refused."""
    if time is None:
        return np.argsort(codes, kind="stable")
    times, good = parse_times(table, time, options, findings, field="read.time")
    if not good.all():
        raise findings.fatal("time", "rows have no sound time", "Correct them.")
    stamps = times.to_numpy()
    order: NDArray[np.int64] = np.lexsort((stamps, codes))
    repeats = np.flatnonzero((np.diff(codes[order]) == 0) & (stamps[order][1:] == stamps[order][:-1]))
    if len(repeats):
        places = [
            table.place(int(order[at + 1]), time, detail=f"series {ids[codes[order[at + 1]]]}") for at in repeats[:20]
        ]
        rule = f"{len(repeats)} rows have the series and the time of another one"
        raise findings.fatal("time", rule, "Keep one row per series and time.", places, len(repeats))
    return order


def _read_once(
    table: RawTable, column: str | None, codes: Codes, ids: pd.Index, findings: Findings
) -> tuple[str, ...] | None:
    """Class or group of each series; every row of a series says the same."""
    if column is None:
        return None
    words = as_text(table.frame[column]).to_numpy(object)
    _, first = np.unique(codes, return_index=True)
    of_series = words[first]
    other = np.flatnonzero((words != of_series[codes]) | (words == ""))
    if len(other):
        place = table.place(int(other[0]), column, words[other[0]], f"series {quote(ids[codes[other[0]]])}")
        fix = ("Write the same in every row of a series, or name another (", Fix("read.target", like="NAME"), ").")
        raise findings.fatal("class", f"a series has one {column}, in each of its rows", fix, [place], len(other))
    return tuple(map(str, of_series))
