"""From a file or frame to a table of raw columns, with every line accounted for."""

import dataclasses
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.findings import Finding, Findings, quoted
from multiway.errors import DataError

SEPARATORS = (",", ";", "\t", "|")
MAX_CELLS = 2_000_000_000
MAX_COLUMNS = 100_000


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Raw columns, and how to name a row to the user."""

    frame: pd.DataFrame
    first_line: int | None
    """Line of the first row in an editor; None for frames and Parquet, whose rows are counted from 0."""
    encoding: str | None = None
    separator: str | None = None

    def place(self, row: int, column: object = None, value: object = None) -> str:
        """Name a cell: row, column, value."""
        where = f"line {row + self.first_line}" if self.first_line is not None else f"row {row}"
        parts = [where]
        if column is not None:
            parts.append(f"column {quoted(column)}")
        if value is not None:
            parts.append(f"value '{quoted(value)}'")
        return ", ".join(parts)


def source_name(source: Any) -> str:
    """What messages call the source."""
    return Path(source).name if isinstance(source, str | Path) else "frame"


def load_table(source: Any, encoding: str | None, findings: Findings) -> Table:
    """Read CSV, CSV.gz, Parquet, pandas or polars; note flaws of the text itself."""
    if not isinstance(source, str | Path):
        return _from_frame(source, findings)
    path = Path(source)
    if not path.is_file():
        raise DataError(f"{path} is not a file. Give the path of a CSV, CSV.gz or Parquet file.")
    if path.suffix.lower() in {".parquet", ".pq"}:
        return _from_parquet(path, findings)
    return _from_text(_decode(_bytes_of(path, findings), encoding, findings), findings)


def _from_frame(frame: Any, findings: Findings) -> Table:
    if not isinstance(frame, pd.DataFrame):
        import narwhals.stable.v2 as nw

        try:
            frame = nw.from_native(frame, eager_only=True).to_pandas()
        except TypeError:
            raise DataError(f"data: give a path, or a pandas or polars frame. Got {type(frame).__name__}.") from None
    if isinstance(frame.index, pd.DatetimeIndex):
        frame = frame.rename_axis(frame.index.name or "time").reset_index()
    frame = frame.reset_index(drop=True).rename(columns=str)
    return _checked(Table(frame=frame, first_line=None), findings)


def _from_parquet(path: Path, findings: Findings) -> Table:
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        message = " ".join(str(error).split())[:120]
        raise findings.fatal("unreadable", f"it is not a whole Parquet file ({message})", "Write it again.") from None
    if isinstance(frame.index, pd.DatetimeIndex):
        frame = frame.rename_axis(frame.index.name or "time").reset_index()
    return _checked(Table(frame=frame.reset_index(drop=True).rename(columns=str), first_line=None), findings)


def _checked(table: Table, findings: Findings) -> Table:
    repeated = [str(name) for name in table.frame.columns[table.frame.columns.duplicated()]]
    if repeated:
        raise findings.fatal(
            "columns", "column names must differ", "Rename one of each pair.", tuple(map(quoted, repeated))
        )
    if not len(table.frame) or not len(table.frame.columns):
        raise findings.fatal("empty", "it holds no rows", "Give a file with a header and rows.")
    return table


def _bytes_of(path: Path, findings: Findings) -> bytes:
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError) as error:
            raise findings.fatal("unreadable", f"its gzip stream is broken ({error})", "Compress it again.") from None
    if not raw.strip():
        raise findings.fatal("empty", "it is empty", "Give a file with a header and rows.")
    if b"\x00" in raw and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        line = raw[: raw.index(b"\x00")].count(b"\n") + 1
        raise findings.fatal(
            "text", "it holds a NUL byte, so it is no text file", "Export it as CSV again.", (f"line {line}",)
        )
    return raw


def _decode(raw: bytes, encoding: str | None, findings: Findings) -> tuple[str, str]:
    if encoding is None and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        chosen = encoding or "utf-8-sig"
        return raw.decode(chosen), "utf-8" if chosen == "utf-8-sig" else chosen
    except LookupError:
        raise findings.fatal(
            "encoding", f"there is no encoding called {quoted(encoding)}", "Try utf-8 or cp1252."
        ) from None
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        if encoding is not None:
            raise findings.fatal(
                "encoding", f"it is not {encoding}", "Leave the encoding out, or name another.", (f"line {line}",)
            ) from None
    findings.add(
        Finding(
            kind="encoding", severity="note", rule="it is not UTF-8; read as Windows-1252", places=(f"line {line}",),
            mend="Name another encoding if names look wrong.",
        )
    )  # fmt: skip
    return raw.decode("cp1252", errors="replace"), "cp1252"


def _from_text(decoded: tuple[str, str], findings: Findings) -> Table:
    text, encoding = decoded
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n"
    lines = text.split("\n")[:-1]
    separator = max(SEPARATORS, key=lines[0].count)
    names = _header(lines[0], separator, findings)
    if len(lines) < 2:
        raise findings.fatal("empty", "it has a header and no rows", "Give a file with rows.")
    if '"' not in text:
        _check_fields(lines, separator, len(names), findings)
    try:
        frame = pd.read_csv(
            io.StringIO(text), sep=separator, header=None, skiprows=1, names=names, index_col=False,
            skip_blank_lines=False, low_memory=False,
        )  # fmt: skip
    except (pd.errors.ParserError, ValueError, OverflowError) as error:
        message = " ".join(str(error).split())[:120]
        raise findings.fatal("text", f"it is not a regular table ({message})", "Export it as CSV again.") from None
    return _checked(Table(frame=frame, first_line=2, encoding=encoding, separator=separator), findings)


def _header(line: str, separator: str, findings: Findings) -> list[str]:
    cells = pd.read_csv(io.StringIO(line + "\n"), sep=separator, header=None, dtype=str, keep_default_na=False)
    names = [str(name).strip() for name in cells.iloc[0]]
    if len(names) > MAX_COLUMNS:
        bytes_needed = len(names) * 8 * 1000
        raise findings.fatal(
            "columns", f"it has {len(names):,} columns, at most {MAX_COLUMNS:,} are read (each 1,000 rows would take "
            f"{bytes_needed / 1e9:.1f} GB)", "Use the long layout, or choose columns before.",
        )  # fmt: skip
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise findings.fatal(
            "columns", "column names must differ", "Rename one of each pair.", tuple(map(quoted, repeated))
        )
    return [name or f"unnamed {number}" for number, name in enumerate(names)]


def _check_fields(lines: list[str], separator: str, expected: int, findings: Findings) -> None:
    """Every line has as many fields as the header; pandas would pad or shift without a word."""
    counts = np.fromiter((line.count(separator) for line in lines), np.int64, len(lines)) + 1
    wrong = np.flatnonzero(counts != expected)
    if expected == 1:
        raise findings.fatal(
            "separator", "its header is one column", f"Separate columns by one of {' '.join(map(repr, SEPARATORS))}.",
            (f"line 1, value '{quoted(lines[0])}'",),
        )  # fmt: skip
    if len(wrong):
        places = tuple(f"line {row + 1}, {counts[row]} fields" for row in wrong[:20])
        hint = " A decimal comma needs ';' between columns." if separator == "," and counts[wrong[0]] > expected else ""
        raise findings.fatal(
            "fields", f"{len(wrong)} of {len(lines) - 1} rows do not have the header's {expected} fields",
            f"Mend these rows.{hint}", places,
        )  # fmt: skip
