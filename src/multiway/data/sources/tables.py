"""From a path, a pandas or a polars frame to a table of raw columns."""

import contextlib
import csv
import dataclasses
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from multiway.data.findings import Findings, Place, Unreadable, once, quote
from multiway.data.options import FileOptions
from multiway.data.sources.bytes import BROKEN as PACKING_BROKEN
from multiway.data.sources.bytes import (
    ZIP,
    bytes_of,
    check_columns,
    first_bytes,
    read_bytes,
    spend,
    unpack_bytes,
    within,
)
from multiway.data.sources.columns import RawTable
from multiway.data.sources.excel import is_workbook, names_of_sheet, read_workbook
from multiway.data.sources.frames import as_pandas
from multiway.data.sources.json_files import is_line_file, load_lines, names_of_json
from multiway.data.sources.parquet import BROKEN, Parts, holds_parts, is_parquet, read_parquet, read_parts
from multiway.data.sources.spelling import Spelling, decide_columns, without_exports
from multiway.data.sources.text import TextColumns, characters, names_of_text, read_text
from multiway.errors import DataError, Fix

TEXT = "text"
"""Column of texts that come without the name of one."""
HEADER_BYTES = 1_000_000
OptionsT = TypeVar("OptionsT", bound=FileOptions)
SEPARATED = ("points separate thousands", "commas separate decimals")
"""What is said of columns whose decimal mark is a comma."""


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


def with_decimal(options: OptionsT, source: Any) -> OptionsT:
    """The same with the comma as decimal mark where all cells of a table say so: a few later ones may not.

    Nothing changes where some column is read otherwise then.
    """
    is_table = isinstance(source, str | Path) or hasattr(source, "columns")
    if options.decimal != "auto" or not is_table:
        return options
    said, findings = options.replace(decimal=","), Findings("")
    with contextlib.suppress(DataError, Unreadable):
        table = load_table(source, options, findings)
        is_found = any(finding.rule.startswith(SEPARATED) for finding in findings.found)
        if is_found and load_table(source, said, Findings("")).frame.equals(table.frame):
            return said
    return options


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
            return names_of_json(path)
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
