"""Tables of a run: read once their heads say that they are what was written."""

from pathlib import Path

import pandas as pd

from multiway.errors import RunError

MAX_CELLS = 50_000_000
"""Of one table of a run: far more than any run keeps, far fewer than fill a memory."""


def columns_of(table: pd.DataFrame) -> dict[str, str]:
    """Types of the columns of a table, in their order."""
    return {str(name): str(kind) for name, kind in table.dtypes.items()}


def read_table(path: Path, columns: dict[str, str] | None) -> pd.DataFrame:
    """Read a table of a run, once its head says that it is one.

    Raises:
        RunError: It is damaged, has other columns than were written, or is too large.
    """
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        head = read_metadata(path)
        if head.num_rows * head.num_columns > MAX_CELLS:
            raise ValueError(f"{head.num_rows:,} rows are more than a run keeps")
        table = pd.read_parquet(path)
        if columns_of(table) != columns:
            raise ValueError(f"its columns are {columns_of(table)} and were {columns}")
    except (ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise RunError(f"{path} cannot be used: {' '.join(str(error).split())[:200]}. Train the run again.") from None
    return table
