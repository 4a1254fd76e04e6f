"""Columns whose numbers are written with thousands separators, such as 1,234.5."""

import dataclasses

import pandas as pd

from multiway.data.findings import Findings, listed
from multiway.data.formulas import is_text
from multiway.data.options import ReadOptions
from multiway.data.raw import EMPTY_CELLS, ID_NAMES, TIME_NAMES, Table

WHOLE = r"[+-]?\d{1,3}(?:,\d{3})*"
GROUPED = rf"{WHOLE}(?:\.\d*)?"
CERTAIN = r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d*|(?:,\d{3}){2,})"
"""What can be nothing but separators of thousands: 1,234 alone could be a decimal comma."""


def with_plain_numbers(table: Table, options: ReadOptions, findings: Findings) -> Table:
    """Turn columns into numbers whose thousands are separated in every cell, and where one can mean nothing else."""
    labels = {options.time_column, options.id_column}
    changed = {
        name: _plain(column)
        for name, column in table.frame.items()
        if is_text(column.dtype)
        and name not in labels
        and str(name).lower() not in TIME_NAMES + ID_NAMES
        and _is_grouped(column)
    }
    if not changed:
        return table
    findings.add("thousands", "note", f"commas separate thousands in columns {listed(changed)}")
    return dataclasses.replace(table, frame=table.frame.assign(**changed))  # type: ignore[arg-type]


def _is_grouped(column: pd.Series) -> bool:
    text = column.astype("string").str.strip()
    if not text.str.contains(",", regex=False).any():
        return False
    text = text[text.notna() & ~text.isin(EMPTY_CELLS)]
    return bool(text.str.fullmatch(GROUPED).all() and text.str.fullmatch(CERTAIN).any())


def _plain(column: pd.Series) -> pd.Series:
    text = column.astype("string").str.strip().str.replace(",", "")
    return text.where(~text.isin(EMPTY_CELLS)).astype("Float64").astype("float64")
