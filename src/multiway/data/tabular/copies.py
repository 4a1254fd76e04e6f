"""Rows and columns that are there twice: what an audit of a split compares."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.tabular.table import Table

COPY = 0.999
"""Rank correlation with the target from which on a column of numbers is called a copy of it."""
NEARLY = 0.05
"""Share of the commonest class's errors that a copy of classes may leave."""
BINS = 20


def row_digests(table: Table) -> list[bytes]:
    """A hash of each row, target included."""
    return [value.tobytes() for value in pd.util.hash_pandas_object(table.frame(), index=False).to_numpy()]


def column_codes(table: Table) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """A whole number for each cell of every input; numbers of many values fall into 20 bins of as many rows."""
    for name, column in zip(table.columns.numbers, table.numbers.T, strict=True):
        is_fine = len(np.unique(column)) > BINS
        codes = pd.qcut(column, BINS, labels=False, duplicates="drop") if is_fine else column
        yield name, pd.factorize(codes)[0].astype(np.int64)
    for name, words in zip(table.columns.categories, table.categories.T, strict=True):
        yield name, pd.factorize(words)[0].astype(np.int64)


def copies_of_target(table: Table) -> list[str]:
    """Inputs that are the target under another name, as words or in other units, as far as one column shows it."""
    assert table.target is not None
    target = pd.Series(table.target)
    if table.columns.classes is not None:
        return [name for name, codes in column_codes(table) if _tells(pd.Series(codes), target)]
    columns = zip(table.columns.numbers, table.numbers.T, strict=True)
    return [name for name, column in columns if abs(pd.Series(column).rank().corr(target.rank())) > COPY]


def _tells(codes: pd.Series, target: pd.Series) -> bool:
    """Whether the commonest class of each value is that of nearly all rows, and rows share values."""
    counts = pd.crosstab(codes, target).to_numpy()
    errors, usual = len(target) - counts.max(1).sum(), len(target) - counts.sum(0).max()
    return bool(len(counts) <= len(target) / 2 and errors <= NEARLY * usual)
