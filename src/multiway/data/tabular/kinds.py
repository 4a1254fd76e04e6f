"""Which columns of a raw table are numbers, categories, dates, identifiers or constants."""

import re
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.cells import as_text, has_comma, parse_cells
from multiway.data.findings import Findings, Place
from multiway.data.raw import EMPTY_CELLS, Table
from multiway.data.tabular.options import TableOptions
from multiway.data.times import looks_like_time

Kind = Literal["number", "category", "date", "empty", "constant", "identifier"]
MOSTLY_NUMBERS = 0.9
"""Share of cells from which on a column is one of numbers, and the other cells are flaws."""
NEARLY_ALL = 0.95
"""Share of rows with a value of their own from which on a column of words says who, not what."""
FEW_ROWS = 20
"""Below so many rows, values that are all different say nothing yet."""
SAID = {
    "empty": "hold no value",
    "constant": "never change",
    "identifier": "say which row it is (nearly every value differs)",
}


def input_kinds(table: Table, options: TableOptions, findings: Findings) -> dict[str, Kind]:
    """Numbers and categories among the columns; what cannot be an input is left out or refused."""
    roles = {options.target, options.group, options.time}
    names = [name for name in options.columns or table.names if name not in roles and name not in options.drop]
    kinds = {name: kind_of(table.frame[name], name, options) for name in names}
    if options.columns is None:
        kinds = _without_idle(kinds, findings)
    _refuse_dates(table, [name for name, kind in kinds.items() if kind == "date"], findings)
    chosen = {name: as_input(table.frame[name], kind) for name, kind in kinds.items() if kind != "date"}
    if not chosen and not findings.errors():
        raise findings.fatal("columns", "no column is left to learn from", "Give a table with other columns.")
    return chosen


def as_input(raw: pd.Series, kind: Kind) -> Kind:
    """How a column that the user named is read, be it constant, empty or an identifier."""
    return kind if kind in ("number", "category") else "number" if _is_numeric(raw) else "category"


def kind_of(raw: pd.Series, name: str, options: TableOptions) -> Kind:
    """Judge a column by its cells, and identifiers by their name too."""
    if pd.api.types.is_datetime64_any_dtype(raw) or isinstance(raw.dtype, pd.PeriodDtype):
        return "date"
    text = None if _is_numeric(raw) else words(raw)
    present = raw.notna().to_numpy(bool) if text is None else (text != "").to_numpy(bool)
    if not present.any():
        return "empty"
    distinct = int(raw.nunique() if text is None else text[present].nunique())
    if distinct == 1 and present.all() and len(raw) > 1:
        return "constant"
    if name in options.categories:
        return "category"
    if text is None or looks_numeric(text):
        values = parse_cells(raw if text is None else text)[0]
        return "identifier" if _counts_rows(values, name) else "number"
    if _holds_dates(text[present]):
        return "date"
    return "identifier" if len(raw) >= FEW_ROWS and distinct >= NEARLY_ALL * len(raw) else "category"


def words(raw: pd.Series) -> pd.Series:
    """Cells as text without blanks around them; the usual words for nothing are empty."""
    text = as_text(raw).astype(object)
    return text.where(~text.isin(EMPTY_CELLS), "")


def looks_numeric(text: pd.Series) -> bool:
    """Whether most cells that hold something are numbers, or would be with a point for a comma."""
    _, bad, _ = parse_cells(text)
    present = int((text != "").sum())
    if bad.sum() <= (1 - MOSTLY_NUMBERS) * present:
        return True
    return bool(np.mean([has_comma(cell) for cell in text[bad].iloc[:100]]) >= MOSTLY_NUMBERS)


def _is_numeric(raw: pd.Series) -> bool:
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


def _without_idle(kinds: dict[str, Kind], findings: Findings) -> dict[str, Kind]:
    """Leave out columns that nothing can be learnt from, and say so."""
    for kind, said in SAID.items():
        names = [name for name, each in kinds.items() if each == kind]
        if names:
            rule = f"columns {said} and are left out"
            findings.add(
                kind,
                "warning",
                rule,
                "Name the inputs to keep them (--columns NAME,NAME).",
                [Place(column=name) for name in names],
            )
    return {name: kind for name, kind in kinds.items() if kind not in SAID}


def _refuse_dates(table: Table, names: list[str], findings: Findings) -> None:
    if names:
        places = [table.place(0, name, table.frame[name].iloc[0]) for name in names]
        fix = f"Leave them out (--drop {','.join(names)}), or split by one of them (--set read.time={names[0]})."
        findings.add("dates", "error", "columns hold dates, which are no numbers", fix, places)
