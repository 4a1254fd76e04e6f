"""Excel workbooks: the first sheet as a table of raw columns, and a table as a sheet."""

import io
import zipfile
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.findings import Findings, Place, quoted
from multiway.data.formulas import restored
from multiway.data.options import ReadOptions
from multiway.data.raw import Table
from multiway.data.text import check_columns
from multiway.data.unpacking import ZIP, too_large
from multiway.errors import DataError
from multiway.extras import load_extra

BROKEN = (OSError, EOFError, RuntimeError, ValueError, LookupError, TypeError, AttributeError, SyntaxError,
          zipfile.BadZipFile)  # fmt: skip
"""What openpyxl raises where the parts of a workbook are not as written; ParseError is a SyntaxError."""


def is_workbook(raw: bytes) -> bool:
    """Whether bytes are a ZIP archive with the parts of an Excel file."""
    return any(part.filename.startswith("xl/") for part in _parts(raw))


def _parts(raw: bytes) -> list[zipfile.ZipInfo]:
    try:
        return zipfile.ZipFile(io.BytesIO(raw)).infolist() if raw.startswith(ZIP) else []
    except (OSError, ValueError, zipfile.BadZipFile):
        return []


def read_workbook(raw: bytes, options: ReadOptions, findings: Findings) -> Table:
    """Read the first sheet: its first row are the names, and rows are called as Excel calls them.

    Raises:
        Unreadable: It unfolds to more than the limit, is broken, or holds no table; it is noted.
        ConfigError: openpyxl is not installed.
    """
    needed = sum(part.file_size for part in _parts(raw))
    if needed > options.max_bytes:
        raise too_large(f"it unpacks to {needed:,} bytes, and a table may take {options.max_bytes:,}", needed, findings)
    names, *rows = _cells(raw, findings) or [[]]
    kept = [row for row, cells in enumerate(rows) if any(cell is not None for cell in cells)]
    if not kept or not any(name is not None for name in names):
        raise findings.fatal("empty", "its first sheet holds no table", "Put names into row 1, and rows below.")
    check_columns(len(names), findings)
    columns = {
        position: _column([rows[row][position] for row in kept], name) for position, name in enumerate(names)
    }  # fmt: skip
    frame = pd.DataFrame(columns).set_axis(_named(names, findings), axis=1)
    return Table(frame=frame, rows=np.array(kept) + 2, unit="row", broken=np.zeros(len(kept), dtype=bool))


def names_of_sheet(raw: bytes) -> list[str]:
    """The first row of the first sheet, as far as it can be read."""
    openpyxl = load_extra("openpyxl", "Reading Excel", "excel")
    try:
        rows = _sheet(openpyxl, raw).iter_rows(max_row=1, values_only=True)
        return [restored(str(name).strip()) for row in rows for name in row if name is not None]
    except BROKEN:
        return []


def _sheet(openpyxl: Any, raw: bytes) -> Any:
    """The first sheet; what a file says of its own size need not be so."""
    sheet = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True).worksheets[0]
    sheet.reset_dimensions()
    return sheet


def _cells(raw: bytes, findings: Findings) -> list[list[Any]]:
    """Values of all cells of the first sheet, each row as wide as the widest."""
    openpyxl = load_extra("openpyxl", "Reading Excel", "excel")
    try:
        sheet = _sheet(openpyxl, raw)
        rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    except BROKEN as error:
        reason = quoted(" ".join(str(error).split()), 80)
        raise findings.fatal("unreadable", f"it is no whole Excel file ({reason})", "Save it again.") from None
    count = len(sheet.parent.worksheets)
    if count > 1:
        findings.add("sheets", "note", f"sheet '{quoted(sheet.title)}' is read, the first of {count}")
    width = max(map(len, rows), default=0)
    return [row + [None] * (width - len(row)) for row in rows]


def _named(names: list[Any], findings: Findings) -> list[str]:
    found = [
        f"unnamed {position}" if name is None else restored(str(name).strip()) for position, name in enumerate(names)
    ]
    twice = next((name for name in found if found.count(name) > 1), None) if len(set(found)) < len(found) else None
    if twice is not None:
        raise findings.fatal("columns", "two columns have one name", "Rename one of them.", [Place(column=twice)])
    return found


def _column(cells: list[Any], name: Any) -> pd.Series:
    """Numbers, times or truth values where all cells are; else text, empty where nothing stands."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        return pd.Series([np.nan if cell is None else float(cell) for cell in cells], dtype="float64")
    if kinds == {bool} and None not in cells:
        return pd.Series(cells, dtype=bool)
    if all(hasattr(kind, "year") for kind in kinds):
        return pd.to_datetime(pd.Series(cells))
    return pd.Series(["" if cell is None else str(cell) for cell in cells], dtype=object)


def workbook_of(frame: pd.DataFrame, where: str) -> bytes:
    """A workbook with one sheet; times with a zone are text, as Excel has none.

    Raises:
        DataError: A sheet cannot hold it.
        ConfigError: openpyxl is not installed.
    """
    openpyxl = load_extra("openpyxl", "Writing Excel", "excel")
    zoned = [name for name, dtype in frame.dtypes.items() if isinstance(dtype, pd.DatetimeTZDtype)]
    content = io.BytesIO()
    try:
        frame.astype(dict.fromkeys(zoned, str)).to_excel(content, index=False, engine="openpyxl")
    except (ValueError, openpyxl.utils.exceptions.IllegalCharacterError) as error:
        reason = quoted(" ".join(str(error).split()), 120)
        raise DataError(f"{where}: a sheet of Excel cannot hold it ({reason}). Write .csv or .parquet.") from None
    return content.getvalue()
