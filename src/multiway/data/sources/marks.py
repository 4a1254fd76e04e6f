"""Signs around numbers: one currency or percent sign in every cell of a column, and parentheses as a minus."""

import re

import pandas as pd

SIGNS = "$€£¥₹%"
MONEY = "$£¥₹"
"""Those of which nobody writes three decimals; a litre of fuel costs 1,659 €."""
NOTHING = r"\.{1,3}|…|\*+|\?+|:"
"""Marks of a missing value among numbers; a hyphen may be a zero."""
WRITTEN = rf"[{SIGNS}(+-]*\s*\.?\d[\d.,]*(?:[eE][+-]?\d+)?\s*[{SIGNS})]*"
"""A number with its separators and signs."""
MARKED = re.compile(rf"(\()?([+-]?)([{SIGNS}]?)\s*([+-]?)(\d[\d.,]*|\.\d+)\s*([{SIGNS}]?)(\))?")
"""An opening parenthesis, a minus, a sign, a minus, digits, a sign, a closing one."""


def without_marks(text: pd.Series) -> tuple[pd.Series, str] | None:
    """Numbers of cells as they are written, without their sign; and the sign, "()" where only parentheses are.

    None where a cell is no number, where signs differ, or where none is.

    text: Cells that hold something, each once, without blanks around them.
    """
    if not text.str.contains(rf"[{SIGNS}(]").any():
        return None
    parts = text.str.extract(rf"^{MARKED.pattern}$").fillna("")
    opening, early, before, late, digits, after, closing = (parts[column] for column in parts)
    signs = (before + after).unique()
    is_sound = (digits != "") & ((opening == "") == (closing == "")) & (opening + early + late).str.len().lt(2)
    if not is_sound.all() or len(signs) > 1 or len(signs[0]) > 1:
        return None
    minus = (early + late).where(opening == "", "-")
    return minus + digits, signs[0] or "()"


def are_nothing(text: pd.Series) -> pd.Series:
    """Which cells are a mark of a missing value, where every other is a number; none elsewhere.

    text: Cells that hold something, each once, without blanks around them.
    """
    marks = text.str.fullmatch(NOTHING)
    numbers = text[~marks].str.fullmatch(WRITTEN)
    return marks & bool(len(numbers) and numbers.all())
