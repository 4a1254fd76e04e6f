"""`check_table`: what a table holds, and what is wrong with it."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import CheckReport, Findings, Place, Unreadable, listed, quoted
from multiway.data.loading import source_name
from multiway.data.shares import Splits
from multiway.data.tabular.options import TableOptions, TableSplit
from multiway.data.tabular.reading import read_into
from multiway.data.tabular.splitting import split_table
from multiway.data.tabular.table import Table
from multiway.errors import DataError

ORDER = {"error": 0, "warning": 1, "note": 2}
ONE_SIDED = 0.9
"""Share of the largest class from which on the report speaks of balance."""


def check_table(source: Any, options: TableOptions | None = None, split: TableSplit | None = None) -> CheckReport:
    """Say what is in a table of rows and all that is wrong with it under these options.

    Raises:
        DataError: There is no such file, or the source is no table.
    """
    findings = Findings(source_name(source))
    options = options or TableOptions()
    try:
        table = read_into(source, options, None, findings)
    except Unreadable:
        return _report(findings, {"encoding": findings.encoding}, {})
    splits = {} if findings.errors() else _split(table, split or TableSplit(), findings)
    repeated = _check_repeats(table, findings) if table.columns.inputs else 0
    _check_classes(table, splits, findings)
    _check_levels(table, options.max_levels, findings)
    return _report(findings, _summary(table, splits, repeated, findings), table.missing())


def _report(findings: Findings, summary: dict[str, Any], missing: dict[str, int]) -> CheckReport:
    found = tuple(sorted(findings.found, key=lambda finding: ORDER[finding.severity]))
    return CheckReport(source=findings.source, summary=summary, findings=found, missing=missing)


def _split(table: Table, split: TableSplit, findings: Findings) -> Splits:
    if table.target is None:
        findings.add("target", "note", "no target is named, so rows can be predicted and not trained on")
        return {}
    try:
        return split_table(table, split)
    except DataError as error:
        findings.add("split", "error", str(error).removeprefix(f"{table.source}: ").rstrip("."))
        return {}


def _check_repeats(table: Table, findings: Findings) -> int:
    """Rows that are there before, and rows of equal inputs with different targets."""
    frame = table.frame()
    again = frame.duplicated().to_numpy(bool)
    differing = ~again
    differing[~again] = frame[~again].duplicated(list(table.columns.inputs), keep=False)
    for kind, rows, rule, fix in (
        ("duplicates", again, "rows repeat an earlier one", "Drop them, or keep each group of rows in one split."),
        ("targets", differing, "rows have equal inputs and different targets", "No model can tell them apart."),
    ):  # fmt: skip
        if rows.any():
            _warn_of_rows(kind, rows, f"{int(rows.sum())} {rule}", fix, table, findings)
    return int(again.sum())


def _warn_of_rows(kind: str, rows: NDArray[np.bool_], rule: str, fix: str, table: Table, findings: Findings) -> None:
    places = [Place(row=int(table.rows[row]), unit=table.unit) for row in np.flatnonzero(rows)[:20]]
    findings.add(kind, "warning", rule, fix, places, int(rows.sum()))


def _check_classes(table: Table, splits: Splits, findings: Findings) -> None:
    labels, names = table.labels, table.columns.classes
    if labels is None or names is None:
        return
    counts = np.bincount(labels, minlength=len(names))
    if counts.max() >= ONE_SIDED * len(labels):
        rule = f"{100 * counts.max() / len(labels):.1f} % of rows are '{quoted(names[int(counts.argmax())])}'"
        findings.add("balance", "warning", rule, "Accuracy says little here; look at the scores beside it.")
    for split, rows in splits.items():
        absent = np.flatnonzero(np.bincount(labels[rows], minlength=len(names)) == 0)
        if len(absent):
            rule = f"{split} has no row of {listed(names[index] for index in absent)}"
            findings.add("classes", "warning", rule, "Give more rows of it, or leave it out.")


def _check_levels(table: Table, most: int, findings: Findings) -> None:
    for name, column in zip(table.columns.categories, table.categories.T, strict=True):
        count = len(pd.unique(column))
        if count > most:
            rule = f"'{quoted(name)}' has {count:,} levels, of which the {most} most frequent get an input"
            findings.add("levels", "warning", rule, "Group them, or set max_levels (--set read.max_levels=200).")


def _summary(table: Table, splits: Splits, repeated: int, findings: Findings) -> dict[str, Any]:
    columns = table.columns
    return {
        "rows": table.num_rows,
        "numbers": listed(columns.numbers, 12) or None,
        "categories": listed(columns.categories, 12) or None,
        "target": columns.target,
        "kind": None if table.target is None else "number" if columns.classes is None else "classes",
        "classes": _class_counts(table),
        "range": _range(table),
        "missing cells": sum(table.missing().values()),
        "repeated rows": repeated,
        "groups": None if table.groups is None else len(set(table.groups)),
        "splits": ", ".join(f"{name} {len(rows)}" for name, rows in splits.items()) or None,
        "encoding": findings.encoding,
    }


def _class_counts(table: Table) -> str | None:
    if table.labels is None or table.columns.classes is None:
        return None
    counts = np.bincount(table.labels, minlength=len(table.columns.classes))
    return listed((f"{name} {count}" for name, count in zip(table.columns.classes, counts, strict=True)), 12)


def _range(table: Table) -> str | None:
    if table.target is None or table.columns.classes is not None:
        return None
    return f"{table.target.min():g} to {table.target.max():g}, mean {table.target.mean():g}"
