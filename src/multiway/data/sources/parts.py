"""A folder of Parquet files as one table, read a row group at a time: all of it, or some of its series."""

import functools
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset
from numpy.typing import NDArray

from multiway.data.findings import Findings, list_some, quote
from multiway.data.sources.bytes import check_columns, spend, too_large
from multiway.errors import DataError, in_a_line

ROWS = "rows of a series"
"""Column of `series_in`, whose name no table has."""


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files of a folder, and of those in it that are named as `store=1`, in the order of their names."""
    inside = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    deeper = (parts_of(path) for path in inside if "=" in path.name and path.is_dir())
    return [*(path for path in inside if path.suffix.lower() in (".parquet", ".pq")), *itertools.chain(*deeper)]


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

    def tables(self, limit: int, own: "Chosen | None", findings: Findings) -> Iterator[pa.Table]:
        """Row groups, of which those rows are kept that are of some series, within a limit of bytes."""
        held = 0
        for number in range(len(self.groups)):
            if own is None or own.begins_in(number):
                table = self.read(number)
                yield (kept := table if own is None or own.holds(number) else table.filter(own.mask(table)))
                held += kept.nbytes
                if held > limit:
                    rule = f"its rows take more than {held:,} bytes, and a table may take {limit:,}"
                    raise too_large(rule, 2 * held, findings)


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

    def begins_in(self, group: int) -> bool:
        """Whether a row group holds a row of one of them."""
        return bool(self._choose(group).any())

    def holds(self, group: int) -> bool:
        """Whether all rows of a row group are of them."""
        return bool(self._choose(group).all())

    def _choose(self, group: int) -> NDArray[np.bool_]:
        return (self.held[group] >= self.first) & (self.held[group] < self.stop)

    def mask(self, table: pa.Table) -> pa.Array:
        """Which rows of a table are of them."""
        codes = codes_of(table, self.ids, self._values)
        return pa.array(np.isin(codes, self._codes))

    @functools.cached_property
    def _values(self) -> list[pa.Array]:
        return values_of(self.every, self.ids)

    @functools.cached_property
    def _codes(self) -> NDArray[np.int64]:
        return codes_of(self.every.slice(self.first, self.stop - self.first), self.ids, self._values)


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
    """All row groups of a folder, or the rows of some series in them, as one frame."""
    parts = Parts(folder)
    check_columns(len(parts.names), findings)
    for path in parts.files:
        spend(path)
    frame: pd.DataFrame = pa.concat_tables(list(parts.tables(limit, own, findings))).to_pandas(split_blocks=True)
    return frame
