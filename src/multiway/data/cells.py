"""Cells of a raw column as numbers or as text."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.raw import EMPTY_CELLS, EXACT_INTEGERS

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def parse_cells(raw: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Values; which cells are no finite number; which are integers that float64 would change."""
    if pd.api.types.is_bool_dtype(raw) or not (pd.api.types.is_numeric_dtype(raw) or _is_text(raw)):
        return np.full(len(raw), np.inf), raw.notna().to_numpy(bool), np.zeros(len(raw), dtype=bool)
    if pd.api.types.is_numeric_dtype(raw):
        values = raw.to_numpy(np.float64, na_value=np.nan)
        return values, np.isinf(values), _changed_integers(raw, values)
    return _parse_text(raw.astype("string").str.strip())


def as_text(raw: pd.Series) -> pd.Series:
    """Cells as they are written, without blanks around them: whole numbers without a point, nothing as nothing."""
    if pd.api.types.is_float_dtype(raw) and raw.notna().any() and (raw.dropna() == raw.dropna().round()).all():
        raw = raw.astype("Int64")
    if raw.dtype == object:
        raw = raw.map(sound_text, na_action="ignore")
    return raw.astype("string").str.strip().fillna("")


def sound_text(value: object) -> str:
    """A value as text that can be written; half of a surrogate pair becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode()


def has_comma(value: str) -> bool:
    """Whether a text is a number but for a comma in place of the point."""
    return value.count(",") == 1 and value.replace(",", "").lstrip("+-").isdigit()


def _changed_integers(raw: pd.Series, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which cells of an integer column float64 does not keep."""
    changed = np.zeros(len(raw), dtype=bool)
    if pd.api.types.is_integer_dtype(raw):
        large = np.flatnonzero(np.abs(values) >= EXACT_INTEGERS)
        changed[large] = [int(values[row]) != int(raw.iloc[row]) for row in large]
    return changed


def _is_text(raw: pd.Series) -> bool:
    return isinstance(raw.dtype, pd.StringDtype) or raw.dtype == object


def _parse_text(text: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Python's own float, which rounds correctly, on the cells that are written as numbers."""
    empty = (text.isna() | text.isin(EMPTY_CELLS)).to_numpy(bool)
    number = text.str.fullmatch(NUMBER).to_numpy(bool, na_value=False)
    values = np.full(len(text), np.nan)
    values[number] = [float(cell) for cell in text[number]]
    whole = text.str.fullmatch(r"[+-]?\d{16,}").to_numpy(bool, na_value=False)
    inexact = np.zeros(len(text), dtype=bool)
    inexact[whole] = [len(cell) > 300 or int(float(cell)) != int(cell) for cell in text[whole]]
    bad = (~number & ~empty) | np.isinf(values)
    values[bad] = np.inf
    return values, bad, inexact & ~bad
