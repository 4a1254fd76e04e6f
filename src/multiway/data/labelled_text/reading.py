"""`read_texts`: from a file, a frame or lists to texts with their classes, every flaw named."""

import dataclasses
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.cells import as_text
from multiway.data.columns import require_columns
from multiway.data.findings import Findings, Unreadable, listed, quoted
from multiway.data.labelled_text.loading import TEXT, is_lines, load_texts
from multiway.data.labelled_text.options import LabelledTextOptions
from multiway.data.labelled_text.roles import find_columns
from multiway.data.labelled_text.table import TextColumns, TextTable
from multiway.data.loading import source_name
from multiway.data.raw import Table
from multiway.data.tabular.options import TableOptions
from multiway.data.tabular.target import read_target
from multiway.errors import MultiwayWarning

OFFICIAL = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev", "development"),
    "test": ("test", "testing"),
}
"""What a column of splits may call them."""


def read_texts(
    source: Any, options: LabelledTextOptions | None = None, columns: TextColumns | None = None
) -> TextTable:
    """Read texts and their classes.

    Args:
        source: Path of a CSV, TSV, JSONL, Excel or Parquet file, or of one text per line; a frame; a list of texts, or
            a pair of texts and classes.
        options: Which columns to take, and which rows.
        columns: What a trained model knows; the source is matched to it by name.

    Raises:
        DataError: A flaw that no option covers: one line with the file, the place, the value and the fix.
    """
    findings = Findings(source_name(source))
    try:
        table = read_into(source, options or LabelledTextOptions(), columns, findings)
    except Unreadable:
        raise findings.error() from None
    if findings.errors():
        raise findings.error()
    for finding in findings.found if columns is None else ():
        if finding.severity == "warning":
            warnings.warn(f"{findings.source}: {finding.line()}", MultiwayWarning, stacklevel=3)
    return table


def read_into(source: Any, options: LabelledTextOptions, columns: TextColumns | None, findings: Findings) -> TextTable:
    """The same, with flaws noted; the texts are sound only where no finding is an error."""
    raw = load_texts(source, options, findings)
    raw = raw.sound() if raw.broken.any() else raw
    if columns is None:
        raw = _kept(raw, options, findings)
        columns = find_columns(raw, options, findings)
    else:
        raw = _named(raw, source, columns)
        wanted = [*columns.texts, *([columns.target] if columns.target else [])]
        require_columns(raw.names, wanted, "the training", findings)
    table = TextTable(
        columns=columns, texts=_texts(raw, columns, options.empty == "error", findings), truth=None, rows=raw.rows,
        unit=raw.unit, source=findings.source, groups=_cells(raw, options.group, "group", findings),
        official=_official(raw, options.split, findings),
    )  # fmt: skip
    table = _with_classes(table, raw, findings)
    notes = tuple(finding.line() for finding in findings.found if finding.severity != "error")
    return dataclasses.replace(table, notes=notes)


def _named(raw: Table, source: Any, columns: TextColumns) -> Table:
    """Lines of a text file under the name that the training has for texts."""
    if not is_lines(source) or columns.second is not None:
        return raw
    return dataclasses.replace(raw, frame=raw.frame.rename(columns={TEXT: columns.text}))


def _kept(raw: Table, options: LabelledTextOptions, findings: Findings) -> Table:
    """The rows that the options keep."""
    require_columns(raw.names, list(options.where), "where", findings)
    wanted = np.ones(len(raw.frame), dtype=bool)
    for name, value in options.where.items():
        wanted &= (as_text(raw.frame[name]) == value).to_numpy(bool)
    rows = np.flatnonzero(wanted)[: options.first]
    if not len(rows):
        said = ", ".join(f"{name} = {value}" for name, value in options.where.items())
        raise findings.fatal("where", f"no row has {quoted(said, 80)}", "Name cells that are there (read.where).")
    frame = raw.frame.iloc[rows].reset_index(drop=True)
    return dataclasses.replace(raw, frame=frame, rows=raw.rows[rows], broken=raw.broken[rows])


def _texts(raw: Table, columns: TextColumns, is_error: bool, findings: Findings) -> tuple[str, ...]:
    """Texts with single blanks; a row without any is refused or noted."""
    parts = [[" ".join(text.split()) for text in as_text(raw.frame[name])] for name in columns.texts]
    for name, texts in zip(columns.texts, parts, strict=True):
        empty = [row for row, text in enumerate(texts) if not text]
        if empty:
            fix = "Fill it in, or set empty to keep (--set read.empty=keep)." if is_error else ""
            places = [raw.place(row, name) for row in empty[:20]]
            rule = f"{len(empty)} rows have no text"
            findings.add("text", "error" if is_error else "note", rule, fix, places, len(empty))
    return tuple("\n".join(each) for each in zip(*parts, strict=True))


def _cells(raw: Table, name: str | None, what: str, findings: Findings) -> tuple[str, ...] | None:
    """Cells of a named column as text; None where none is named, or later data lack it."""
    if name is None or name not in raw.names:
        return None
    text = as_text(raw.frame[name])
    rows = np.flatnonzero(text == "")
    if len(rows):
        places = [raw.place(int(row), name) for row in rows[:20]]
        findings.add(what, "error", f"{len(rows)} rows have no {what}", "Fill it in.", places, len(rows))
    return tuple(text)


def _official(raw: Table, name: str | None, findings: Findings) -> tuple[str, ...] | None:
    """Our name of each row's split; rows of others are warned of, or noted where they say what part, as ood_dev."""
    cells = _cells(raw, name, "split", findings)
    if cells is None:
        return None
    ours = {alias: split for split, aliases in OFFICIAL.items() for alias in aliases}
    found = tuple(ours.get(cell.lower(), "") for cell in cells)
    others = sorted({cell for cell, split in zip(cells, found, strict=True) if not split})
    if others:
        count = found.count("")
        are = "row is" if count == 1 else "rows are"
        rule = f"{count} {are} left out: column '{quoted(str(name))}' says {listed(others)}, which is no split"
        apart = all(ours.keys() & re.split(r"[\W_]+", cell.lower()) for cell in others)
        findings.add("split", "note" if apart else "warning", rule, "A split is called train, validation or test.")
    return found


def _with_classes(table: TextTable, raw: Table, findings: Findings) -> TextTable:
    columns = table.columns
    if columns.target is None:
        return table
    known = columns.classes or None
    codes, classes = read_target(
        raw, columns.target, known, TableOptions(kind="classes"), findings, otherwise="Name another (--target NAME)."
    )
    truth: NDArray[np.int64] = codes.astype(np.int64)
    return dataclasses.replace(table, truth=truth, columns=dataclasses.replace(columns, classes=classes or ()))


def read_frame(source: Any, options: LabelledTextOptions) -> pd.DataFrame:
    """Every column of a file or frame as it came.

    Raises:
        DataError: It is no sound table.
    """
    findings = Findings(source_name(source))
    try:
        return load_texts(source, options, findings).frame
    except Unreadable:
        raise findings.error() from None
