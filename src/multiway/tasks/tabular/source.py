"""Rows of a table as samples: which columns are inputs, which one is the target, every flaw with its place."""

import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multiway.config import Plain
from multiway.data.checking import check_levels, judge_marks
from multiway.data.findings import Findings, Place, Unreadable, list_some, quote
from multiway.data.looking import look_at
from multiway.data.matching import match_names
from multiway.data.samples import Cells, Samples
from multiway.data.sources.cells import FEW_ROWS
from multiway.data.sources.columns import RawTable, parse_times, require_columns
from multiway.data.sources.frames import pair_of
from multiway.data.sources.scans.checking import lists_scans
from multiway.data.sources.tables import load_table
from multiway.data.sources.values import parse_numbers, read_cells, read_inputs, read_named_cells
from multiway.data.targets import join_table, read_target
from multiway.errors import Fix
from multiway.tasks.kind import SampleKind
from multiway.tasks.tabular.config import TableOptions, TabularConfig

if TYPE_CHECKING:  # what needs torch
    from multiway.tasks.tabular.encode import TableState


def is_table(source: object) -> bool:
    """Tables of rows that are not steps of series, and rows with targets."""
    look = look_at(source)
    return isinstance(source, tuple) or (look is not None and look.is_of_rows and not _lists_scans(source))


def may_be_table(source: object, *, is_chosen: bool = False) -> bool:
    """Tables without times; any table where options of this task are given."""
    look = look_at(source)
    if look is None or len(look.kinds) < 2:
        return False
    return is_chosen or (look.time is None and not _lists_scans(source))


def propose_target(config: TabularConfig, source: object) -> tuple[Fix, ...] | None:
    """A column to predict, where none is named: one that is called so, else the last."""
    look = None if config.read.target is not None else look_at(source)
    if look is None:
        return ()
    return None if look.likely_target is None else (Fix("read.target", look.likely_target),)


def read_rows(
    config: TabularConfig,
    source: object,
    findings: Findings,
    state: "TableState | None" = None,
    *,
    has_target: bool = True,
) -> Samples[Cells]:
    """Rows of inputs and their targets, with flaws noted; they are sound only where no finding is an error.

    The path of a CSV, Excel or Parquet file, a pandas or polars frame, or a pair of rows and targets. With a `state`,
    which training learnt, they are matched to it by name instead of being judged anew.
    """
    options = config.read
    if isinstance(source, tuple):
        frame, name = join_table(*pair_of(source))
        source, options = frame, options.replace(target=name)
    raw = load_table(source, options, findings).sound()
    target = options.target if state is None else state.target_name if has_target else None
    raw, weights = (raw, None) if target is None else _read_weights(raw, options, findings)
    if state is None:
        roles = {options.target, options.group, options.time, options.weights, *options.drop}
        names = [name for name in options.columns or raw.names if name not in roles]
        _check_names(raw.names, options, findings)
        is_named = options.columns is not None
        cells = read_inputs(raw, names, options.categories, options, findings, is_named=is_named)
    else:
        match_names(raw.names, [*state.numbers, *state.categories, *([] if target is None else [target])], findings)
        cells = _later_cells(raw, options, findings, state)
    groups, times = read_named_cells(raw, options.group, "group", findings), None
    if options.time is not None and options.time in raw.names:
        stamps, good = parse_times(raw, options.time, options, findings, field="read.time")
        times = stamps if good.all() else None
    _note_missing(cells, options, findings)
    known = None if state is None else state.classes
    values, classes = (None, known) if target is None else read_target(raw, target, known, options.kind, findings)
    if state is None:
        columns = dict(zip(cells.of_numbers, cells.numbers.T, strict=True))
        columns |= {} if target is None or values is None or classes is not None else {target: values}
        judge_marks(columns.items(), options.sentinels, findings)
    return Samples(
        inputs=cells,
        source=findings.source,
        word="rows",
        names={"row": raw.rows.tolist()},
        target=values if values is None or classes is None else values.astype(np.int64),
        classes=classes,
        target_name=target,
        target_sign="" if target is None or classes is not None else raw.columns[target].sign,
        columns=cells.names,
        weights=weights,
        groups=groups,
        times=times,
        rows=raw.rows,
        unit=raw.unit,
    )


def _later_cells(raw: RawTable, options: TableOptions, findings: Findings, state: "TableState") -> Cells:
    """Inputs as training took them; columns of levels that are all new are findings."""
    dates = {parts.column: parts.form for parts in state.dates}
    numbers = [name for name in state.numbers if name not in dates]
    cells = read_cells(raw, numbers, state.categories, findings, dates=dates, options=options)
    for name, column, levels in zip(state.categories, cells.words.T, state.levels, strict=True):
        present = column[column != ""].astype(str)
        if levels and len(present) >= FEW_ROWS and not np.isin(present, levels).any():
            rule = f"none of the {len(present)} cells of '{quote(name)}' has a level that training had"
            fix = f"Write them as training did ({list_some(levels, 4)}), or empty them."
            findings.add("levels", "error", rule, fix, [Place(column=name, value=str(present[0]))])
    return cells


def _read_weights(
    raw: RawTable, options: TableOptions, findings: Findings
) -> tuple[RawTable, NDArray[np.float64] | None]:
    """Rows that count, and how much, where a column says it; later rows without it count alike."""
    name = options.weights
    if name is None:
        return raw, None
    if name not in raw.names:
        findings.add("weights", "note", f"there is no column '{quote(name)}', so all rows count alike")
        return raw, None
    weights = parse_numbers(raw, [name], findings)[:, 0]
    rule, fix = f"weights in '{quote(name)}' are missing or below zero", "Correct them, or leave these rows out."
    findings.mark("weights", rule, fix, ~(weights >= 0), lambda row: raw.place(row, name))
    if not weights.any():
        raise findings.fatal("weights", f"every weight in '{quote(name)}' is zero", "Name another column.")
    kept = weights != 0
    idle = f", and {(~kept).sum()} of weight zero are left out" if not kept.all() else ""
    findings.add("weights", "note", f"rows count as '{quote(name)}' says, in fitting, validation and scores{idle}")
    return raw.take(kept), weights[kept]


def _check_names(columns: list[str], options: TableOptions, findings: Findings) -> None:
    """Refuse options that name a column which is not there; all of them are named."""
    is_absent = False
    for option in ("target", "group", "time", "weights", "columns", "drop", "categories"):
        given = getattr(options, option)
        names = (given,) if isinstance(given, str) else given or ()
        if not set(names) <= set(columns):
            is_absent = True
            with contextlib.suppress(Unreadable):
                require_columns(columns, names, option, findings)
    if is_absent:
        raise Unreadable


def _note_missing(cells: Cells, options: TableOptions, findings: Findings) -> None:
    """Refuse missing inputs, or say how many there are."""
    missing = cells.missing()
    if missing:
        places = [Place(column=name, detail=f"{count} cells") for name, count in missing.items()]
        is_error = options.missing == "error"
        fix = ("Fill them in, or set missing to impute (", Fix("read.missing", "impute"), ").") if is_error else ""
        rule = f"{sum(missing.values())} inputs are missing"
        findings.add("missing", "error" if is_error else "note", rule, fix, places)


def describe_rows(samples: Samples[Cells]) -> Plain:
    """Columns of either kind."""
    cells, kind = samples.inputs, "number" if samples.classes is None else "classes"
    return {
        "rows": len(samples),
        "numbers": list_some(cells.of_numbers, 12) or None,
        "categories": list_some(cells.of_words, 12) or None,
        "kind": None if samples.target is None else kind,
        "missing cells": sum(cells.missing().values()),
    }


def _lists_scans(source: object) -> bool:
    """Whether the rows of a table are files of scans."""
    return isinstance(source, str | Path) and lists_scans(Path(source))


ROWS = SampleKind(
    recognises=is_table,
    could_take=may_be_table,
    proposal=propose_target,
    read=read_rows,
    describe=describe_rows,
    count_missing=lambda samples: samples.inputs.missing(),
    hooks=lambda config: (functools.partial(check_levels, most=config.read.max_levels),),
)
