"""Rows of a table as samples: which columns are inputs, which one is the target, every flaw with its place."""

import contextlib
import dataclasses
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from multiway.data.findings import Findings, Place, Unreadable
from multiway.data.looking import Kind, is_numeric, kind_of
from multiway.data.matching import match_names
from multiway.data.samples import Cells, Samples, read_samples
from multiway.data.sources.cells import RawTable, words
from multiway.data.sources.columns import named_cells, parse_numbers, require_columns
from multiway.data.sources.options import FileOptions
from multiway.data.sources.tables import as_pandas, load_table, pair_of, source_name
from multiway.data.sources.times import parse_times
from multiway.data.splitting import SplitShares
from multiway.data.targets import TargetKind, read_target
from multiway.errors import DataError, Fix, Message
from multiway.tasks.tabular.encode import TableState

TARGET = "target"
CATEGORIES = Fix("read.categories", like="NAME")
EMPTIED: Message = ("Correct or empty them, or take the column as categories (", CATEGORIES, ").")
CHOSEN: Message = ("Correct them, or choose the other columns (", Fix("read.columns", like="NAME,NAME"), ")")
IDLE = {
    "empty": "hold no value",
    "constant": "never change",
    "identifier": "say which row it is (nearly every value differs)",
}
"""Kinds of columns that nothing can be learnt from, in words."""


class TableOptions(FileOptions):
    """Which columns are inputs, which one is the target, and what to do with missing cells."""

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
    """Most levels of a category with an input of their own; rarer ones are treated as unknown."""

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


class TableSplit(SplitShares):
    """By time or by group where one is named, else at random; classes in their proportions."""


def read_table(source: object, options: TableOptions | None = None, state: TableState | None = None) -> Samples[Cells]:
    """Rows of inputs and their targets.

    Args:
        source: Path of a CSV, Excel or Parquet file, or a pandas or polars frame.
        options: Which columns to take, and how.
        state: What training learnt: the source is matched to it by name instead of being judged anew.

    Raises:
        DataError: A flaw that no option covers: one line with the file, the place, the value and the fix.
    """
    given = options or TableOptions()
    return read_samples(source_name(source), lambda findings: rows_of(source, given, findings, state))


def rows_of(
    source: object, options: TableOptions, findings: Findings, state: TableState | None = None,
    *, has_target: bool = True,
) -> Samples[Cells]:  # fmt: skip
    """The same with flaws noted; the rows are sound only where no finding is an error."""
    if isinstance(source, tuple):
        frame, name = joined_table(*pair_of(source))
        source, options = frame, options.replace(target=name)
    raw = load_table(source, options, findings)
    raw = raw.sound() if raw.broken.any() else raw
    target = options.target if state is None else state.target_name if has_target else None
    if state is None:
        _check_names(raw, options, findings)
        kinds = _judged(raw, options, findings)
        numbers, categories = (
            tuple(name for name, kind in kinds.items() if kind == each) for each in ("number", "category")
        )
    else:
        numbers, categories = state.numbers, state.categories
        match_names(raw.names, [*numbers, *categories, *([] if target is None else [target])], findings)
    cells = Cells(
        numbers=_numbers(raw, numbers, findings), words=_words(raw, categories), of_numbers=numbers,
        of_words=categories,
    )  # fmt: skip
    groups, times = named_cells(raw, options.group, "group", findings), _times(raw, options, findings)
    _note_missing(cells, options, findings)
    known = None if state is None else state.classes
    values, classes = (None, known) if target is None else read_target(raw, target, known, options.kind, findings)
    return Samples(
        inputs=cells, source=findings.source, word="rows", names={"row": raw.rows.tolist()},
        target=values if values is None or classes is None else values.astype(np.int64), classes=classes,
        target_name=target, columns=cells.names, groups=groups, times=times, rows=raw.rows, unit=raw.unit,
    )  # fmt: skip


def _check_names(raw: RawTable, options: TableOptions, findings: Findings) -> None:
    """Refuse options that name a column which is not there."""
    for option in ("target", "group", "time", "columns", "drop", "categories"):
        names = getattr(options, option)
        with contextlib.suppress(Unreadable):  # so that all of them are named
            require_columns(raw.names, [names] if isinstance(names, str) else names or (), option, findings)
    if any(finding.kind == "columns" for finding in findings.errors()):
        raise Unreadable


def _judged(raw: RawTable, options: TableOptions, findings: Findings) -> dict[str, Kind]:
    """Numbers and categories among the columns; what cannot be an input is left out or refused."""
    roles = {options.target, options.group, options.time}
    names = [name for name in options.columns or raw.names if name not in roles and name not in options.drop]
    kinds = {name: kind_of(raw.frame[name], name, options.categories) for name in names}
    if options.columns is None:
        kinds = _without_idle(kinds, findings)
    _refuse_dates(raw, [name for name, kind in kinds.items() if kind == "date"], findings)
    chosen = {name: _as_input(raw.frame[name], kind) for name, kind in kinds.items() if kind != "date"}
    if not chosen and not findings.errors():
        raise findings.fatal("columns", "no column is left to learn from", "Give a table with other columns.")
    return chosen


def _as_input(raw: pd.Series, kind: Kind) -> Kind:
    """How a column that the user named is read, be it constant, empty or an identifier."""
    return kind if kind in ("number", "category") else "number" if is_numeric(raw) else "category"


def _without_idle(kinds: dict[str, Kind], findings: Findings) -> dict[str, Kind]:
    """Leave out columns that nothing can be learnt from, and say so."""
    fix = ("Name the inputs to keep them (", Fix("read.columns", like="NAME,NAME"), ").")
    for idle, said in IDLE.items():
        places = [Place(column=name) for name, kind in kinds.items() if kind == idle]
        if places:
            findings.add(idle, "warning", f"columns {said} and are left out", fix, places)
    return {name: kind for name, kind in kinds.items() if kind not in IDLE}


def _refuse_dates(raw: RawTable, names: list[str], findings: Findings) -> None:
    if names:
        places = [raw.place(0, name, raw.frame[name].iloc[0]) for name in names]
        fix = (
            "Leave them out (", Fix("read.drop", names), "), or split by one of them (",
            Fix("read.time", names[0]), ").",
        )  # fmt: skip
        findings.add("dates", "error", "columns hold dates, which are no numbers", fix, places)


def _numbers(raw: RawTable, names: tuple[str, ...], findings: Findings) -> NDArray[np.float64]:
    """NaN where a cell is empty; what is no finite number is a finding."""
    text = {name: words(raw.frame[name]) for name in names if not pd.api.types.is_numeric_dtype(raw.frame[name])}
    table = dataclasses.replace(raw, frame=raw.frame.assign(**text))
    return parse_numbers(table, list(names), findings, emptied=EMPTIED, chosen=CHOSEN, rounded=True)


def _words(raw: RawTable, names: tuple[str, ...]) -> NDArray[np.object_]:
    columns = [words(raw.frame[name]).to_numpy(object) for name in names]
    return np.column_stack(columns) if columns else np.empty((len(raw.frame), 0), object)


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


def joined_table(X: object, y: object) -> tuple[pd.DataFrame, str]:
    """Rows with their targets as one frame, and the name of the targets' column.

    Raises:
        DataError: There is not one target per row.
    """
    frame = as_pandas(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        frame.columns = [f"x{i}" for i in range(frame.shape[1])]
    targets = np.asarray(y)
    if targets.shape != (len(frame),):
        raise DataError(f"y: one target is needed per row, ({len(frame)},). Got {targets.shape}.")
    name = target_name(frame)
    return frame.assign(**{name: targets}), name


def target_name(frame: pd.DataFrame) -> str:
    """A name for the target that no input has."""
    name = TARGET
    while name in frame.columns:
        name += "_"
    return name
