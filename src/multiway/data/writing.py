"""Tables to files: CSV, packed CSV, Excel and Parquet, each whole or not at all."""

import contextlib
import csv
import gzip
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

import pandas as pd

from multiway import files
from multiway.data.sources.cells import escape_frame
from multiway.data.sources.excel import workbook_of
from multiway.errors import ConfigError, RunError

_RAW = ContextVar("raw", default=False)
ENDINGS = (".csv", ".csv.gz", ".parquet", ".xlsx")


@contextlib.contextmanager
def leaving_raw(raw: bool = True) -> Iterator[None]:
    """Inside, whatever writes a table leaves text as it is, though a spreadsheet may run it as a formula."""
    token = _RAW.set(raw)
    try:
        yield
    finally:
        _RAW.reset(token)


def write_table(frame: pd.DataFrame, path: Path, *, raw: bool | None = None) -> None:
    """Write a table in the form that the ending says.

    Args:
        frame: Columns; the index is left out.
        path: See `check_target`.
        raw: Leave text that a spreadsheet would run as a formula as it is, in CSV and Excel; where it is not said, as
            inside `leaving_raw`.

    Raises:
        ConfigError: The ending is none of `ENDINGS`.
        RunError: The folder does not exist, or the disk is full.
        DataError: Excel cannot hold the table.
    """
    check_target(path)
    raw = _RAW.get() if raw is None else raw
    if path.suffix == ".parquet":
        files.write_with(path, lambda temporary: frame.to_parquet(temporary, index=False))
    elif path.suffix == ".xlsx":
        files.write_bytes(path, workbook_of(frame if raw else escape_frame(frame), path.name))
    else:
        text = csv_text(frame, raw=raw).encode()
        files.write_bytes(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def check_target(path: Path | None) -> None:
    """Whether `write_table` can write there; call it before long work."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise RunError(f"{path} could not be written: there is no folder {path.parent}. Make it first.")
    if not path.name.endswith(ENDINGS):
        raise ConfigError(f"{path} must end in .csv, .csv.gz, .parquet or .xlsx.")


def csv_text(frame: pd.DataFrame, *, raw: bool = False) -> str:
    """A table as CSV, a row on each line; pandas leaves a carriage return in a cell unquoted, so that is seen to."""
    safe = frame if raw else escape_frame(frame)
    text: str = safe.to_csv(index=False)
    return safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC) if "\r" in text else text
