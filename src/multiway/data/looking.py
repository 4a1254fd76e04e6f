"""What a table looks like before it is read as one: the kinds of its columns."""

import re
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, Unreadable, soundly
from multiway.data.sources.cells import TIME_NAMES, RawTable, looks_numeric, parse_cells, words
from multiway.data.sources.options import FileOptions
from multiway.data.sources.tables import load_table, source_name
from multiway.data.sources.times import looks_like_time
from multiway.errors import DataError, Fix

Kind = Literal["number", "category", "date", "empty", "constant", "identifier"]
NEARLY_ALL = 0.95
"""Share of rows with a value of their own from which on a column of words says who, not what."""
IDLE = {
    "empty": "hold no value",
    "constant": "never change",
    "identifier": "say which row it is (nearly every value differs)",
}
"""Kinds of columns that nothing can be learnt from, in words."""
TAKEN: tuple[Kind, ...] = ("number", "category", "date")
"""Kinds of columns that are inputs."""
FEW_ROWS = 20
"""Below so many rows, values that are all different say nothing yet."""


def kind_of(raw: pd.Series, name: str, categories: Collection[str] = ()) -> Kind:
    """Judge a column by its cells, and identifiers by their name too; `categories` are what the user says are some."""
    is_date = pd.api.types.is_datetime64_any_dtype(raw) or isinstance(raw.dtype, pd.PeriodDtype)
    text = None if is_date or is_numeric(raw) else words(raw)
    present = raw.notna().to_numpy(bool) if text is None else (text != "").to_numpy(bool)
    if not present.any():
        return "empty"
    distinct = int(raw.nunique() if text is None else text[present].nunique())
    if distinct == 1 and present.all() and len(raw) > 1:
        return "constant"
    if name in categories:
        return "category"
    if is_date:
        return "date"
    if text is None or looks_numeric(text):
        values = parse_cells(raw if text is None else text)[0]
        return "identifier" if _counts_rows(values, name) else "number"
    if _holds_dates(text[present]):
        return "date"
    return "identifier" if len(raw) >= FEW_ROWS and distinct >= NEARLY_ALL * len(raw) else "category"


def is_numeric(raw: pd.Series) -> bool:
    """Whether a column was read as numbers."""
    is_other = pd.api.types.is_bool_dtype(raw) or pd.api.types.is_complex_dtype(raw)
    return pd.api.types.is_numeric_dtype(raw) and not is_other


def _counts_rows(values: NDArray[np.float64], name: str) -> bool:
    """Whether whole numbers all differ, and rise from row to row or stand in a column named as identifiers are."""
    if len(values) < FEW_ROWS or not np.isfinite(values).all() or (values != np.round(values)).any():
        return False
    is_named = re.search(r"(?i)(^|[_ .-])(id|uuid|index)$", name) is not None
    return bool((np.diff(values) > 0).all() or (is_named and len(np.unique(values)) == len(values)))


def _holds_dates(text: pd.Series) -> bool:
    return all(looks_like_time(pd.Series([cell])) for cell in text.drop_duplicates().iloc[:20])


def judge(
    table: RawTable, names: Sequence[str], categories: Collection[str], findings: Findings, *, is_named: bool
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Columns of numbers, of categories and of dates; what cannot be an input is left out.

    is_named: The user named them: they are inputs, be they constant, empty or identifiers.
    """
    kinds = {name: kind_of(table.frame[name], name, categories) for name in names}
    if not is_named:
        kinds = _without_idle(kinds, findings)
    if not kinds:
        raise findings.fatal("columns", "no column is left to learn from", "Give a table with other columns.")
    numeric = {name: is_numeric(table.frame[name]) for name in kinds}
    inputs = {
        name: kind if kind in TAKEN else "number" if kind in IDLE and numeric[name] else "category"
        for name, kind in kinds.items()
    }
    numbers, categories, dates = (tuple(name for name, own in inputs.items() if own == kind) for kind in TAKEN)
    return numbers, categories, dates


def _without_idle(kinds: dict[str, Kind], findings: Findings) -> dict[str, Kind]:
    """Leave out columns that nothing can be learnt from, and say so."""
    fix = ("Name the inputs to keep them (", Fix("read.columns", like="NAME,NAME"), ").")
    for idle, said in IDLE.items():
        places = [Place(column=name) for name, kind in kinds.items() if kind == idle]
        if places:
            findings.add(idle, "warning", f"columns {said} and are left out", fix, places)
    return {name: kind for name, kind in kinds.items() if kind not in IDLE}


def looks_like_rows(source: object) -> bool:
    """Whether a file or frame is a table with a column of words and without times: no series of a panel, but rows."""
    try:
        table = load_table(source, FileOptions(), Findings(""))
    except (DataError, Unreadable):
        return False
    if any(name.lower() in TIME_NAMES for name in table.names):
        return False
    kinds = {kind_of(table.frame[name], name) for name in table.names}
    return len(table.names) > 1 and "category" in kinds and "date" not in kinds


def read_frame(source: object, options: FileOptions) -> pd.DataFrame:
    """Every column of a file or frame as it came, whole numbers as such.

    Raises:
        DataError: It is no sound table.
    """
    frame = soundly(source_name(source), lambda findings: load_table(source, options, findings)).frame
    whole = [name for name, column in frame.items() if column.dtype == float and (column % 1 == 0).all()]
    return frame.astype(dict.fromkeys(whole, "int64"))
