"""A table with its splits and its encoding: what every later step starts from."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import quoted
from multiway.data.shares import Splits
from multiway.data.tabular.encoding import Encoding
from multiway.data.tabular.options import TableOptions, TableSplit
from multiway.data.tabular.reading import read_table
from multiway.data.tabular.samples import Samples
from multiway.data.tabular.splitting import split_table
from multiway.data.tabular.table import Table
from multiway.errors import ConfigError


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedTable:
    """Rows with what the training rows say of them; later rows have no splits."""

    table: Table
    splits: Splits
    encoding: Encoding

    @property
    def source(self) -> str:
        """Where the rows came from."""
        return self.table.source

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading did, and which cells no input tells apart."""
        unknown = self.encoding.unknown(self.table).items()
        levels = [f"{count} cells of '{quoted(name)}' have a level without an input" for name, count in unknown]
        return (*self.table.notes, *levels)

    def content(self) -> Iterator[object]:
        """Everything that was read."""
        table = self.table
        yield from (dataclasses.astuple(table.columns), table.numbers, table.categories, table.target, table.groups)
        yield from self.splits.values()

    def rows(self, split: str) -> NDArray[np.int64]:
        """Rows of a split; all of them where there is no such split."""
        return self.splits.get(split, np.arange(self.table.num_rows))

    def part(self, split: str) -> Table:
        """The table of a split."""
        return self.table.take(self.rows(split))

    def samples(self, split: str) -> Samples:
        """Encoded rows of a split."""
        return Samples(self.part(split), self.encoding)

    def counts(self, split: str) -> dict[str, Any]:
        """Rows and groups of a split, and rows of each class."""
        table = self.part(split)
        names = table.columns.classes or ()
        classes = np.bincount(table.truth, minlength=len(names)).tolist() if names else []
        groups = None if table.groups is None else len(set(table.groups))
        return {"rows": table.num_rows, "groups": groups, "classes": dict(zip(names, classes, strict=True)) or None}


def prepare_table(source: Any, options: TableOptions, split: TableSplit) -> PreparedTable:
    """Read, split and learn the encoding; what can be wrong with the data shows here.

    Raises:
        DataError: The table is not sound, or a split has no rows.
        ConfigError: No target is named.
    """
    if options.target is None:
        raise ConfigError("a table needs a column to predict. Name it (--target NAME).")
    table = read_table(source, options)
    splits = split_table(table, split)
    encoding = Encoding.fit(table.take(splits["train"]), options.max_levels)
    return PreparedTable(table=table, splits=splits, encoding=encoding)


def match_table(source: Any, options: TableOptions, encoding: Encoding, *, has_target: bool = True) -> PreparedTable:
    """Rows that came after the training, matched to it by name; nothing is learnt from them.

    Raises:
        DataError: A column lacks, or a class is unknown.
    """
    columns = encoding.columns if has_target else encoding.columns.without_target()
    return PreparedTable(table=read_table(source, options, columns), splits={}, encoding=encoding)
