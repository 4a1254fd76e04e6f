"""Training, validation and test rows of texts: as a column says, by folds or by shares; copies stay together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed
from multiway.data.labelled_text.options import TextSplit
from multiway.data.labelled_text.table import TextTable
from multiway.data.shares import Splits, draw_shares, fix_of_empty, groups_of
from multiway.errors import DataError

SPLITS = ("train", "validation", "test")
Rows = NDArray[np.int64]


def split_texts(table: TextTable, split: TextSplit) -> Splits:
    """Rows of each split.

    Raises:
        DataError: A split would be empty, or training without a class.
    """
    splits = _drawn(table, split) if table.official is None else _official(table, split)
    if not all(len(splits[name]) for name in SPLITS):
        counts = ", ".join(f"{name} {len(splits[name])}" for name in SPLITS)
        fix = "Give more rows, or change the shares (--set split.test=0.3)."
        fix = fix_of_empty(table.labels, table.columns.classes, "rows", fix)
        if table.official is not None:
            fix = "Give such rows, or name another column of splits (--split NAME)."
        raise DataError(f"{table.source}: each split needs rows. Got {counts}. {fix}")
    absent = sorted(set(range(len(table.columns.classes))) - set(table.labels[splits["train"]].tolist()))
    if absent:
        names = listed(table.columns.classes[place] for place in absent)
        raise DataError(f"{table.source}: train has no row of {names}. Give more rows of it, or split otherwise.")
    return {name: splits[name] for name in SPLITS}


def _drawn(table: TextTable, split: TextSplit) -> Splits:
    every = np.arange(len(table))
    if split.folds is None:
        return _shares(table, every, {"test": split.test, "validation": split.validation}, split.seed)
    names = [f"fold {place}" for place in range(split.folds)]
    parts = _shares(table, every, dict.fromkeys(names[1:], 1 / split.folds), split.seed)
    parts[names[0]] = parts.pop("train")
    test = parts[names[split.fold]]
    rest = _shares(table, np.setdiff1d(every, test), {"validation": split.validation}, split.seed)
    return {**rest, "test": test}


def _official(table: TextTable, split: TextSplit) -> Splits:
    """As the column says; dev is the test where there is none, and validation is drawn where none is left."""
    said = {name: np.flatnonzero(np.array(table.official) == name) for name in SPLITS}
    if not len(said["test"]):
        said["test"], said["validation"] = said["validation"], np.empty(0, np.int64)
    if split.copies == "drop":
        said["validation"] = _without(table, said["validation"], said["test"])
        said["train"] = _without(table, said["train"], np.concatenate([said["validation"], said["test"]]))
    if len(said["validation"]):
        return said
    return {**said, **_shares(table, said["train"], {"validation": split.validation}, split.seed)}


def _without(table: TextTable, rows: Rows, later: Rows) -> Rows:
    """The rows whose text is none of the later ones."""
    keys = table.keys
    known = {keys[row] for row in later.tolist()}
    return np.array([row for row in rows.tolist() if keys[row] not in known], dtype=np.int64)


def _shares(table: TextTable, rows: Rows, shares: dict[str, float], seed: int) -> Splits:
    """Draw shares of some rows, copies of a text and rows of a group together."""
    some = table.take(rows)
    names = some.keys if some.groups is None else _joined(some.keys, some.groups)
    drawn = draw_shares(groups_of(len(some), some.labels, names), shares, seed)
    return {name: rows[places] for name, places in drawn.items()}


def _joined(keys: Sequence[str], groups: Sequence[str]) -> list[str]:
    """A name for each row that it shares with all rows of its text or its group, and theirs in turn."""
    parent: dict[object, object] = {}

    def root(item: object) -> object:
        while parent.setdefault(item, item) != item:
            parent[item] = item = parent[parent[item]]
        return item

    for key, group in zip(keys, groups, strict=True):
        parent[root(("text", key))] = root(("group", group))
    return [str(root(("text", key))) for key in keys]


def dropped(table: TextTable, splits: Splits) -> int:
    """Rows of a split that the column names and none holds, as their text is in a later one."""
    if table.official is None:
        return 0
    return sum(map(bool, table.official)) - sum(map(len, splits.values()))
