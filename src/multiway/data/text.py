"""From the bytes of a text file to its header and its rows, still as text."""

import csv
import dataclasses
import io
import itertools
from pathlib import Path

import psutil

from multiway.data.findings import Findings, Place, quoted
from multiway.data.formulas import restored
from multiway.data.unpacking import unpacked

SEPARATORS = (",", ";", "\t", "|")
MAX_COLUMNS = 100_000
EXPORT = "Export it as CSV again."
BELOW = "below the text"
OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """Decoded text: its header's names, and the text below the header.

    first: 1-based line on which the text below the header begins.
    """

    names: list[str]
    body: str
    separator: str
    first: int


def split_text(raw: bytes, encoding: str | None, limit: int, findings: Findings) -> Lines:
    """Undo compression and encoding, find header and separator; refuse what cannot be a table or cannot fit."""
    lines = _lines(decoded(raw, encoding, limit, findings), findings)
    check_memory(lines.body.count("\n") + 1, len(lines.names), len(lines.body), findings)
    return lines


def decoded(raw: bytes, encoding: str | None, limit: int, findings: Findings) -> str:
    """Undo compression and encoding; refuse what is no text."""
    return characters(_text_only(unpacked(raw, limit, free_memory() // 3, findings), findings), encoding, findings)


def bytes_of(path: Path, findings: Findings) -> bytes:
    """Read a file whole, if memory holds it beside what is made of it."""
    try:
        size, limit = path.stat().st_size, free_memory() // 3
        if size > limit:
            rule = (
                f"its {size / 1e9:.2g} GB of text need three times that memory, and {limit * 3 / 1e9:.2g} GB are free"
            )
            raise findings.fatal("memory", rule, "Write it as Parquet, or keep fewer rows.")
        return path.read_bytes()
    except OSError as error:
        raise findings.fatal(
            "unreadable", f"it cannot be opened ({error.strerror})", "Check its permissions."
        ) from None


def _text_only(raw: bytes, findings: Findings) -> bytes:
    """The bytes themselves, unless they are no text at all."""
    if not raw.strip():
        raise findings.fatal("empty", "the file is empty", "Give a file with a header and rows.")
    if raw.startswith(OLD_EXCEL):
        raise findings.fatal("text", "it is an Excel file of the old form (.xls)", "Save it as .xlsx or CSV.")
    if b"\x00" in raw and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        at = raw.index(b"\x00")
        line, start = raw.count(b"\n", 0, at) + 1, raw.rfind(b"\n", 0, at) + 1
        detail = f"character {at - start + 1}"
        raise findings.fatal(
            "text", "it holds a NUL byte, so it is no sound text file", EXPORT, [Place(row=line, detail=detail)]
        )
    return raw


def characters(raw: bytes, encoding: str | None, findings: Findings) -> str:
    """Text of some bytes with line ends as one sign; a wrong encoding and lost characters are noted."""
    if encoding is None and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    findings.encoding = encoding or "utf-8"
    try:
        text = raw.decode(encoding or "utf-8-sig")
    except LookupError:
        raise findings.fatal(
            "encoding",
            f"no encoding is called '{quoted(encoding)}'",
            "Set encoding to utf-8 or cp1252 (--set read.encoding=utf-8).",
        ) from None
    except UnicodeError as error:
        place = _place_of_byte(raw, error)
        if encoding is not None:
            rule = f"it is not text in {quoted(encoding)}"
            fix = "Set encoding to another, or leave it out (--set read.encoding=null)."
            raise findings.fatal("encoding", rule, fix, [place]) from None
        findings.encoding = "cp1252"
        fix = "Set encoding if names look wrong (--set read.encoding=NAME)."
        findings.add("encoding", "warning", "it is not UTF-8; read as Windows-1252", fix, [place])
        text = raw.decode("cp1252", errors="replace")
    _note_lost(text, findings)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _place_of_byte(raw: bytes, error: UnicodeError) -> Place:
    at = error.start if isinstance(error, UnicodeDecodeError) else 0
    return Place(row=raw.count(b"\n", 0, at) + 1, detail=f"byte 0x{raw[at]:02x}")


def _note_lost(text: str, findings: Findings) -> None:
    """U+FFFD is what a program writes that could not decode: the letters are gone from the file itself."""
    count = text.count("�")
    if count:
        row = text.count("\n", 0, text.index("�")) + 1
        rule = f"{count} characters were lost to a wrong encoding before the file was written (U+FFFD)"
        fix = "Numbers are not touched; write the names anew if they matter."
        findings.add("encoding", "warning", rule, fix, [Place(row=row)], count=count)


def _lines(text: str, findings: Findings) -> Lines:
    """Find header and separator; a file of numbers alone has no header."""
    blank = len(text) - len(text.lstrip("\n"))
    header, _, rest = text[blank:].partition("\n")
    separator = _separator(header, rest)
    if header.count(separator) >= MAX_COLUMNS:
        raise _too_wide(header.count(separator) + 1, text.count("\n"), findings)
    refuse_open_quote(
        header, separator, blank + 1, findings, "a quotation mark in the header is not closed on its line"
    )
    names = next(csv.reader([header], delimiter=separator), [])
    if all(map(_is_number, names)) and not _is_count(names):
        findings.add("header", "note", "the first line holds numbers, so columns are named 0, 1, 2, …")
        return Lines(names=[str(i) for i in range(len(names))], body=text[blank:], separator=separator, first=blank + 1)
    if not rest.strip():
        raise findings.fatal("empty", "it has a header and no rows", "Give a file with rows.")
    names = [restored(name.strip()) for name in names]
    _check_names(names, findings)
    if len(names) == 1 and not _is_number(rest.lstrip("\n").partition("\n")[0] or "0"):
        shown = " ".join("tab" if mark == "\t" else mark for mark in SEPARATORS)
        place = Place(row=blank + 1, value=header)
        raise findings.fatal(
            "separator", "no column separator was found", f"Separate columns by one of {shown}", [place]
        )
    return Lines(names=names, body=rest, separator=separator, first=blank + 2)


def refuse_open_quote(
    text: str, separator: str, first: int, findings: Findings, rule: str = "a quotation mark is never closed"
) -> None:
    """Name the line whose quotation mark swallows all that follows; a record put below the text shows whether it does.

    Without this, the lines that it swallowed would be reported as fields too few.
    """
    if '"' not in text:
        return
    reader = csv.reader(itertools.chain(io.StringIO(text.rstrip("\n") + "\n"), [BELOW]), delimiter=separator)
    start, end, last = 0, 0, list[str]()
    try:
        for record in reader:
            start, end, last = end, reader.line_num, record
        if last == [BELOW]:
            return
    except csv.Error:
        start = end
        rule = f"a field has more than {csv.field_size_limit():,} characters, as where a quotation mark is not closed"
    place = Place(row=first + start, value=text.split("\n")[start])
    raise findings.fatal("fields", rule, "Close it, or remove it.", [place])


def _separator(header: str, rest: str) -> str:
    """The mark that is in the header most often, and in the first row as often."""
    row = rest.partition("\n")[0]
    return max(SEPARATORS, key=lambda mark: (header.count(mark) == row.count(mark) > 0, header.count(mark)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_count(names: list[str]) -> bool:
    """Whether names are 0, 1, 2, …, as a program writes them that had none."""
    return len(names) > 1 and names == [str(position) for position in range(len(names))]


def _check_names(names: list[str], findings: Findings) -> None:
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if name and name in seen:
            detail = f"columns {seen[name] + 1} and {position + 1}"
            raise findings.fatal(
                "columns",
                "two columns have one name",
                "Rename one of them.",
                [Place(row=1, column=name, detail=detail)],
            )
        seen[name] = position


def _too_wide(columns: int, rows: int, findings: Findings) -> Exception:
    gigabytes = columns * max(rows, 1) * 8 / 1e9
    rule = f"it has {columns:,} columns and would take {gigabytes:.2g} GB; at most {MAX_COLUMNS:,} columns are read"
    return findings.fatal("columns", rule, "Split it, or keep fewer series.")


def check_columns(count: int, findings: Findings) -> None:
    """Refuse more columns than any table has."""
    if count > MAX_COLUMNS:
        rule = f"it has {count:,} columns; at most {MAX_COLUMNS:,} are read ({count * 8e-6:.3g} MB for every row)"
        raise findings.fatal("columns", rule, "Split it, or keep fewer series.")


def check_memory(rows: int, columns: int, held: int, findings: Findings) -> None:
    """Refuse what cannot fit: numbers in float64, twice for working on them, on top of what is held already."""
    needed, free = rows * columns * 16 + held, free_memory()
    if needed > free:
        size = f"{rows:,} rows x {columns:,} columns"
        rule = f"{size} would take {needed / 1e9:.2g} GB and {free / 1e9:.2g} GB are free"
        raise findings.fatal("memory", rule, "Keep fewer rows or series.")


def free_memory() -> int:
    """Bytes that can be used without swapping."""
    return int(psutil.virtual_memory().available)
