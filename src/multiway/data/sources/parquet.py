"""Parquet: a file as a table, and a folder of files as one, of which some series may be read."""

import functools
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, list_some, quote
from multiway.data.sources.bytes import check_columns, check_memory, spend, too_large, unfolded
from multiway.errors import DataError, in_a_line

ROWS = "rows of a series"
"""Column of `series_in`, whose name no table has."""
BROKEN = (OSError, pa.ArrowException, LookupError, TypeError, ValueError, AttributeError, RuntimeError)
"""What pyarrow and pandas raise where the bytes of a Parquet file, or of the notes in it, are not as written."""
COLUMNS = 1000
"""Of a Parquet file, read at once."""
CELL = 8
"""Bytes of a number in memory."""


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet by its name."""
    return path.suffix.lower() in (".parquet", ".pq")


def read_parquet(path: Path, limit: int, findings: Findings) -> pd.DataFrame:
    """Read a file whose cells take no more bytes than the limit and whose text is sound."""
    limit = unfolded(limit, path.stat().st_size)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _check_sizes(file.metadata, names, path, limit, findings)
        if len(set(names)) < len(names):
            places = [Place(column=name) for name in sorted({name for name in names if names.count(name) > 1})]
            raise findings.fatal("columns", "two columns have one name", "Rename one of them.", places)
        if len(names) > COLUMNS:  # some after the others: a reader of all at once keeps 130 kB for each
            columns = []
            with pyarrow.parquet.ParquetFile(path) as file:
                for start in range(0, len(names), COLUMNS):
                    some = names[start : start + COLUMNS]
                    part = file.read(columns=some)
                    columns += [part.column(name) for name in some]
                table = pa.Table.from_arrays(columns, schema=file.schema_arrow)
        else:
            table = pyarrow.parquet.read_table(path)
        table.validate(full=True)
        frame: pd.DataFrame = table.to_pandas()
        return frame
    except BROKEN as error:
        reason = quote(in_a_line(error), 120)
        rule = f"it is not a whole Parquet file ({reason})"
        raise findings.fatal("unreadable", rule, "Write or copy it again.") from None


def _check_sizes(
    about: pyarrow.parquet.FileMetaData, names: list[str], path: Path, limit: int, findings: Findings
) -> None:
    """Refuse cells that take more than the limit, or than memory holds."""
    check_columns(len(names), findings)
    groups = map(about.row_group, range(about.num_row_groups))
    cells = sum(group.column(index).num_values for group in groups for index in range(group.num_columns))
    needed = max(cells, about.num_rows) * CELL
    words = _bytes_of_words(path, about) if needed <= limit else 0
    if (needed := needed + words) > limit:
        size = f"{about.num_rows:,} rows x {len(names):,} columns"
        raise too_large(f"{size} take {needed:,} bytes, and a table may take {limit:,}", needed, findings)
    check_memory(about.num_rows, len(names), words, findings)


def _bytes_of_words(path: Path, about: pyarrow.parquet.FileMetaData) -> int:
    """Bytes of all text once every row has a word of its own; the file may hold each different one once."""
    columns = map(about.schema.column, range(about.num_columns))
    words = [each.path for each in columns if each.physical_type == "BYTE_ARRAY" and not each.max_repetition_level]
    total = 0
    if words:
        with pyarrow.parquet.ParquetFile(path, read_dictionary=words) as file:
            for index in range(about.num_row_groups):
                for column in file.read_row_group(index, columns=words).columns:
                    for chunk in column.chunks:
                        if not pa.types.is_dictionary(chunk.type):
                            total += int(chunk.nbytes)
                            continue
                        lengths = pyarrow.compute.binary_length(chunk.dictionary)
                        total += int(pyarrow.compute.sum(lengths.take(chunk.indices)).as_py() or 0)
    return total


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files of a folder, and of those in it that are named as `store=1`, in the order of their names."""
    inside = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    deeper = (parts_of(path) for path in inside if "=" in path.name and path.is_dir())
    return [*filter(is_parquet, inside), *itertools.chain(*deeper)]


def holds_parts(source: object) -> bool:
    """Whether a source is a folder with Parquet files."""
    return isinstance(source, str | Path) and Path(source).is_dir() and bool(parts_of(Path(source)))


class Parts:
    """Row groups of the Parquet files of a folder, whose columns are the same; folders `store=1` are a column too.

    Attributes:
        names: Of the columns.
        groups: One for each row group, in the order of the files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, parts_of(folder)
        if not self.files:
            raise DataError(f"{quote(folder, 200)} is a folder without Parquet files. Give a file, or their folder.")
        try:
            hive = pyarrow.dataset.partitioning(flavor="hive")
            paths = [str(path) for path in self.files]
            self._table = pyarrow.dataset.dataset(
                paths, format="parquet", partitioning=hive, partition_base_dir=str(folder)
            )
            parts = list(self._table.get_fragments())
            self.groups = [group for part in parts for group in part.split_by_row_group()]
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None
        self.names: list[str] = self._table.schema.names
        for path, part in zip(self.files, parts, strict=True):
            own, first = part.physical_schema.names, parts[0].physical_schema.names
            if own != first:
                raise DataError(
                    f"{quote(path, 200)}: parts of a table have the same columns. The first has {list_some(first)}, "
                    f"this one {list_some(own)}. Write them alike."
                )

    def _unreadable(self, error: Exception) -> DataError:
        reason = quote(in_a_line(error), 160)
        return DataError(f"{quote(self.folder, 200)} holds what is no whole Parquet file ({reason}). Write it again.")

    def read(self, group: int, names: list[str] | None = None) -> pa.Table:
        """One row group, or some of its columns."""
        try:
            return self.groups[group].to_table(schema=self._table.schema, columns=names)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None

    def series_in(self, group: int, ids: Sequence[str]) -> pa.Table:
        """Names of the series of a row group in the order in which they appear, and the rows of each."""
        every = self.read(group, list(ids)).group_by(list(ids), use_threads=False).aggregate([([], "count_all")])
        return every.rename_columns([*ids, ROWS])


class Chosen:
    """Some of the series that the columns `ids` name, and which row groups hold them.

    Args:
        ids: Columns whose cells, together, name a series.
        every: All series, a row each, in the order in which they appear.
        held: Places among them of the series of each row group.
        first, stop: Those that are chosen.
    """

    def __init__(self, ids: Sequence[str], every: pa.Table, held: Sequence[NDArray[np.int64]], first: int, stop: int):
        self.ids, self.every, self.held, self.first, self.stop = tuple(ids), every, held, first, stop
        self._known: tuple[list[pa.Array], NDArray[np.int64]] | None = None

    def rows_in(self, number: int, table: Callable[[], pa.Table]) -> pa.Table | None:
        """The rows of a row group that are of them; None where there are none, and the group is not read."""
        held = self.held[number]
        is_own = (held >= self.first) & (held < self.stop)
        if not is_own.any():
            return None
        rows = table()
        if is_own.all():
            return rows
        if self._known is None:
            values = values_of(self.every, self.ids)
            own = self.every.slice(self.first, self.stop - self.first)
            self._known = values, codes_of(own, self.ids, values)
        values, codes = self._known
        return rows.filter(pa.array(np.isin(codes_of(rows, self.ids, values), codes)))


def values_of(table: pa.Table, ids: Sequence[str]) -> list[pa.Array]:
    """Different cells of each column."""
    return [pyarrow.compute.unique(table[name]) for name in ids]


def codes_of(table: pa.Table, ids: Sequence[str], values: Sequence[pa.Array]) -> NDArray[np.int64]:
    """One number for the cells of all these columns together."""
    codes = np.zeros(table.num_rows, np.int64)
    for name, known in zip(ids, values, strict=True):
        place = pyarrow.compute.index_in(table[name], value_set=known)
        codes = codes * len(known) + place.to_numpy().astype(np.int64)
    return codes


def read_parts(folder: Path, limit: int, findings: Findings, own: Chosen | None = None) -> pd.DataFrame:
    """All row groups of a folder, or the rows of some series in them, as one frame within a limit of bytes."""
    parts = Parts(folder)
    check_columns(len(parts.names), findings)
    for path in parts.files:
        spend(path)
    kept: list[pa.Table] = []
    held = 0
    for number in range(len(parts.groups)):
        read = functools.partial(parts.read, number)
        table = read() if own is None else own.rows_in(number, read)
        if table is not None:
            kept.append(table)
            held += table.nbytes
        if held > limit:
            rule = f"its rows take more than {held:,} bytes, and a table may take {limit:,}"
            raise too_large(rule, 2 * held, findings)
    frame: pd.DataFrame = pa.concat_tables(kept).to_pandas(split_blocks=True)
    return frame
