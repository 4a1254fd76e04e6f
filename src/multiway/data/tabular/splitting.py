"""Training, validation and test rows of a table: by time, by group, or at random class by class."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import listed
from multiway.data.shares import Splits, draw_shares, fix_of_empty, groups_of
from multiway.data.tabular.options import TableSplit
from multiway.data.tabular.table import Table
from multiway.errors import DataError

SPLITS = ("train", "validation", "test")
FEWEST = 2
"""Rows of a split where the target is a number: R² of one row is undefined."""


def split_table(table: Table, split: TableSplit) -> Splits:
    """Rows of each split.

    With times, training rows come before validation rows and those before test rows, and rows of one time stay
    together. With groups, the rows of a group stay together. Classes keep their proportions as far as groups allow.

    Raises:
        DataError: A split would be empty, or training without a class.
    """
    if table.times is not None:
        splits = _by_time(table.times, split)
    else:
        shares = {"test": split.test, "validation": split.validation}
        splits = draw_shares(groups_of(table.num_rows, table.labels, table.groups), shares, split.seed)
    least = 1 if table.columns.classes else FEWEST
    if not all(len(splits[name]) >= least for name in SPLITS):
        counts = ", ".join(f"{name} {len(splits[name])}" for name in SPLITS)
        fix = "Give more rows or groups, or change the shares (--set split.test=0.3)."
        fix = fix_of_empty(table.labels, table.columns.classes or (), "rows", fix)
        needs = "rows" if least == 1 else "two rows or more, as numbers of one row have no spread"
        raise DataError(f"{table.source}: each split needs {needs}. Got {counts}. {fix}")
    _check_classes(table, splits["train"])
    return {name: splits[name] for name in SPLITS}


def _check_classes(table: Table, train: NDArray[np.int64]) -> None:
    """A class without training rows cannot be learnt, and scores would only count its rows as errors."""
    classes = table.columns.classes or ()
    absent = set(range(len(classes))) - set(map(int, table.truth[train])) if classes else set()
    if absent:
        names = listed(classes[place] for place in sorted(absent))
        raise DataError(f"{table.source}: train has no row of {names}. Give more rows of it, or split otherwise.")


def _by_time(times: pd.Index, split: TableSplit) -> Splits:
    """Cut the rows in the order of time; a cut inside one time moves to its first row."""
    order = np.argsort(times.to_numpy(), kind="stable")
    sorted_times = times[order]
    shares = (1 - split.test - split.validation, 1 - split.test)
    first, last = (int(sorted_times.searchsorted(sorted_times[round(share * len(times))])) for share in shares)
    return {"train": order[:first], "validation": order[first:last], "test": order[last:]}
