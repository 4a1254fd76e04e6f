"""Excel workbooks: a sheet as a table of raw columns, and a table as a sheet."""

import io
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.findings import Findings, Place, list_some, quote
from multiway.data.options import FileOptions
from multiway.data.sources.bytes import MAX_BYTES, SMALL_SHEETS, ZIP, check_columns, too_large, unfolded
from multiway.data.sources.cells import unescape
from multiway.data.sources.columns import RawTable
from multiway.data.sources.titles import LOOK, is_data, rows_above, words_on_titles
from multiway.errors import DataError, Fix, in_a_line
from multiway.lazy import load_extra

BROKEN = (
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What openpyxl raises where the parts of a workbook are not as written; ParseError is a SyntaxError."""
MOST_ROWS = 2**20
"""Of a sheet of Excel; a file may name rows beyond them."""
CELL = 8
"""Bytes that a cell takes at least."""
MOST_CHARACTERS = 32_767
"""Of a cell of Excel."""
WIDEST = 6
"""Bytes of a character as XML writes it."""
Row = tuple[Any, ...]


def is_workbook(raw: bytes) -> bool:
    """Whether bytes are a ZIP archive with the parts of an Excel file."""
    return any(part.filename.startswith("xl/") for part in _parts(raw))


def _parts(raw: bytes) -> list[zipfile.ZipInfo]:
    try:
        return zipfile.ZipFile(io.BytesIO(raw)).infolist() if raw.startswith(ZIP) else []
    except (OSError, ValueError, zipfile.BadZipFile):
        return []


def read_workbook(raw: bytes, options: FileOptions, findings: Findings) -> RawTable:
    """Read a sheet: its first row are the names, and rows are called as Excel calls them."""
    needed, most = _room(raw, options.max_bytes)
    if needed > most:
        raise too_large(f"it unpacks to {needed:,} bytes, and it may to {most:,}", needed + 1, findings)
    _check_characters(raw, findings)
    cells = _cells(raw, options, findings)
    top = above(cells)
    if top:
        findings.add("header", "note", words_on_titles(1, top, "row"))
    header, *rows = cells[top:] or [()]
    some = [[*_words(row), *[""] * (len(header) - len(row))] for row in rows[:LOOK] if row]
    if some and (options.no_header or (options.no_header is None and is_data(_words(header), some))):
        header, rows, top = tuple(range(len(header))), cells[top:], top - 1
        said = "the first row is data like those below it, so columns are named 0, 1, 2, …"
        fix = ("If it is a header, say so (", Fix("read.no_header", False), ").")
        findings.add("header", "note", said, fix if options.no_header is None else "")
    kept = [row for row, cells in enumerate(rows) if cells]
    if not kept or not header:
        raise findings.fatal(
            "empty",
            "its sheet holds no table",
            ("Put names into row 1 and rows below, or name another sheet (", Fix("read.sheet", like="NAME"), ")."),
        )
    check_columns(len(header), findings)
    if (needed := len(header) * len(kept) * CELL) > options.max_bytes:
        raise too_large(
            f"its cells take {needed:,} bytes, and a table may take {options.max_bytes:,}", needed, findings
        )
    broken = np.array([len(rows[row]) > len(header) for row in kept])
    if broken.any():
        wide = [Place(row=row + top + 2, unit="row") for row, is_wide in zip(kept, broken, strict=True) if is_wide]
        rule = f"{len(wide)} rows have cells beyond the {len(header)} columns that row {top + 1} names"
        findings.add("fields", "error", rule, "Name these columns, or empty the cells.", wide)
    columns = {
        place: _column([rows[row][place] if place < len(rows[row]) else None for row in kept])
        for place in range(len(header))
    }
    frame = pd.DataFrame(columns).set_axis(_name_columns(header, findings), axis=1)
    return RawTable(frame=frame, rows=np.array(kept) + top + 2, unit="row", broken=broken)


def _room(raw: bytes, limit: int) -> tuple[int, int]:
    """Bytes that the parts of a workbook unpack to, and as many as they may."""
    return sum(part.file_size for part in _parts(raw)), unfolded(limit, len(raw), SMALL_SHEETS)


def _words(row: Row) -> list[str]:
    return ["" if cell is None else str(cell) for cell in row]


def _check_characters(raw: bytes, findings: Findings) -> None:
    """Refuse a text between two marks of XML that no cell can hold: parsing it takes ten times its size."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        for part in _parts(raw):
            if not part.filename.startswith("xl/"):
                continue
            longest = current = 0
            try:
                with archive.open(part) as stream:
                    while longest <= MOST_CHARACTERS * WIDEST and (chunk := stream.read(2**20)):
                        first, *others = chunk.split(b"<")
                        longest = max(longest, current + len(first), *map(len, others))
                        current = len(others[-1]) if others else current + len(first)
            except BROKEN:  # the parser says what is wrong with it
                continue
            if longest > MOST_CHARACTERS * WIDEST:
                rule = f"a cell holds more than {MOST_CHARACTERS:,} characters, which Excel cannot"
                raise findings.fatal("size", rule, "Shorten its text, or write a CSV or Parquet file.")


def above(cells: Sequence[Row]) -> int:
    """How many rows of a sheet stand above its header; rows end where their cells do."""
    some = cells[:LOOK]
    width = max(map(len, some), default=0)
    return rows_above([(*row, *[None] * (width - len(row))) if row else () for row in some])


def names_of_sheet(raw: bytes) -> list[str]:
    """The header of the first sheet, as far as it can be read; none of a workbook that unpacks to too much."""
    needed, most = _room(raw, MAX_BYTES)
    if needed > most:
        return []
    openpyxl = load_extra("openpyxl", "Reading Excel", "excel")
    try:
        rows = [_trim(row) for row in _sheet(openpyxl, raw).iter_rows(max_row=LOOK, values_only=True)]
        header = rows[above(rows)] if rows else ()
        return [unescape(str(name).strip()) for name in header if name is not None]
    except BROKEN:
        return []


def _sheet(openpyxl: Any, raw: bytes, name: str | None = None) -> Any:
    """The named sheet, or the first; what a file says of its own size need not be so.

    A name that no sheet has raises `NoSheet`.
    """
    sheets = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True).worksheets
    sheet = sheets[0] if name is None else next((each for each in sheets if each.title == name), None)
    if sheet is None:
        raise NoSheet([each.title for each in sheets])
    sheet.reset_dimensions()
    return sheet


class NoSheet(Exception):
    """No sheet has the name that is wanted; its argument are the names that there are."""


def _cells(raw: bytes, options: FileOptions, findings: Findings) -> list[Row]:
    """Values of a sheet row by row, without the empty cells that end a row."""
    openpyxl = load_extra("openpyxl", "Reading Excel", "excel")
    rows: list[Row] = []
    count, limit = 0, options.max_bytes
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what openpyxl does not keep: styles, validations
            sheet = _sheet(openpyxl, raw, options.sheet)
            for row in sheet.iter_rows(max_row=MOST_ROWS, values_only=True):
                rows.append(_trim(row))
                count += sum(CELL + len(cell) if isinstance(cell, str) else CELL for cell in rows[-1])
                if count > limit:
                    raise too_large(f"its cells take more than {limit:,} bytes", 4 * limit, findings)
    except NoSheet as error:
        there, rule = list_some(*error.args), f"no sheet is called '{quote(options.sheet)}'"
        raise findings.fatal(
            "sheets", rule, ("Name one of ", there, " (", Fix("read.sheet", like="NAME"), ").")
        ) from None
    except BROKEN as error:
        reason = quote(in_a_line(error), 80)
        raise findings.fatal("unreadable", f"it is no whole Excel file ({reason})", "Save it again.") from None
    others = [each.title for each in sheet.parent.worksheets if each.title != sheet.title]
    if others and options.sheet is None:
        fix = (f"Others are {list_some(others)} (", Fix("read.sheet", like="NAME"), ").")
        findings.add("sheets", "note", f"sheet '{quote(sheet.title)}' is read, the first of {len(others) + 1}", fix)
    return rows


def _trim(row: Row) -> Row:
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    return row[:end]


def _name_columns(names: Row, findings: Findings) -> list[str]:
    found = [
        f"unnamed {position}" if name is None else unescape(str(name).strip()) for position, name in enumerate(names)
    ]
    twice = next((name for name in found if found.count(name) > 1), None) if len(set(found)) < len(found) else None
    if twice is not None:
        raise findings.fatal("columns", "two columns have one name", "Rename one of them.", [Place(column=twice)])
    return found


def _column(cells: list[Any]) -> pd.Series:
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
    """A workbook with one sheet; times with a zone are text, as Excel has none."""
    openpyxl = load_extra("openpyxl", "Writing Excel", "excel")
    zoned = [name for name, dtype in frame.dtypes.items() if isinstance(dtype, pd.DatetimeTZDtype)]
    content = io.BytesIO()
    try:
        frame.astype(dict.fromkeys(zoned, str)).to_excel(content, index=False, engine="openpyxl")
    except (ValueError, openpyxl.utils.exceptions.IllegalCharacterError) as error:
        reason = quote(in_a_line(error), 120)
        raise DataError(f"{where}: a sheet of Excel cannot hold it ({reason}). Write .csv or .parquet.") from None
    return content.getvalue()
