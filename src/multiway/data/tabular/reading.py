"""`read_table`: from a file or frame to a typed table, with every flaw named."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.cells import has_comma, parse_cells
from multiway.data.findings import Findings, Place, Unreadable, listed, quoted
from multiway.data.loading import load_table, source_name
from multiway.data.raw import Table as RawTable
from multiway.data.tabular.kinds import input_kinds, words
from multiway.data.tabular.options import TableOptions
from multiway.data.tabular.table import Columns, Table
from multiway.data.tabular.target import read_target
from multiway.data.times import parse_times
from multiway.errors import closest


def read_table(source: Any, options: TableOptions | None = None, columns: Columns | None = None) -> Table:
    """Read rows of inputs and their targets.

    Args:
        source: Path of a CSV, CSV.gz or Parquet file, or a pandas or polars frame.
        options: Which columns to take, and how.
        columns: What a trained model knows; the source is matched to it by name instead of being judged anew.

    Raises:
        DataError: A flaw that no option covers: one line with the file, the place, the value and the fix.
    """
    findings = Findings(source_name(source))
    try:
        table = read_into(source, options or TableOptions(), columns, findings)
    except Unreadable:
        raise findings.error() from None
    if findings.errors():
        raise findings.error()
    return table


def read_into(source: Any, options: TableOptions, columns: Columns | None, findings: Findings) -> Table:
    """The same, with flaws noted; the table is sound only where no finding is an error."""
    raw = load_table(source, options.reading(), findings)
    if raw.broken.any():
        raw = raw.sound()
    if columns is None:
        _check_names(raw, options, findings)
        columns = _judged(raw, options, findings)
    else:
        _match(raw, columns, findings)
    table = _with_target(_inputs(raw, columns, options, findings), raw, options, findings)
    notes = tuple(finding.line() for finding in findings.found if finding.severity != "error")
    return dataclasses.replace(table, notes=notes)


def _inputs(raw: RawTable, columns: Columns, options: TableOptions, findings: Findings) -> Table:
    """All but the target, whose flaws must not hide those of the inputs."""
    table = Table(
        columns=columns,
        numbers=_numbers(raw, columns.numbers, findings),
        categories=_categories(raw, columns.categories),
        target=None,
        rows=raw.rows,
        unit=raw.unit,
        source=findings.source,
        groups=_groups(raw, options.group, findings),
        times=_times(raw, options, findings),
    )
    _note_missing(table, options, findings)
    return table


def _with_target(table: Table, raw: RawTable, options: TableOptions, findings: Findings) -> Table:
    columns = table.columns
    if columns.target is None:
        return table
    target, classes = read_target(raw, columns.target, columns.classes, options, findings)
    return dataclasses.replace(table, target=target, columns=dataclasses.replace(columns, classes=classes))


def _check_names(raw: RawTable, options: TableOptions, findings: Findings) -> None:
    """Refuse options that name a column which is not there."""
    single = {"target": options.target, "group": options.group, "time": options.time}
    named = [(option, name) for option, name in single.items() if name is not None]
    for option in ("columns", "drop", "categories"):
        named += [(option, name) for name in getattr(options, option) or ()]
    absent = [(option, name) for option, name in named if name not in raw.names]
    for option, name in absent:
        near = closest(quoted(name), map(quoted, raw.names)).removeprefix(".").lstrip("; ").capitalize()
        rule = f"{option} names '{quoted(name)}', which is not there"
        findings.add("columns", "error", rule, f"{near} There are {listed(raw.names, 20)}.".strip())
    if absent:
        raise Unreadable


def _judged(raw: RawTable, options: TableOptions, findings: Findings) -> Columns:
    kinds = input_kinds(raw, options, findings)
    numbers, categories = (
        tuple(name for name, each in kinds.items() if each == kind) for kind in ("number", "category")
    )
    return Columns(numbers=numbers, categories=categories, target=options.target)


def _match(raw: RawTable, columns: Columns, findings: Findings) -> None:
    wanted = [*columns.inputs, *([] if columns.target is None else [columns.target])]
    absent = [name for name in wanted if name not in raw.names]
    if absent:
        rule = f"columns are matched by name, and {listed(absent, 5)} {'is' if len(absent) == 1 else 'are'} lacking"
        raise findings.fatal("columns", rule, f"It has {listed(raw.names)}. Add or rename.")
    extra = [name for name in raw.names if name not in wanted]
    if extra:
        findings.add("columns", "note", f"columns {listed(extra)} are not used")


def _numbers(raw: RawTable, names: tuple[str, ...], findings: Findings) -> NDArray[np.float64]:
    """NaN where a cell is empty; what is no finite number is a finding."""
    values = np.empty((len(raw.frame), len(names)))
    for position, name in enumerate(names):
        column = raw.frame[name]
        cells = column if pd.api.types.is_numeric_dtype(column) else words(column)
        values[:, position], bad, _ = parse_cells(cells)
        if bad.any():
            _refuse_cells(raw, name, cells, np.flatnonzero(bad), findings)
    return values


def _refuse_cells(raw: RawTable, name: str, cells: pd.Series, bad: NDArray[np.int64], findings: Findings) -> None:
    shown = [str(cells.iloc[row]) for row in bad[:20]]
    fix = "Correct or empty them" if len(bad) > 1 else "Correct or empty it"
    other = f", or take the column as categories (--set read.categories='[{quoted(name)}]')"
    if all(map(has_comma, shown)):
        fix, other = "Set decimal to ',' (--set read.decimal=','), or write points", ""
    rule = f"{'1 cell is' if len(bad) == 1 else f'{len(bad)} cells are'} no finite number in a column of numbers"
    places = [raw.place(int(row), name, value) for row, value in zip(bad, shown, strict=False)]
    findings.add("number", "error", rule, f"{fix}{other}.", places, len(bad))


def _categories(raw: RawTable, names: tuple[str, ...]) -> NDArray[np.object_]:
    values = np.empty((len(raw.frame), len(names)), dtype=object)
    for position, name in enumerate(names):
        values[:, position] = words(raw.frame[name])
    return values


def _groups(raw: RawTable, name: str | None, findings: Findings) -> tuple[str, ...] | None:
    if name is None or name not in raw.names:
        return None
    text = words(raw.frame[name])
    rows = np.flatnonzero(text == "")
    if len(rows):
        places = [raw.place(int(row), name) for row in rows[:20]]
        findings.add("group", "error", f"{len(rows)} rows have no group", "Fill it in.", places, len(rows))
    return tuple(text)


def _times(raw: RawTable, options: TableOptions, findings: Findings) -> pd.Index | None:
    if options.time is None or options.time not in raw.names:
        return None
    times, good = parse_times(raw, options.time, options.reading(), findings, other="name another column (--time NAME)")
    return times if good.all() else None


def _note_missing(table: Table, options: TableOptions, findings: Findings) -> None:
    """Refuse missing inputs, or say how many there are."""
    missing = table.missing()
    if missing:
        places = [Place(column=name, detail=f"{count} cells") for name, count in missing.items()]
        is_error = options.missing == "error"
        fix = "Fill them in, or set missing to impute (--set read.missing=impute)." if is_error else ""
        rule = f"{sum(missing.values())} inputs are missing"
        findings.add("missing", "error" if is_error else "note", rule, fix, places)
