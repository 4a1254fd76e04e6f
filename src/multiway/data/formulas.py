"""Text that a spreadsheet would run as a formula: marked where it is written, and unmarked where it is read."""

import re
from typing import Any

import pandas as pd

from multiway.data.cells import NUMBER

MARK = "'"
FORMULA = re.compile(rf"{MARK}*[=+\-@\t\r\n]")
"""What starts a formula, behind marks that the text had already."""
MARKED = re.compile(rf"^{MARK}(?={MARK}*[=+\-@\t\r\n])")


def escaped(text: str) -> str:
    """The text behind a mark that keeps a spreadsheet from running it; numbers are no formulas."""
    return MARK + text if FORMULA.match(text) and not re.fullmatch(NUMBER, text) else text


def restored(text: str) -> str:
    """Undo `escaped`."""
    return MARKED.sub("", text)


def escaped_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns with their names and their cells of text escaped; numbers and times stay what they are."""
    safe = frame.set_axis([escaped(name) if isinstance(name, str) else name for name in frame.columns], axis=1)
    for position, column in enumerate(safe.dtypes):
        if is_text(column):
            cells = [escaped(cell) if isinstance(cell, str) else cell for cell in safe.iloc[:, position]]
            safe.isetitem(position, cells)
    return safe


def restored_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Undo `escaped_frame` for cells."""
    changed = {
        name: column.astype("string").str.replace(MARKED, "", regex=True).astype(column.dtype)
        for name, column in frame.items()
        if is_text(column.dtype) and column.astype("string").str.startswith(MARK).any()
    }
    return frame.assign(**changed) if changed else frame  # type: ignore[arg-type]  # names are text here


def is_text(dtype: Any) -> bool:
    """Whether a column of that type can hold text."""
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)
