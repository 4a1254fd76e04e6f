"""What a file is before it is read as a table of rows."""

from typing import Any

import pandas as pd

from multiway.data.findings import Findings, Unreadable
from multiway.data.loading import load_table, source_name
from multiway.data.options import ReadOptions
from multiway.data.raw import TIME_NAMES
from multiway.data.tabular.kinds import kind_of
from multiway.data.tabular.options import TableOptions
from multiway.errors import DataError


def looks_like_rows(source: Any) -> bool:
    """Whether a file or frame is a table with a column of words and without times: no series of a panel, but rows."""
    try:
        table = load_table(source, ReadOptions(), Findings(""))
    except (DataError, Unreadable):
        return False
    if any(name.lower() in TIME_NAMES for name in table.names):
        return False
    kinds = {kind_of(table.frame[name], name, TableOptions()) for name in table.names}
    return len(table.names) > 1 and "category" in kinds and "date" not in kinds


def read_frame(source: Any, options: TableOptions) -> pd.DataFrame:
    """Every column of a file or frame as it came, whole numbers as such.

    Raises:
        DataError: It is no sound table.
    """
    findings = Findings(source_name(source))
    try:
        frame = load_table(source, options.reading(), findings).frame
    except Unreadable:
        raise findings.error() from None
    whole = [name for name, column in frame.items() if column.dtype == float and (column % 1 == 0).all()]
    return frame.astype(dict.fromkeys(whole, "int64"))
