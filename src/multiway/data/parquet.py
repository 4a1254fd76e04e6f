"""Parquet files, measured before they are read and looked through before they are believed."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from multiway.data.findings import Findings, Place, Unreadable, quoted
from multiway.data.text import check_columns, check_memory
from multiway.data.unpacking import too_large

BROKEN = (OSError, pa.ArrowException, LookupError, TypeError, ValueError, AttributeError, RuntimeError)
"""What pyarrow and pandas raise where the bytes of a Parquet file, or of the notes in it, are not as written."""
CELL = 8
"""Bytes of a number in memory."""


def read_parquet(path: Path, limit: int, findings: Findings) -> pd.DataFrame:
    """Read a file whose cells take no more bytes than the limit and whose text is sound.

    Raises:
        Unreadable: It is another, or no whole Parquet file; it is noted.
    """
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _check_sizes(file.metadata, names, path, limit, findings)
        if len(set(names)) < len(names):
            raise repeated(sorted({name for name in names if names.count(name) > 1}), findings)
        table = pyarrow.parquet.read_table(path)
        table.validate(full=True)
        frame: pd.DataFrame = table.to_pandas()
        return frame
    except BROKEN as error:
        reason = quoted(" ".join(str(error).split()), 120)
        rule = f"it is not a whole Parquet file ({reason})"
        raise findings.fatal("unreadable", rule, "Write or copy it again.") from None


def repeated(names: list[str], findings: Findings) -> Unreadable:
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
        return sum(_decoded(chunk) for group in groups for column in group.columns for chunk in column.chunks)


def _decoded(chunk: pa.Array) -> int:
    """Bytes of an array of words once every row has a word of its own."""
    if not pa.types.is_dictionary(chunk.type):
        return int(chunk.nbytes)
    lengths = pyarrow.compute.binary_length(chunk.dictionary)
    return int(pyarrow.compute.sum(lengths.take(chunk.indices)).as_py() or 0)
