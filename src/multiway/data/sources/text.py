"""From the bytes of a text file to columns of text, every irregular row named."""

import csv
import dataclasses
import io
import itertools
import re
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, quote
from multiway.data.options import FileOptions
from multiway.data.sources.bytes import MAX_COLUMNS, check_memory, unpack_bytes
from multiway.data.sources.cells import QUOTE, unescape
from multiway.data.sources.titles import LOOK, lines_above, words_on_titles
from multiway.errors import Fix

SEPARATORS = (",", ";", "\t", "|")
VISIBLE = re.compile(rb"[!-~]")
HEAD, BLOCK, WHOLE = 1 << 20, 1 << 22, 1 << 30
"""Bytes that show where the header is, those that are parsed at once, and as many where a row is longer."""
EXPORT = "Export it as CSV again."
BELOW = "below the text"
OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """Text in UTF-8 with line ends as one sign: its header's names, and where its rows stand.

    start, stop: Bytes between which the rows are; blank lines at the end are none.
    first: 1-based line on which the rows begin.
    """

    names: list[str]
    text: bytes
    start: int
    stop: int
    separator: str
    first: int

    @classmethod
    def of(cls, names: list[str], text: bytes, start: int, separator: str, first: int) -> Self:
        """All that stands from one byte on."""
        one = text.endswith(b"\n") and not text.endswith(b"\n\n")  # as nearly always, and then without a copy
        stop = max(len(text) - 1 if one else len(text.rstrip(b"\n")), start)
        return cls(names=names, text=text, start=start, stop=stop, separator=separator, first=first)

    def count(self, mark: bytes) -> int:
        """How often a mark stands in the rows."""
        return self.text.count(mark, self.start, self.stop)

    @property
    def rows(self) -> str:
        """The rows as text."""
        return self.text[self.start : self.stop].decode()

    @property
    def source(self) -> pa.BufferReader:
        """The rows as a file, which is no copy of them."""
        size = min(self.stop + 1, len(self.text)) - self.start  # with the end of the last line
        return pa.BufferReader(pa.py_buffer(self.text).slice(self.start, size))


def _utf8_of(raw: bytes, encoding: str | None, findings: Findings) -> bytes:
    """The characters of some bytes in UTF-8, which those of ASCII are already."""
    if encoding is None and raw.isascii() and b"\r" not in raw:
        findings.encoding = "utf-8"
        return raw
    return characters(raw, encoding, findings).encode(errors="replace")


def decode_text(raw: bytes, encoding: str | None, limit: int, findings: Findings) -> str:
    """Undo compression and encoding; refuse what is no text."""
    return characters(_text_only(unpack_bytes(raw, limit, findings), findings), encoding, findings)


def _text_only(raw: bytes, findings: Findings) -> bytes:
    """The bytes themselves, unless they are no text at all."""
    if not (VISIBLE.search(raw) or raw.strip()):
        raise findings.fatal("empty", "the file is empty", "Give a file with a header and rows.")
    if raw.startswith(OLD_EXCEL):
        raise findings.fatal("text", "it is an Excel file of the old form (.xls)", "Save it as .xlsx or CSV.")
    check_nul(raw, findings, fix=EXPORT)
    return raw


def check_nul(raw: bytes, findings: Findings, called: str = "it", *, fix: str = "Export it as text.") -> None:
    """Refuse bytes with a NUL among them, but for those of UTF-16."""
    at = raw.find(b"\x00")
    if at >= 0 and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        line, start = raw.count(b"\n", 0, at) + 1, raw.rfind(b"\n", 0, at) + 1
        place = Place(row=line, detail=f"character {at - start + 1}")
        raise findings.fatal("text", f"{called} holds a NUL byte, so it is no sound text file", fix, [place])


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
            f"no encoding is called '{quote(encoding)}'",
            ("Set encoding to utf-8 or cp1252 (", Fix("read.encoding", "utf-8"), ")."),
        ) from None
    except UnicodeError as error:
        place = _place_of_byte(raw, error)
        if encoding is not None:
            rule = f"it is not text in {quote(encoding)}"
            fix = ("Set encoding to another, or leave it out (", Fix("read.encoding"), ").")
            raise findings.fatal("encoding", rule, fix, [place]) from None
        findings.encoding = "cp1252"
        wrong = ("Set encoding if names look wrong (", Fix("read.encoding", like="NAME"), ").")
        findings.add("encoding", "warning", "it is not UTF-8; read as Windows-1252", wrong, [place])
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


def _lines(text: bytes, findings: Findings) -> Lines:
    """Find header and separator; a file of numbers alone has no header."""
    top, number = _top(text, findings)
    header, below = _line(text, top)
    separator = _separator(header, _line(text, below)[0])
    if header.count(separator) >= MAX_COLUMNS:
        raise _too_wide(header.count(separator) + 1, text.count(b"\n", top), findings)
    refuse_open_quote(header, separator, number, findings, "a quotation mark in the header is not closed on its line")
    names = next(csv.reader([header], delimiter=separator), [])
    if all(map(_is_number, names)) and not _is_count(names):
        findings.add("header", "note", "the first line holds numbers, so columns are named 0, 1, 2, …")
        return Lines.of([str(i) for i in range(len(names))], text, top, separator, number)
    if not (VISIBLE.search(text, below) or text[below:].decode().strip()):
        raise findings.fatal("empty", "it has a header and no rows", "Give a file with rows.")
    names = [unescape(name.strip()) if QUOTE in name else name.strip() for name in names]
    _check_names(names, findings)
    if len(names) == 1 and not _is_number(_line(text[below:].lstrip(b"\n"), 0)[0]):
        shown = " ".join("tab" if mark == "\t" else mark for mark in SEPARATORS)
        place = Place(row=number, value=header)
        raise findings.fatal(
            "separator", "no column separator was found", f"Separate columns by one of {shown}", [place]
        )
    return Lines.of(names, text, below, separator, number + 1)


def _top(text: bytes, findings: Findings) -> tuple[int, int]:
    """Where the header begins, behind blank lines and titles, and its 1-based line."""
    blank = len(text) - len(text.lstrip(b"\n"))
    lines = text[blank : blank + HEAD].split(b"\n", LOOK)[:LOOK]
    whole = lines if len(lines) == LOOK or len(text) <= blank + HEAD else lines[:-1]
    above = lines_above([line.decode() for line in whole], SEPARATORS)
    if above:
        findings.add("header", "note", words_on_titles(blank + 1, blank + above, "line"))
    return blank + sum(len(line) + 1 for line in lines[:above]), blank + above + 1


def _line(text: bytes, start: int) -> tuple[str, int]:
    """The line that begins at some byte, and where the next one does."""
    end = text.find(b"\n", start)
    stop = len(text) if end < 0 else end
    return text[start:stop].decode(), min(stop + 1, len(text))


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


def _separator(header: str, row: str) -> str:
    """The mark that is in the header most often, and in the first row as often."""
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


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TextColumns:
    """Columns of a text file as they stand there, by name.

    rows: 1-based line of each row.
    broken: Rows already reported as irregular, whose cells say nothing.
    """

    columns: dict[str, pa.ChunkedArray]
    rows: NDArray[np.int64]
    broken: NDArray[np.bool_]
    separator: str


def read_text(raw: bytes, options: FileOptions, findings: Findings) -> TextColumns:
    """Cut CSV bytes into columns of text; lines of another number of fields are findings."""
    lines = _lines(_utf8_of(_text_only(raw, findings), options.encoding, findings), findings)
    check_memory(lines.count(b"\n") + 1, len(lines.names), lines.stop - lines.start, findings)
    rows, broken = None, None
    try:
        if len(lines.names) > 1 and (lines.count(b"\n\n") or lines.text.startswith(b"\n", lines.start)):
            raise _NotPlain  # blank lines: rows and lines no longer run in step
        marks = lines.count(b'"')
        if marks % 2:
            raise _NotPlain  # a quotation mark without a partner
        columns = _read_columns(lines)
        if marks and lines.count(b"\n") + 1 != len(columns):
            raise _NotPlain  # quoted line breaks: the same
    except (pa.ArrowInvalid, _NotPlain):
        regular, rows, broken = _regular(lines, findings)
        columns = _read_columns(regular)
    return TextColumns(
        columns=dict(zip(_name_columns(lines.names), columns.columns, strict=True)),
        rows=np.arange(lines.first, lines.first + len(columns)) if rows is None else rows,
        broken=np.zeros(len(columns), dtype=bool) if broken is None else broken,
        separator=lines.separator,
    )


class _NotPlain(Exception):
    """The text needs the reader that counts fields."""


def _read_columns(lines: Lines) -> pa.Table:
    try:
        return _read_blocks(BLOCK, lines)
    except pa.ArrowInvalid as error:
        if "straddling" not in str(error):
            raise
    return _read_blocks(WHOLE, lines)


def _read_blocks(size: int, lines: Lines) -> pa.Table:
    keys = [f"f{position}" for position in range(len(lines.names))]
    table = pyarrow.csv.read_csv(
        lines.source,
        read_options=pyarrow.csv.ReadOptions(column_names=keys, block_size=size),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=lines.separator, newlines_in_values=bool(lines.count(b'"')), ignore_empty_lines=False
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(keys, pa.string()), strings_can_be_null=False
        ),
    )
    pa.default_memory_pool().release_unused()  # its threads keep what their blocks took
    return table


def _name_columns(names: list[str]) -> list[str]:
    return [name or f"unnamed {position}" for position, name in enumerate(names)]


def _regular(lines: Lines, findings: Findings) -> tuple[Lines, NDArray[np.int64], NDArray[np.bool_]]:
    """Read record by record; name those whose number of fields is wrong, and cut or pad them to go on."""
    refuse_open_quote(lines.rows, lines.separator, lines.first, findings)
    width, last = len(lines.names), lines.first
    kept: list[list[str]] = []
    rows: list[int] = []
    broken: list[bool] = []
    wrong: list[Place] = []
    reader = csv.reader(io.StringIO(lines.rows), delimiter=lines.separator)
    for record in _records(reader, findings):
        if record:
            broken.append(len(record) != width)
            if broken[-1]:
                value = lines.separator.join(record)
                wrong.append(Place(row=last, detail=f"{len(record)} fields", value=value))
            kept.append((record + [""] * width)[:width])
            rows.append(last)
        last = lines.first + reader.line_num
    if wrong:
        _add_field_counts(lines, wrong, len(kept), findings)
    body = io.StringIO()
    csv.writer(body, delimiter=lines.separator, lineterminator="\n").writerows(kept)
    regular = Lines.of(lines.names, body.getvalue().encode(), 0, lines.separator, lines.first)
    return regular, np.array(rows, dtype=np.int64), np.array(broken)


def _records(reader: Any, findings: Findings) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise findings.fatal("text", f"it is not a regular table ({error})", EXPORT) from None


def _add_field_counts(lines: Lines, wrong: list[Place], rows: int, findings: Findings) -> None:
    rule = f"{len(wrong)} of {rows} rows do not have the {len(lines.names)} fields of the header"
    if len(wrong) < rows:
        fix = "Fix these rows: a field too many or too few shifts every column after it."
        findings.add("fields", "error", rule, fix, wrong)
        return
    comma = lines.separator == "," and any(char.isdigit() for char in wrong[0].value or "")
    fix = "Numbers with a decimal comma need ';' between columns." if comma else "Fix the header or the rows."
    raise findings.fatal("fields", rule, fix, wrong)
