"""The target of a table: classes by name, or numbers."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.cells import has_comma, parse_cells
from multiway.data.findings import Findings, listed, quoted
from multiway.data.raw import Table
from multiway.data.tabular.kinds import looks_numeric, words
from multiway.data.tabular.options import TableOptions

FEW_NUMBERS = 10
"""Up to so many different whole numbers are classes, if they repeat."""
ROWS_PER_CLASS = 5
MAX_CLASSES = 1000
AS_NUMBERS = "Give another target, or set kind to number if it is one (--set read.kind=number)."


def read_target(
    table: Table,
    name: str,
    classes: tuple[str, ...] | None,
    options: TableOptions,
    findings: Findings,
    *,
    otherwise: str = AS_NUMBERS,
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Targets of all rows and, unless they are numbers, the names of their classes, which later data take as given.

    otherwise: What helps where they are no classes, by the options of the task.
    """
    raw = table.frame[name]
    text = words(raw)
    _refuse_missing(table, name, text, findings)
    if classes is not None or (options.kind != "number" and _are_classes(raw, text, options)):
        return _labels(table, name, text, classes, options, findings, otherwise)
    return _numbers(table, name, text, findings), None


def _refuse_missing(table: Table, name: str, text: pd.Series, findings: Findings) -> None:
    rows = np.flatnonzero(text == "")
    if len(rows):
        rule = f"{len(rows)} of {len(text)} rows have no target"
        places = [table.place(int(row), name) for row in rows[:20]]
        raise findings.fatal("target", rule, "Fill it in, or leave these rows out.", places, len(rows))


def _are_classes(raw: pd.Series, text: pd.Series, options: TableOptions) -> bool:
    if options.kind == "classes" or pd.api.types.is_bool_dtype(raw) or not looks_numeric(text):
        return True
    values = parse_cells(text)[0]
    distinct = len(np.unique(values))
    return bool((values == np.round(values)).all() and distinct <= min(FEW_NUMBERS, len(values) / ROWS_PER_CLASS))


def _labels(
    table: Table,
    name: str,
    text: pd.Series,
    classes: tuple[str, ...] | None,
    options: TableOptions,
    findings: Findings,
    otherwise: str,
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    found = in_order(text.unique())
    most = MAX_CLASSES if options.kind == "classes" else min(MAX_CLASSES, len(text) / 2)
    if classes is None and not 2 <= len(found) <= most:
        count = "one class" if len(found) == 1 else f"{len(found):,} classes in {len(text):,} rows"
        raise findings.fatal("target", f"the target '{quoted(name)}' has {count}", otherwise)
    codes = pd.Index(classes or found, dtype=object).get_indexer(pd.Index(text))
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        places = [table.place(int(row), name, text.iloc[row]) for row in unknown[:20]]
        rule = f"{len(unknown)} targets are none of the classes {listed(classes or ())}"
        raise findings.fatal("target", rule, "Correct them, or leave these rows out.", places, len(unknown))
    return codes.astype(np.float64), classes or found


def in_order(names: NDArray[np.object_]) -> tuple[str, ...]:
    """Numbers in their order, words by the alphabet."""
    values, bad, _ = parse_cells(pd.Series(names, dtype="string"))
    order = np.argsort(values, kind="stable") if not bad.any() else np.argsort(names.astype(str), kind="stable")
    return tuple(str(name) for name in names[order])


def _numbers(table: Table, name: str, text: pd.Series, findings: Findings) -> NDArray[np.float64]:
    values, bad, _ = parse_cells(text)
    rows = np.flatnonzero(bad)
    if len(rows):
        cells = [text.iloc[row] for row in rows[:20]]
        comma = "Set decimal to ',' (--set read.decimal=','). " if all(map(has_comma, cells)) else ""
        fix = f"{comma or 'Correct them. '}If they are classes, set kind to classes (--set read.kind=classes)."
        places = [table.place(int(row), name, cell) for row, cell in zip(rows, cells, strict=False)]
        raise findings.fatal("target", f"{len(rows)} targets are no finite number", fix, places, len(rows))
    if len(values) > 1 and (values == values[0]).all():
        raise findings.fatal("target", f"the target '{quoted(name)}' never changes", "Give another target.")
    return values
