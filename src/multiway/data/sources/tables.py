"""From a path, a pandas or a polars frame to a table of raw columns."""

import contextlib
import csv
import dataclasses
import gzip
import itertools
import json
import sys
import zlib
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from multiway.data.findings import Findings, Place, Unreadable, once, quote
from multiway.data.options import FileOptions
from multiway.data.sources.bytes import BROKEN as PACKING_BROKEN
from multiway.data.sources.bytes import (
    MAX_BYTES,
    OBJECTS,
    ZIP,
    bytes_of,
    check_columns,
    check_memory,
    first_bytes,
    free_memory,
    read_bytes,
    spend,
    too_large,
    unfolded,
    unpack_bytes,
    within,
)
from multiway.data.sources.cells import sound_text
from multiway.data.sources.columns import RawTable
from multiway.data.sources.excel import is_workbook, names_of_sheet, read_workbook
from multiway.data.sources.frames import as_pandas
from multiway.data.sources.parquet import BROKEN, Parts, holds_parts, is_parquet, read_parquet, read_parts
from multiway.data.sources.spelling import Spelling, decide_columns, without_exports
from multiway.data.sources.text import TextColumns, characters, names_of_text, read_text
from multiway.errors import DataError, Fix

TEXT = "text"
"""Column of texts that come without the name of one."""
HEADER_BYTES = 1_000_000
MAX_LINE = 16_000_000
NO_OBJECT = "lines hold no sound JSON object"
ENDINGS = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")
IN_MEMORY = 4
"""Bytes that one byte of JSON may take once read."""
FIRST = 100
"""Objects whose keys are looked at before a file is read."""
NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float")


def load_table(source: Any, options: FileOptions, findings: Findings) -> RawTable:
    """Read CSV (packed or not), Excel, Parquet or a folder of it, JSON lines, pandas or polars.

    Flaws of form are noted, not yet those of values.
    """
    labels, names = ([getattr(options, field) for field in fields] for fields in (options.as_text, options.as_names))
    several = [name for each in labels for name in (each if isinstance(each, tuple) else (each,))]
    usual = frozenset([*names, *options.usual_names])
    spelling = Spelling(options.decimal, frozenset(several) - {None}, usual - {None})
    if not isinstance(source, str | Path):
        return decide_columns(_from_frame(as_pandas(source), findings), spelling, findings)
    path = Path(source)
    if not (path.is_file() or holds_parts(path)):
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{quote(path, 200)} {what}. Give the path of a CSV, Excel, JSON lines or Parquet file.")
    with within(options):
        spend(path)  # also where it was read before: a budget holds for every reading
    key = (path, options.encoding, options.sheet, options.no_header, options.quoting, options.max_bytes)

    def read(findings: Findings) -> RawTable:
        cells = once(key, findings, partial(_read_file, path, options))
        pa.default_memory_pool().release_unused()  # a reader takes several times what its table needs
        return decide_columns(cells, spelling, findings)

    return once((*key, spelling), findings, read)


def load_texts_table(source: Any, options: FileOptions, findings: Findings) -> RawTable:
    """The same for texts: a CSV may have one column, and a .txt has one text on each line."""
    if has_plain_lines(source):
        lines = characters(bytes_of(Path(source), findings), options.encoding, findings).split("\n")
        numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]  # empty lines are no texts
        if not numbers:
            raise findings.fatal("empty", "the file is empty", "Give one text on each line.")
        return RawTable.whole(pd.DataFrame({TEXT: [lines[number - 1] for number in numbers]}), numbers)
    try:
        return load_table(source, options, findings)
    except Unreadable:
        path = Path(source)
        if findings.found[-1].kind != "separator" or path.suffix.lower() != ".csv":
            raise
        encoding = "utf-8-sig" if findings.encoding == "utf-8" else findings.encoding
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            (name, *_), *rows = [row for row in csv.reader(file) if row]
        if any(len(row) > 1 for row in rows):
            raise
        findings.found.pop()  # a column alone has no separator to be found
        return RawTable.whole(pd.DataFrame({name.strip(): [text for (text,) in rows]}))


def has_plain_lines(source: Any) -> bool:
    """Whether it is a file of one text on each line."""
    return isinstance(source, str | Path) and str(source).lower().endswith(".txt") and Path(source).is_file()


def _read_file(path: Path, options: FileOptions, findings: Findings) -> RawTable | TextColumns:
    """Columns of a file as they stand there."""
    if path.is_dir():
        with within(options):
            return _from_frame(read_parts(path, options.max_bytes, findings), findings)
    if is_line_file(path):
        return load_lines(path, options.max_bytes, findings)
    if path.name.lower().endswith((".nii", ".nii.gz")):  # before memory is filled with its voxels
        raise findings.fatal(
            "text", "it is a scan by its name, and no table", ("Say so (", Fix("task", "volumes"), ").")
        )
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        rule = f"it cannot be opened ({error.strerror})"
        raise findings.fatal("unreadable", rule, "Check its permissions.") from None
    if is_parquet(path) or start.startswith(b"PAR1"):
        return _from_frame(read_parquet(path, options.max_bytes, findings), findings)
    raw = read_bytes(path, findings)
    if raw.startswith(ZIP) and is_workbook(raw):
        table = read_workbook(raw, options, findings)
        return dataclasses.replace(table, frame=without_exports(table.frame, findings))
    return read_text(unpack_bytes(raw, options.max_bytes, findings), options, findings)


def column_names(source: Any) -> list[str]:
    """Names of the columns, as far as they can be seen without reading a file, which is judged where it is read.

    An index with a name is one of them.
    """
    if not isinstance(source, str | Path):
        index = getattr(getattr(source, "index", None), "names", ())
        return [str(name) for name in (*index, *getattr(source, "columns", ())) if name is not None]
    path = Path(source)
    try:
        if holds_parts(path):
            return Parts(path).names
        if path.suffix.lower() == ".xlsx":
            return names_of_sheet(path.read_bytes())
        if is_line_file(path):
            return names_of_line(path)
        raw = first_bytes(path, HEADER_BYTES)
        if raw[:4] == b"PAR1":
            return list(pyarrow.parquet.read_schema(path).names)
        return names_of_text(raw)
    except (*BROKEN, *PACKING_BROKEN, csv.Error, Unreadable):
        return []


def _from_frame(frame: pd.DataFrame, findings: Findings) -> RawTable:
    """Bring an index that says something (times, names, levels) into the columns; the caller's frame stays the same."""
    check_columns(frame.shape[1], findings)
    index = frame.index.to_timestamp() if isinstance(frame.index, pd.PeriodIndex) else frame.index
    if all(name is None for name in index.names) and pd.api.types.is_integer_dtype(index.dtype):
        frame = frame.reset_index(drop=True)
    else:
        if not isinstance(index, pd.MultiIndex) and index.name in (None, *frame.columns):
            index = index.rename("time" if "time" not in frame.columns else "index")
        frame = frame.set_axis(index, axis=0).reset_index()
    given: list[object] = list(frame.columns)
    names = [" ".join(map(str, name)).strip() if isinstance(name, tuple) else str(name) for name in given]
    frame = frame.set_axis(names, axis=1)
    twice = [str(name) for name in frame.columns[frame.columns.duplicated()]]
    if twice:
        places = [Place(column=name) for name in twice]
        raise findings.fatal("columns", "two columns have one name", "Rename one of them.", places)
    if not len(frame) or not len(frame.columns):
        raise findings.fatal("empty", "it holds no rows" if not len(frame) else "it holds no columns", "Give some.")
    return RawTable.whole(frame)


def is_line_file(path: Path) -> bool:
    """Whether a file holds JSON lines by its name."""
    return path.name.lower().endswith(ENDINGS)


def load_lines(path: Path, limit: int, findings: Findings) -> RawTable:
    """Objects as rows of a table: columns of numbers as such, others as they came."""
    size = path.stat().st_size
    if size * IN_MEMORY > free_memory():
        rule = f"its {size / 1e9:.2g} GB of text may need {IN_MEMORY} times that memory"
        raise findings.fatal("memory", rule, "Write it as Parquet, or keep fewer texts.")
    rows = dict(read_lines(path, limit, findings))
    columns = {key for each in rows.values() for key in each}
    if not columns:
        raise findings.fatal("empty", "it holds no objects", "Give one JSON object on each line.")
    check_columns(len(columns), findings)
    check_memory(len(rows), len(columns), 0, findings)
    for way in (answer_of_prometheus, lists_of_object) if len(rows) == 1 else ():
        if (answered := way(*rows.values())) is not None:
            return RawTable.whole(answered)
    names = _names_by_key(columns)
    named = [
        {names[key]: json.dumps(value) if _is_nested(value) else value for key, value in each}
        for each in map(dict.items, rows.values())
    ]
    frame = pd.DataFrame(named, dtype=object)
    numbers = [name for name in frame.columns if pd.api.types.infer_dtype(frame[name], skipna=False) in NUMBERS]
    frame[numbers] = frame[numbers].infer_objects()
    return RawTable.whole(frame, list(rows))


def _names_by_key(keys: Iterable[str]) -> dict[str, str]:
    """Names of columns, without blanks around them as in other tables, unless two would be one."""
    names = {key: sound_text(key) for key in keys}
    bare = {key: name.strip() for key, name in names.items()}
    return bare if len(set(bare.values())) == len(set(names.values())) else names


def _is_nested(value: object) -> bool:
    """Whether a cell is an object, or a list of other things than numbers and texts."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict | list) for one in value))


def answer_of_prometheus(item: dict[str, Any]) -> pd.DataFrame | None:
    """A row for each series and time of what Prometheus answers to a query of a range; None for any other object."""
    data = item.get("data")
    if not (isinstance(data, dict) and data.get("resultType") == "matrix"):
        return None
    try:
        rows = [
            (_name_of_metric(dict(each["metric"])), pd.Timestamp(float(time), unit="s"), float(value))
            for each in data["result"]
            for time, value in each["values"]
        ]
    except (LookupError, TypeError, ValueError, OverflowError):
        return None
    return pd.DataFrame(rows, columns=["series", "time", "value"])


def lists_of_object(item: dict[str, Any]) -> pd.DataFrame | None:
    """The one table among an object and those in it that has a list of as many cells for each column, else None."""
    tables = [each for each in (item, *item.values()) if isinstance(each, dict) and _is_columns(each)]
    return pd.DataFrame(tables[0]) if len(tables) == 1 else None


def _is_columns(item: dict[str, Any]) -> bool:
    lists = [value for value in item.values() if isinstance(value, list)]
    is_plain = not any(isinstance(cell, dict | list) for value in lists for cell in value)
    return len(lists) == len(item) > 1 and is_plain and len(set(map(len, lists))) == 1 and len(lists[0]) > 1


def _name_of_metric(labels: dict[str, Any]) -> str:
    """A series as Prometheus writes it, `up{job="a"}`."""
    others = ",".join(f'{name}="{value}"' for name, value in labels.items() if name != "__name__")
    return f"{labels.get('__name__', '')}{{{others}}}" if others else str(labels.get("__name__", ""))


def names_of_line(path: Path) -> list[str]:
    """Keys of the first objects; what is no sound file is judged where it is read."""
    with contextlib.suppress(Unreadable), contextlib.closing(read_lines(path, MAX_LINE, Findings(""))) as rows:
        keys = (key for _, item in itertools.islice(rows, FIRST) for key in item)
        return list(dict.fromkeys(_names_by_key(keys).values()))
    return []


def read_lines(path: Path, limit: int, findings: Findings) -> Generator[tuple[int, dict[str, Any]]]:
    """Number and object of each line; lines that hold none are a finding, and reading goes on.

    A packed file may unfold to no more bytes than the limit.
    """
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            lines: Any = gzip.open(file) if is_packed else file
            size = path.stat().st_size
            most = max(OBJECTS, size) if is_packed and limit == MAX_BYTES else sys.maxsize
            with lines:
                for count, each in enumerate(objects_of(lines, unfolded(limit, size) if is_packed else size, findings)):
                    if count == most:
                        raise too_large(f"its {size:,} bytes unpack to more than {most:,} objects", 2 * limit, findings)
                    yield each
    except (OSError, EOFError, zlib.error) as error:
        raise findings.fatal("unreadable", f"it cannot be read ({error})", "Write or copy it again.") from None


def objects_of(lines: IO[bytes], most: int, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same of lines that are open already, and of so many bytes at most."""
    broken: list[Place] = []
    count = number = read = 0
    while line := lines.readline(MAX_LINE + 1):
        number, read = number + 1, read + len(line)
        if len(line) > MAX_LINE:
            rule = f"a line has more than {MAX_LINE:,} bytes"
            raise findings.fatal("memory", rule, "Write one object on each line.", [Place(row=number, unit="line")])
        if read > most:
            raise too_large(f"it unpacks to more than {most:,} bytes", 4 * most, findings)
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):  # bad JSON or UTF-8, nested without end, numbers without end
            item = None
        if not isinstance(item, dict):
            count += 1
            if len(broken) < 20:
                broken.append(Place(row=number, unit="line", value=line[:60].decode("utf-8", "replace").strip()))
        else:
            yield number, item
    if count:
        findings.add("json", "error", f"{count} {NO_OBJECT}", "Correct them, or take them out.", broken, count)
