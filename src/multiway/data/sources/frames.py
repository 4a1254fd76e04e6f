"""Data in memory: frames of pandas and polars, arrays, and pairs of them; and what messages call a source."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.findings import quote
from multiway.errors import DataError

SOURCE = "source"
"""Attribute of a frame whose rows are of a file: its name."""


def source_name(source: Any) -> str:
    """What messages call the source: the file's name, escaped; data in memory may bring one."""
    if isinstance(source, str | Path):
        return quote(Path(source).name, 80)
    return str(getattr(source, "attrs", {}).get(SOURCE, "the table"))


def as_pandas(source: Any) -> pd.DataFrame:
    """A pandas or polars frame, a series, or an array of rows by columns, as a pandas frame."""
    if isinstance(source, pd.Series):
        return source.to_frame(str(source.name or "value"))
    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, np.ndarray) and source.ndim in (1, 2):
        columns = source.reshape(len(source), -1)
        return pd.DataFrame(columns, columns=[f"series {place}" for place in range(columns.shape[1])])
    import narwhals.stable.v2 as nw

    try:
        native = nw.from_native(source, eager_only=True, allow_series=True)
        frame: pd.DataFrame = (native.to_frame() if isinstance(native, nw.Series) else native).to_pandas()
    except TypeError:
        kind = type(source).__name__
        fix = "Call collect() first." if "Lazy" in kind else "Give a path, or a pandas or polars frame."
        raise DataError(f"the data: a table is needed. Got {kind}. {fix}") from None
    return frame


def pair_of(source: Any) -> tuple[Any, Any]:
    """Data in memory and what comes with them: targets, masks or texts; None where they come alone."""
    if not isinstance(source, tuple):
        return source, None
    if len(source) != 2:
        raise DataError(f"data in memory are one part or a pair such as (X, y). Got {len(source)} parts.")
    return source


def library_of(source: Any) -> str:
    """Name of the library that a frame or a series is of; a path or an array gives pandas."""
    if isinstance(source, pd.DataFrame | pd.Series | np.ndarray | str | Path):
        return "pandas"
    import narwhals.stable.v2 as nw

    return str(nw.get_native_namespace(nw.from_native(source, eager_only=True, allow_series=True)).__name__)


def as_library(frame: pd.DataFrame, library: str) -> Any:
    """A frame in polars where that is requested; else as it is."""
    if library != "polars":
        return frame
    import polars

    return polars.from_pandas(frame)
