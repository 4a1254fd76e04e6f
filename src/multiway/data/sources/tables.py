"""From a path, a pandas or a polars frame to a table of raw columns."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from multiway.data.findings import Findings, Place, Unreadable, quote
from multiway.data.options import FileOptions
from multiway.data.sources.bytes import BROKEN as PACKING_BROKEN
from multiway.data.sources.bytes import (
    ZIP,
    bytes_of,
    check_columns,
    check_memory,
    first_bytes,
    once,
    spend,
    too_large,
    unpack_bytes,
    within,
)
from multiway.data.sources.cells import RawTable
from multiway.data.sources.excel import is_workbook, names_of_sheet, read_workbook
from multiway.data.sources.exports import LOOK, lines_above, unescape, without_exports
from multiway.data.sources.json_lines import ENDINGS, is_line_file, load_lines, names_of_line
from multiway.data.sources.numerals import Spelling, are_spelled, columns_of_text, with_plain_numbers
from multiway.data.sources.parts import Parts, holds_parts, read_parts
from multiway.data.sources.text import TextColumns, characters, read_text
from multiway.errors import DataError, in_a_line

BROKEN = (OSError, pa.ArrowException, LookupError, TypeError, ValueError, AttributeError, RuntimeError)
"""What pyarrow and pandas raise where the bytes of a Parquet file, or of the notes in it, are not as written."""
TEXT = "text"
"""Column of texts that come without the name of one."""
SOURCE = "source"
"""Attribute of a frame whose rows are of a file: its name."""
HEADER_BYTES = 1_000_000
COLUMNS = 1000
"""Of a Parquet file, read at once."""
CELL = 8
"""Bytes of a number in memory."""


def read_parquet(path: Path, limit: int, findings: Findings) -> pd.DataFrame:
    """Read a file whose cells take no more bytes than the limit and whose text is sound."""
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _check_sizes(file.metadata, names, path, limit, findings)
        if len(set(names)) < len(names):
            raise error_of_repeats(sorted({name for name in names if names.count(name) > 1}), findings)
        table = _wide_table(path, names) if len(names) > COLUMNS else pyarrow.parquet.read_table(path)
        table.validate(full=True)
        frame: pd.DataFrame = table.to_pandas()
        return frame
    except BROKEN as error:
        reason = quote(in_a_line(error), 120)
        rule = f"it is not a whole Parquet file ({reason})"
        raise findings.fatal("unreadable", rule, "Write or copy it again.") from None


def _wide_table(path: Path, names: list[str]) -> pa.Table:
    """Some columns after the others: a reader of all at once keeps 130 kB for each."""
    columns = []
    with pyarrow.parquet.ParquetFile(path) as file:
        for start in range(0, len(names), COLUMNS):
            some = names[start : start + COLUMNS]
            part = file.read(columns=some)
            columns += [part.column(name) for name in some]
        return pa.Table.from_arrays(columns, schema=file.schema_arrow)


def error_of_repeats(names: list[str], findings: Findings) -> Unreadable:
    """Refuse two columns of one name."""
    places = [Place(column=name) for name in names]
    return findings.fatal("columns", "two columns have one name", "Rename one of them.", places)


def _check_sizes(
    about: pyarrow.parquet.FileMetaData, names: list[str], path: Path, limit: int, findings: Findings
) -> None:
    check_columns(len(names), findings)
    cells = sum(chunk.num_values for chunk in _chunks(about))
    needed = max(cells, about.num_rows) * CELL
    words = _bytes_of_words(path, about) if needed <= limit else 0
    if (needed := needed + words) > limit:
        size = f"{about.num_rows:,} rows x {len(names):,} columns"
        raise too_large(f"{size} take {needed:,} bytes, and a table may take {limit:,}", needed, findings)
    check_memory(about.num_rows, len(names), words, findings)


def _chunks(about: pyarrow.parquet.FileMetaData) -> list[pyarrow.parquet.ColumnChunkMetaData]:
    groups = map(about.row_group, range(about.num_row_groups))
    return [group.column(index) for group in groups for index in range(group.num_columns)]


def _bytes_of_words(path: Path, about: pyarrow.parquet.FileMetaData) -> int:
    """Bytes of all text, of which the file may hold each different one once."""
    columns = map(about.schema.column, range(about.num_columns))
    words = [each.path for each in columns if each.physical_type == "BYTE_ARRAY" and not each.max_repetition_level]
    if not words:
        return 0
    with pyarrow.parquet.ParquetFile(path, read_dictionary=words) as file:
        groups = (file.read_row_group(index, columns=words) for index in range(about.num_row_groups))
        return sum(_count_decoded(chunk) for group in groups for column in group.columns for chunk in column.chunks)


def _count_decoded(chunk: pa.Array) -> int:
    """Bytes of an array of words once every row has a word of its own."""
    if not pa.types.is_dictionary(chunk.type):
        return int(chunk.nbytes)
    lengths = pyarrow.compute.binary_length(chunk.dictionary)
    return int(pyarrow.compute.sum(lengths.take(chunk.indices)).as_py() or 0)


def source_name(source: Any) -> str:
    """What messages call the source: the file's name, escaped; a frame may bring one."""
    if isinstance(source, str | Path):
        return quote(Path(source).name, 80)
    return str(getattr(source, "attrs", {}).get(SOURCE, "frame"))


def load_table(source: Any, options: FileOptions, findings: Findings) -> RawTable:
    """Read CSV (packed or not), Excel, Parquet or a folder of it, JSON lines, pandas or polars.

    Flaws of form are noted, not yet those of values.
    """
    spelling = _spelling_of(options)
    if not isinstance(source, str | Path):
        return with_plain_numbers(_from_frame(as_pandas(source), findings).composed(), spelling, findings)
    path = _file(source)
    key = (path, options.encoding, options.sheet, options.max_bytes, spelling)
    with within(options):
        spend(path)  # also where it was read before: a budget holds for every reading
        return once(
            key, findings, lambda own: with_plain_numbers(_as_written(path, options, spelling, own), spelling, own)
        )


def load_spelled(source: Any, options: FileOptions, findings: Findings) -> RawTable:
    """The same table to be written again: signs, and leading zeros of any column, stay."""
    if not isinstance(source, str | Path):
        return _from_frame(as_pandas(source), findings).composed()
    with within(options):
        table = _as_written(_file(source), options, _spelling_of(options), findings)
        return table.as_text(name for name, text in table.texts.items() if are_spelled(text.to_pandas()))


def _spelling_of(options: FileOptions) -> Spelling:
    labels, names = ([getattr(options, field) for field in fields] for fields in (options.as_text, options.as_names))
    several = [name for each in labels for name in (each if isinstance(each, tuple) else (each,))]
    return Spelling(options.decimal, frozenset(several) - {None}, frozenset([*names, *options.usual_names]) - {None})


def _file(source: str | Path) -> Path:
    path = Path(source)
    if not (path.is_file() or holds_parts(path)):
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{quote(path, 200)} {what}. Give the path of a CSV, Excel, JSON lines or Parquet file.")
    return path


def load_texts_table(source: Any, options: FileOptions, findings: Findings) -> RawTable:
    """The same for texts: a CSV may have one column, and a .txt has one text on each line."""
    if has_plain_lines(source):
        return _of_lines(Path(source), options, findings)
    try:
        return load_table(source, options, findings)
    except Unreadable:
        column = _only_column(Path(source), findings)
        if column is None:
            raise
        return column


def has_plain_lines(source: Any) -> bool:
    """Whether it is a file of one text on each line."""
    return isinstance(source, str | Path) and str(source).lower().endswith(".txt") and Path(source).is_file()


def _of_lines(path: Path, options: FileOptions, findings: Findings) -> RawTable:
    """One text on each line; empty lines are none."""
    lines = characters(bytes_of(path, findings), options.encoding, findings).split("\n")
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbers:
        raise findings.fatal("empty", "the file is empty", "Give one text on each line.")
    return RawTable.whole(pd.DataFrame({TEXT: [lines[number - 1] for number in numbers]}), numbers)


def _only_column(path: Path, findings: Findings) -> RawTable | None:
    """A CSV of one column, which has no separator to be found; None where a row has more, or it is no such file."""
    if findings.found[-1].kind != "separator" or path.suffix.lower() != ".csv":
        return None
    encoding = "utf-8-sig" if findings.encoding == "utf-8" else findings.encoding
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        reader = csv.reader(file)
        (name, *_), *rows = [row for row in reader if row]
    if any(len(row) > 1 for row in rows):
        return None
    findings.found.pop()
    return RawTable.whole(pd.DataFrame({name.strip(): [text for (text,) in rows]}))


def _as_written(path: Path, options: FileOptions, spelling: Spelling, findings: Findings) -> RawTable:
    """Columns of a file: numbers where all cells are, without a sign, and others as they stand."""
    key = (path, options.encoding, options.sheet, options.max_bytes)
    found = once(key, findings, lambda own: _read_file(path, options, own))
    if isinstance(found, TextColumns):
        found = without_exports(columns_of_text(found, spelling, findings), findings)
    pa.default_memory_pool().release_unused()  # a reader takes several times what its table needs
    return found.composed()


def _read_file(path: Path, options: FileOptions, findings: Findings) -> RawTable | TextColumns:
    if path.is_dir():
        return _from_frame(read_parts(path, options.max_bytes, findings), findings)
    if path.name.lower().endswith(ENDINGS):
        spend(path)
        return load_lines(path, options.max_bytes, findings)
    if is_parquet(path) or _first_bytes(path, findings).startswith(b"PAR1"):
        spend(path)
        return _from_frame(read_parquet(path, options.max_bytes, findings), findings)
    raw = bytes_of(path, findings)
    if raw.startswith(ZIP) and is_workbook(raw):
        return without_exports(read_workbook(raw, options, findings), findings)
    return read_text(unpack_bytes(raw, options.max_bytes, findings), options, findings)


def as_pandas(source: Any) -> pd.DataFrame:
    """A pandas or polars frame, a series, or an array of rows by columns, as a pandas frame."""
    if isinstance(source, pd.Series):
        return source.to_frame(str(source.name or "value"))
    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, np.ndarray) and source.ndim in (1, 2):
        columns = source.reshape(len(source), -1)
        return pd.DataFrame(columns, columns=[f"series {place}" for place in range(columns.shape[1])])
    import narwhals.stable.v2 as nw

    try:
        native = nw.from_native(source, eager_only=True, allow_series=True)
        frame: pd.DataFrame = (native.to_frame() if isinstance(native, nw.Series) else native).to_pandas()
    except TypeError:
        kind = type(source).__name__
        fix = "Call collect() first." if "Lazy" in kind else "Give a path, or a pandas or polars frame."
        raise DataError(f"frame: a table is needed. Got {kind}. {fix}") from None
    return frame


def pair_of(source: Any) -> tuple[Any, Any]:
    """Data in memory and what comes with them: targets, masks or texts; None where they come alone."""
    if not isinstance(source, tuple):
        return source, None
    if len(source) != 2:
        raise DataError(f"data in memory are one part or a pair such as (X, y). Got {len(source)} parts.")
    return source


def column_names(source: Any) -> list[str]:
    """Names of the columns, as far as they can be seen without reading a file, which is judged where it is read."""
    if not isinstance(source, str | Path):
        return [str(name) for name in getattr(source, "columns", ())]
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
        encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        lines = raw.decode(encoding, errors="replace").lstrip("\r\n").replace("\r\n", "\n").split("\n", LOOK)
        line = lines[lines_above(lines, ",;\t|")]
        separator = max(",;\t|", key=line.count)
        return [unescape(name.strip()) for name in next(csv.reader([line], delimiter=separator), [])]
    except (*BROKEN, *PACKING_BROKEN, csv.Error):
        return []


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet by its name."""
    return path.suffix.lower() in (".parquet", ".pq")


def library_of(source: Any) -> str:
    """Name of the library that a frame or a series is of; a path or an array gives pandas."""
    if isinstance(source, pd.DataFrame | pd.Series | np.ndarray | str | Path):
        return "pandas"
    import narwhals.stable.v2 as nw

    return str(nw.get_native_namespace(nw.from_native(source, eager_only=True, allow_series=True)).__name__)


def as_library(frame: pd.DataFrame, library: str) -> Any:
    """A frame in polars where that is requested; else as it is."""
    if library != "polars":
        return frame
    import polars

    return polars.from_pandas(frame)


def _first_bytes(path: Path, findings: Findings) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise findings.fatal(
            "unreadable", f"it cannot be opened ({error.strerror})", "Check its permissions."
        ) from None


def _from_frame(frame: pd.DataFrame, findings: Findings) -> RawTable:
    """Bring a meaningful index into the columns; nothing of the caller's frame changes."""
    check_columns(frame.shape[1], findings)
    frame = _plain_index(frame)
    frame = frame.set_axis([_column_name(name) for name in frame.columns], axis=1)
    twice = [str(name) for name in frame.columns[frame.columns.duplicated()]]
    if twice:
        raise error_of_repeats(twice, findings)
    if not len(frame) or not len(frame.columns):
        raise findings.fatal("empty", "it holds no rows" if not len(frame) else "it holds no columns", "Give some.")
    return RawTable.whole(frame)


def _plain_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep an index that says something (times, names, levels) as columns; drop mere row numbers."""
    index = frame.index
    if isinstance(index, pd.PeriodIndex):
        index = index.to_timestamp()
    named = [name for name in index.names if name is not None]
    if not named and pd.api.types.is_integer_dtype(index.dtype):
        return frame.reset_index(drop=True)
    if not isinstance(index, pd.MultiIndex) and index.name in (None, *frame.columns):
        index = index.rename("time" if "time" not in frame.columns else "index")
    return frame.set_axis(index, axis=0).reset_index()


def _column_name(name: object) -> str:
    return " ".join(map(str, name)).strip() if isinstance(name, tuple) else str(name)
