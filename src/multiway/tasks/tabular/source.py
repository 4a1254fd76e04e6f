"""Rows of a table as samples: which columns are inputs, which one is the target, every flaw with its place."""

import contextlib
from typing import Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from multiway.data.findings import Findings, Place, Unreadable, listed, quoted
from multiway.data.matching import match_names
from multiway.data.samples import Cells, Samples
from multiway.data.sources.cells import RawTable
from multiway.data.sources.columns import FEW_ROWS, named_cells, read_cells, read_inputs, require_columns
from multiway.data.sources.options import FileOptions
from multiway.data.sources.tables import load_table, pair_of
from multiway.data.sources.times import parse_times
from multiway.data.targets import TargetKind, joined_table, read_target
from multiway.errors import Fix
from multiway.tasks.tabular.encode import TableState


class TableOptions(FileOptions):
    """Which columns are inputs, which one is the target, and what to do with missing cells."""

    as_names = ("target", "group")

    target: str | None = None
    """Column to predict."""
    columns: tuple[str, ...] | None = None
    """Input columns to keep; all but identifiers and constants if not given."""
    drop: tuple[str, ...] = ()
    """Columns to leave out."""
    categories: tuple[str, ...] = ()
    """Columns of numbers to take as categories."""
    kind: TargetKind = "auto"
    """What the target is; `auto` takes words, truth values and a few whole numbers as classes, all else as a number."""
    group: str | None = None
    """Column of groups, such as patients, whose rows all fall into one split; it is no input."""
    time: str | None = None
    """Column of times: train on the earliest rows, test on the latest; it is no input."""
    missing: Literal["impute", "error"] = "impute"
    """Missing inputs: training median and an indicator for numbers, a level of their own for categories; or refuse."""
    max_levels: int = Field(100, ge=2)
    """Most levels of a category with an input each; of more, each is the mean of the target in it."""

    @model_validator(mode="after")
    def _roles_differ(self) -> Self:
        roles = [name for name in (self.target, self.group, self.time) if name is not None]
        if len(set(roles)) < len(roles):
            raise ValueError(f"target, group and time are three different columns. Got {', '.join(roles)}")
        if self.group is not None and self.time is not None:
            raise ValueError("rows are split by group or by time. Leave out one of them")
        for option, names in (("columns", self.columns or ()), ("drop", self.drop), ("categories", self.categories)):
            if self.target in names:
                raise ValueError(f"{option} holds input columns, and {self.target} is the target")
        return self


def rows_of(
    source: object,
    options: TableOptions,
    findings: Findings,
    state: TableState | None = None,
    *,
    has_target: bool = True,
) -> Samples[Cells]:
    """Rows of inputs and their targets, with flaws noted; they are sound only where no finding is an error.

    The path of a CSV, Excel or Parquet file, a pandas or polars frame, or a pair of rows and targets. With a `state`,
    which training learnt, they are matched to it by name instead of being judged anew.
    """
    if isinstance(source, tuple):
        frame, name = joined_table(*pair_of(source))
        source, options = frame, options.replace(target=name)
    raw = load_table(source, options, findings)
    raw = raw.sound() if raw.broken.any() else raw
    target = options.target if state is None else state.target_name if has_target else None
    if state is None:
        there = raw.names
        _check_names(there, options, findings)
        roles = {options.target, options.group, options.time, *options.drop}
        names = [name for name in options.columns or there if name not in roles]
        is_named = options.columns is not None
        cells = read_inputs(raw, names, options.categories, options, findings, is_named=is_named)
    else:
        match_names(raw.names, [*state.numbers, *state.categories, *([] if target is None else [target])], findings)
        cells = _later_cells(raw, options, findings, state)
    groups, times = named_cells(raw, options.group, "group", findings), _times(raw, options, findings)
    _note_missing(cells, options, findings)
    known = None if state is None else state.classes
    values, classes = (None, known) if target is None else read_target(raw, target, known, options.kind, findings)
    return Samples(
        inputs=cells,
        source=findings.source,
        word="rows",
        names={"row": raw.rows.tolist()},
        target=values if values is None or classes is None else values.astype(np.int64),
        classes=classes,
        target_name=target,
        columns=cells.names,
        groups=groups,
        times=times,
        rows=raw.rows,
        unit=raw.unit,
    )


def _later_cells(raw: RawTable, options: TableOptions, findings: Findings, state: TableState) -> Cells:
    """Inputs as training took them; columns of levels that are all new are findings."""
    dates = {parts.column: parts.form for parts in state.dates}
    numbers = [name for name in state.numbers if name not in dates]
    cells = read_cells(raw, numbers, state.categories, findings, dates=dates, options=options)
    for name, column, levels in zip(state.categories, cells.words.T, state.levels, strict=True):
        present = column[column != ""].astype(str)
        if levels and len(present) >= FEW_ROWS and not np.isin(present, levels).any():
            rule = f"none of the {len(present)} cells of '{quoted(name)}' has a level that training had"
            fix = f"Write them as training did ({listed(levels, 4)}), or empty them."
            findings.add("levels", "error", rule, fix, [Place(column=name, value=str(present[0]))])
    return cells


def _check_names(columns: list[str], options: TableOptions, findings: Findings) -> None:
    """Refuse options that name a column which is not there; all of them are named."""
    is_absent = False
    for option in ("target", "group", "time", "columns", "drop", "categories"):
        given = getattr(options, option)
        names = (given,) if isinstance(given, str) else given or ()
        if not set(names) <= set(columns):
            is_absent = True
            with contextlib.suppress(Unreadable):
                require_columns(columns, names, option, findings)
    if is_absent:
        raise Unreadable


def _times(raw: RawTable, options: TableOptions, findings: Findings) -> pd.Index | None:
    if options.time is None or options.time not in raw.names:
        return None
    times, good = parse_times(raw, options.time, options, findings, field="read.time")
    return times if good.all() else None


def _note_missing(cells: Cells, options: TableOptions, findings: Findings) -> None:
    """Refuse missing inputs, or say how many there are."""
    missing = cells.missing()
    if missing:
        places = [Place(column=name, detail=f"{count} cells") for name, count in missing.items()]
        is_error = options.missing == "error"
        fix = ("Fill them in, or set missing to impute (", Fix("read.missing", "impute"), ").") if is_error else ""
        rule = f"{sum(missing.values())} inputs are missing"
        findings.add("missing", "error" if is_error else "note", rule, fix, places)
