"""From the bytes of a text file to columns of text, every irregular row named."""

import contextlib
import csv
import dataclasses
import functools
import io
import itertools
import re
from collections.abc import Sequence
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, quote
from multiway.data.options import FileOptions
from multiway.data.sources.bytes import MAX_COLUMNS, check_memory, unpack_bytes
from multiway.data.sources.cells import NUMBER, QUOTE, unescape
from multiway.data.sources.titles import (
    LOOK,
    MOST,
    facts_below,
    is_data,
    is_number,
    join_names,
    lines_above,
    units_below,
    words_on_titles,
)
from multiway.errors import Fix

SEPARATORS = (",", ";", "\t", "|")
VISIBLE = re.compile(rb"[!-~]")
HEAD, BLOCK, WHOLE = 1 << 20, 1 << 22, 1 << 30
"""Bytes that show where the header is, those that are parsed at once, and as many where a row is longer."""
GROUP = 8192
"""Columns that are built at once."""
EXPORT = "Export it as CSV again."
BELOW = "below the text"
REMARK = "#"
"""What lines above a table begin with that say something of it: annotations of InfluxDB, remarks of observatories."""
ANNOTATION = r"^#(group|datatype|default)$"
LONE = rb'\s*"\s*' + NUMBER.encode() + rb"\s*"
"""A number behind a quotation mark that is not closed."""
EASTERN = {"cp932": ("[\u3041-\u30fa]", 0.01), "euc_kr": ("[\uac00-\ud7a3]", 0.95), "gb2312": ("[\u4e00-\u9fa5]", 0.5)}
"""Encodings that other bytes are hardly sound in, letters of their languages, and their least share of all letters."""
FEWEST_LETTERS = 2
PAIRS = re.compile(rb"\n*[^\s:,;]+(?: +(?:\d+|qid):[-+.\deE]+)+ *(?:#.*)?(?:\n|\Z)")
"""A line of LIBSVM."""
FEWEST_SPACED = 6
"""Lines from which on blanks may separate columns."""
SHOWN_ROWS = 200
"""Rows below a header that show whether it is one."""
MOST_BREAKS, SURE_LINES = 50, 5
"""Line breaks of a cell from which on it is odd, and rows of a table in a cell from which on it is none."""
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
    def from_byte(cls, names: list[str], text: bytes, start: int, separator: str, first: int) -> Self:
        """All that stands from one byte on."""
        one = text.endswith(b"\n") and not text.endswith(b"\n\n")  # as nearly always, and then without a copy
        stop = max(len(text) - 1 if one else len(text.rstrip(b"\n")), start)
        return cls(names=names, text=text, start=start, stop=stop, separator=separator, first=first)

    def count(self, mark: bytes) -> int:
        """How often a mark stands in the rows."""
        return self.text.count(mark, self.start, self.stop)


def decode_text(raw: bytes, encoding: str | None, limit: int, findings: Findings) -> str:
    """Undo compression and encoding; refuse what is no text."""
    raw = unpack_bytes(raw, limit, findings)
    _refuse_no_text(raw, findings)
    return characters(raw, encoding, findings)


def _refuse_no_text(raw: bytes, findings: Findings) -> None:
    """Refuse bytes that are no text at all."""
    if not (VISIBLE.search(raw) or raw.strip()):
        raise findings.fatal("empty", "the file is empty", "Give a file with a header and rows.")
    if raw.startswith(OLD_EXCEL):
        raise findings.fatal("text", "it is an Excel file of the old form (.xls)", "Save it as .xlsx or CSV.")
    check_nul(raw, findings, fix=EXPORT)


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
        fix = ("Set encoding to utf-8 or cp1252 (", Fix("read.encoding", "utf-8"), ").")
        raise findings.fatal("encoding", f"no encoding is called '{quote(encoding)}'", fix) from None
    except UnicodeError as error:
        at = error.start if isinstance(error, UnicodeDecodeError) else 0
        place = Place(row=raw.count(b"\n", 0, at) + 1, detail=f"byte 0x{raw[at]:02x}")
        if encoding is not None:
            rule = f"it is not text in {quote(encoding)}"
            fix = ("Set encoding to another, or leave it out (", Fix("read.encoding"), ").")
            raise findings.fatal("encoding", rule, fix, [place]) from None
        findings.encoding = _guess_encoding(raw)
        wrong = ("Set encoding if names look wrong (", Fix("read.encoding", like="NAME"), ").")
        called = "Windows-1252" if findings.encoding == "cp1252" else findings.encoding
        findings.add("encoding", "warning", f"it is not UTF-8; read as {called}", wrong, [place])
        text = raw.decode(findings.encoding, errors="replace")
    if count := text.count("�"):  # what a program writes that could not decode: the letters are gone from the file
        row = text.count("\n", 0, text.index("�")) + 1
        rule = f"{count} characters were lost to a wrong encoding before the file was written (U+FFFD)"
        lost = "Numbers are not touched; write the names anew if they matter."
        findings.add("encoding", "warning", rule, lost, [Place(row=row)], count=count)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _guess_encoding(raw: bytes) -> str:
    """The encoding of the East that bytes are sound in, with letters of its language; else that of Windows."""
    for name, (letters, share) in EASTERN.items():
        with contextlib.suppress(UnicodeError):
            foreign = [letter for letter in raw.decode(name) if letter.isalpha() and not letter.isascii()]
            found = sum(re.match(letters, letter) is not None for letter in foreign)
            if found >= max(FEWEST_LETTERS, share * len(foreign)):
                return name
    return "cp1252"


def _find_header(text: bytes, options: FileOptions, findings: Findings) -> tuple[list[str], int, str, int]:
    """Names, the byte where rows begin, what separates cells, and the line of the names.

    They stand behind blank lines, remarks and titles; a row that looks like the others is no header.
    """
    blank = len(text) - len(text.lstrip(b"\n"))
    lines = text[blank : blank + HEAD].split(b"\n", LOOK)[:LOOK]
    whole = lines if len(lines) == LOOK or len(text) <= blank + HEAD else lines[:-1]
    shown = [line.decode() for line in whole]
    remarks = next((place for place, line in enumerate(shown) if not line.startswith(REMARK)), 0)
    above = remarks + lines_above(shown[remarks:], SEPARATORS)
    if above:
        findings.add("header", "note", words_on_titles(blank + 1, blank + above, "line"))
    number = blank + above + 1
    top = blank + sum(len(line) + 1 for line in lines[:above])
    header, below = _read_line(text, top)
    row = _read_line(text, below)[0]
    # the mark that is in the header most often, and in the first row as often
    separator = max(SEPARATORS, key=lambda mark: (header.count(mark) == row.count(mark) > 0, header.count(mark)))
    if header.count(separator) >= MAX_COLUMNS:
        columns, rows = header.count(separator) + 1, text.count(b"\n", top)
        size = f"it has {columns:,} columns and would take {columns * max(rows, 1) * 8 / 1e9:.2g} GB"
        rule = f"{size}; at most {MAX_COLUMNS:,} columns are read"
        raise findings.fatal("columns", rule, "Split it, or keep fewer series.")
    if options.quoting != "none":
        rule = "a quotation mark in the header is not closed on its line"
        refuse_open_quote(header, separator, number, findings, rule)
    some = text[below : below + HEAD].decode(errors="replace").split("\n", SHOWN_ROWS)[:SHOWN_ROWS]
    names, *others = _split_lines([header, *some], separator, options.quoting)
    lines_said = [line.lstrip(f"{REMARK} \t") for line in shown[:remarks]] if above == remarks else []
    remark = next((line for line in lines_said if line.count(separator) == header.count(separator) > 0), "")
    if options.no_header or (options.no_header is None and is_data(names, others)):
        below, number = top, number - 1
        if remark:
            (names,) = _split_lines([remark], separator, options.quoting)
        else:
            names = [*map(str, range(len(names)))]
            said = "the first line is data like those below it, so columns are named 0, 1, 2, …"
            fix = ("If it is a header, say so (", Fix("read.no_header", False), ").")
            findings.add("header", "note", said, fix if options.no_header is None else "")
    else:
        names, count = join_names([name.strip() for name in names], [[*map(str.strip, row)] for row in others])
        for _ in range(count):
            below, number = _read_line(text, below)[1], number + 1
        if count:
            findings.add("header", "note", f"names are those of lines {number - count} to {number} together")
    return names, below, separator, number


def _read_header(text: bytes, options: FileOptions, findings: Findings) -> Lines:
    """The header, of different names, and the rows below it."""
    try:
        names, below, separator, number = _find_header(text, options, findings)
    except csv.Error as error:
        raise findings.fatal("text", f"it is not a regular table ({error})", EXPORT) from None
    if not (VISIBLE.search(text, below) or text[below:].decode().strip()):
        raise findings.fatal("empty", "it has a header and no rows", "Give a file with rows.")
    names = [unescape(name.strip()) if QUOTE in name else name.strip() for name in names]
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if name and name in seen:
            detail = f"columns {seen[name] + 1} and {position + 1}"
            place = Place(row=1, column=name, detail=detail)
            raise findings.fatal("columns", "two columns have one name", "Rename one of them.", [place])
        seen[name] = position
    if len(names) == 1 and not is_number(_read_line(text[below:].lstrip(b"\n"), 0)[0]):
        shown_marks = " ".join("tab" if mark == "\t" else mark for mark in SEPARATORS)
        place = Place(row=number, value=separator.join(names))
        fix = f"Separate columns by one of {shown_marks}"
        raise findings.fatal("separator", "no column separator was found", fix, [place])
    return Lines.from_byte(names, text, below, separator, number + 1)


def _split_lines(lines: Sequence[str], separator: str, quoting: str) -> list[list[str]]:
    """Cells of lines, but of those without any."""
    if quoting == "none" or not any('"' in line for line in lines):
        return [line.split(separator) for line in lines if line]
    return [row for row in csv.reader(lines, delimiter=separator) if row]


def names_of_text(raw: bytes) -> list[str]:
    """Names of the columns by the first bytes of a text, which may end within a line."""
    whole = raw[: raw.rfind(b"\n") + 1] or raw
    text = characters(whole, None, Findings("")).encode(errors="replace")
    names = _find_header(with_pairs(text, Findings("")), FileOptions(), Findings(""))[0]
    return [unescape(name.strip()) for name in names]


def with_tabs(text: bytes, findings: Findings) -> bytes:
    """Text whose columns blanks separate with tabs in their place; another text as it is.

    All lines but remarks have as many words, half of them or more numbers, and nothing else separates any. Lines
    above the header, and of units below it, may have others; they are left out.
    """
    head = text[:HEAD].decode(errors="replace").split("\n")[: -1 if len(text) > HEAD else None]
    first, top = rows_of_blanks(head)
    rows = [line for line in [*head[first : first + 1], *head[top:]] if line.strip() and not line.startswith(REMARK)]
    if len(rows) < FEWEST_SPACED or any(mark in line for line in rows[:LOOK] for mark in SEPARATORS):
        return text
    counts, last = {len(line.split()) for line in rows}, rows[-1].split()
    if len(counts) > 1 or len(last) < 2 or 2 * sum(map(is_number, last)) < len(last):
        return text
    findings.add("separator", "note", "blanks separate columns")
    if top:
        table = text.split(b"\n", top)
        text = b"\n".join(line if place in (first, top) else b"" for place, line in enumerate(table))
        findings.add("header", "note", f"lines 1 to {top} are left out but for the names in line {first + 1}")
    return re.sub(rb" +", b"\t", re.sub(rb"(?m)^ +| +$", b"", text))


def with_pairs(text: bytes, findings: Findings) -> bytes:
    """A table in the place of lines of LIBSVM: a target, then places and values of what is not zero; else the text."""
    if not PAIRS.match(text):
        return text
    rows = [line.split(b"#")[0].split() for line in text.splitlines() if line.strip()]
    pairs = [dict(pair.split(b":") for pair in row[1:] if pair.count(b":") == 1) for row in rows]
    places = sorted({place for each in pairs for place in each if place.isdigit()}, key=int)
    check_memory(len(rows), len(places), len(text), findings)
    findings.add("layout", "note", "lines of LIBSVM are a target and the places of values; other values are 0")
    cells = ([row[0], *(each.get(place, b"0") for place in places)] for row, each in zip(rows, pairs, strict=True))
    return b"\n".join([b",".join([b"target", *places]), *map(b",".join, cells)])


def rows_of_blanks(lines: Sequence[str]) -> tuple[int, int]:
    """Place of the header, and of the first row below it, where lines of other words stand above the rows."""
    words = [line.split() for line in lines[: MOST + FEWEST_SPACED]]
    width = len(words[-1]) if words else 0
    top = max(
        (at + 1 for at, line in enumerate(words) if len(line) != width or not any(map(is_number, line))), default=0
    )
    names = [at for at, line in enumerate(words[:top]) if len(line) == width and not any(map(is_number, line))]
    is_table = width > 1 and names and top <= MOST and len(words) - top >= FEWEST_SPACED and top > names[-1] + 1
    return (names[-1], top) if is_table else (0, 0)


def _read_line(text: bytes, start: int) -> tuple[str, int]:
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
    _refuse_no_text(raw, findings)
    if options.encoding is None and raw.isascii() and b"\r" not in raw:
        text, findings.encoding = raw, "utf-8"
    else:
        text = characters(raw, options.encoding, findings).encode(errors="replace")
    text = with_tabs(with_pairs(text, findings), findings)
    lines = _read_header(text, options, findings)
    count, marks = lines.count(b"\n") + 1, lines.count(b'"')
    check_memory(count, len(lines.names), lines.stop - lines.start, findings)
    has_blanks = len(lines.names) > 1 and (lines.count(b"\n\n") or text.startswith(b"\n", lines.start))
    columns, rows, broken = None, None, None
    if not has_blanks and marks % 2 == 0 and not (marks and options.quoting == "none"):
        with contextlib.suppress(pa.ArrowInvalid):  # else rows and lines do not run in step, or a mark has no partner
            columns = _read_columns(lines)
    if columns is None or (marks and count != len(columns[0])):  # or line breaks are quoted
        regular, rows, broken = _read_records(quote_marks(lines, options.quoting, findings), findings)
        columns = _read_columns(regular)
    names = [name or f"unnamed {position}" for position, name in enumerate(lines.names)]
    read = TextColumns(
        columns=dict(zip(names, columns, strict=True)),
        rows=np.arange(lines.first, lines.first + len(columns[0])) if rows is None else rows,
        broken=np.zeros(len(columns[0]), dtype=bool) if broken is None else broken,
        separator=lines.separator,
    )
    return _without_headers(read, lines.names, findings)


def _without_headers(read: TextColumns, names: list[str], findings: Findings) -> TextColumns:
    """Without rows that say the header once more, annotations, and rows of separators alone, as below a sheet."""
    columns = list(read.columns.values())
    left, said = pa.compute.match_substring_regex(columns[0], ANNOTATION), pa.compute.equal(columns[0], names[0])
    if names != [*map(str, range(len(names)))] and pa.compute.any(said).as_py():
        same = (pa.compute.equal(column, name) for column, name in zip(columns, names, strict=True))
        left = pa.compute.or_(left, functools.reduce(pa.compute.and_, same))
    is_said, is_blank = left.to_numpy(zero_copy_only=False), pa.compute.equal(columns[0], "")
    if len(columns) > 1 and pa.compute.any(is_blank).as_py():
        is_blank = functools.reduce(pa.compute.and_, (pa.compute.equal(column, "") for column in columns))
    is_blank = is_blank.to_numpy(zero_copy_only=False) & ~read.broken & (len(columns) > 1)
    cells = zip(*(column.slice(0, LOOK).to_pylist() for column in columns), strict=True)
    shown = [[cell.strip() for cell in row] for row in cells]
    is_unit = np.arange(len(is_said)) < max(units_below(shown), facts_below(shown))
    rows = np.flatnonzero(is_said | is_blank | is_unit)
    if not len(rows):
        return read
    if len(rows) == len(read.rows):
        raise findings.fatal("empty", "it has a header and no rows", "Give a file with rows.")
    flaws = {
        "say the header once more": is_said,
        "hold nothing but separators": is_blank,
        "say units or the like": is_unit,
    }
    for what, marks in flaws.items():
        if marks.any():
            places = [Place(row=int(read.rows[row])) for row in np.flatnonzero(marks)]
            findings.add("header", "note", f"rows that {what} are left out", places=places)
    kept = np.delete(np.arange(len(read.rows)), rows)
    own = {name: column.take(pa.array(kept)) for name, column in read.columns.items()}
    return dataclasses.replace(read, columns=own, rows=read.rows[kept], broken=read.broken[kept])


def quote_marks(lines: Lines, quoting: str, findings: Findings) -> Lines:
    """The same rows, where cells with quotation marks that are text are quoted, and these are doubled.

    A mark opens a cell where the one that closes it is followed by a separator or the end of a line. Where each line of
    such a cell is a row by itself marks are text: of a table by tabs, or where there are several lines. A number behind
    a mark alone is a slip: then nothing changes.
    """
    mark, text = lines.separator.encode(), lines.text[lines.start : lines.stop]
    plain = re.compile(rb'[^%s\n]*"[^%s\n]*' % (mark, mark))
    cell = re.compile(rb'(?<![^%s\n])(?: *("[^"]*(?:""[^"]*)*") *(?=[%s\n]|\Z)|%s)' % (mark, mark, plain.pattern))
    texts, broken = list[tuple[int, bytes]](), list[tuple[int, int]]()

    def write(match: re.Match[bytes]) -> bytes:
        if match[1] is not None and quoting != "none" and not holds_rows(match):
            broken.append((match[1].count(b"\n"), match.start()))
            return match[1]
        texts.append((match.start(), match[0]))
        return plain.sub(lambda found: b'"%s"' % found[0].replace(b'"', b'""'), match[0])

    def holds_rows(match: re.Match[bytes]) -> bool:
        breaks = match[1].count(b"\n")
        if not breaks or (mark != b"\t" and breaks < SURE_LINES):
            return False
        start, stop = text.rfind(b"\n", 0, match.start()) + 1, text.find(b"\n", match.end())
        whole = text[start : stop if stop >= 0 else len(text)].split(b"\n")
        return all(line.count(mark) == len(lines.names) - 1 for line in whole)

    def place(start: int) -> Place:
        return Place(row=lines.first + text.count(b"\n", 0, start))

    written = cell.sub(write, text)
    if quoting != "none" and any(re.fullmatch(LONE, each) for _, each in texts):
        return lines
    if texts:
        said = f"{len(texts)} cells hold quotation marks that open or close none, and are text"
        findings.add("quotes", "note", said, places=[place(start) for start, _ in texts[:20]], count=len(texts))
    breaks, start = max(broken, default=(0, 0))
    if breaks >= MOST_BREAKS:
        fix = ("If its quotation marks are text, say so (", Fix("read.quoting", "none"), ").")
        findings.add("quotes", "warning", f"one cell holds {breaks} line breaks", fix, [place(start)])
    return Lines.from_byte(lines.names, written, 0, lines.separator, lines.first)


def _read_columns(lines: Lines, size: int | None = None) -> list[pa.ChunkedArray]:
    """Columns of text, parsed so many bytes at once; of all of them where a row is longer or has many cells.

    Thousands of columns are built one group after the other: PyArrow needs ten kilobytes for each while it reads.
    """
    keys = [f"f{position}" for position in range(len(lines.names))]
    length = min(lines.stop + 1, len(lines.text)) - lines.start  # with the end of the last line
    is_wide, columns = len(keys) > GROUP, list[pa.ChunkedArray]()
    try:
        for start in range(0, len(keys), GROUP):
            group = keys[start : start + GROUP]
            columns += pyarrow.csv.read_csv(
                pa.BufferReader(pa.py_buffer(lines.text).slice(lines.start, length)),  # no copy
                read_options=pyarrow.csv.ReadOptions(
                    column_names=keys, block_size=size or (WHOLE if is_wide else BLOCK), use_threads=not is_wide
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=lines.separator, newlines_in_values=bool(lines.count(b'"')), ignore_empty_lines=False
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(group, pa.string()), strings_can_be_null=False, include_columns=group
                ),
            ).columns
    except pa.ArrowInvalid as error:
        if size == WHOLE or "straddling" not in str(error):
            raise
        return _read_columns(lines, WHOLE)
    pa.default_memory_pool().release_unused()  # its threads keep what their blocks took
    return columns


def _read_records(lines: Lines, findings: Findings) -> tuple[Lines, NDArray[np.int64], NDArray[np.bool_]]:
    """Read record by record; name those whose number of fields is wrong, and cut or pad them to go on."""
    body = lines.text[lines.start : lines.stop].decode()
    refuse_open_quote(body, lines.separator, lines.first, findings)
    width, last = len(lines.names), lines.first
    kept: list[list[str]] = []
    rows: list[int] = []
    wrong: list[Place] = []
    broken: list[bool] = []
    reader = csv.reader(io.StringIO(body), delimiter=lines.separator)
    try:
        for record in reader:
            if record:
                broken.append(len(record) != width)
                if broken[-1]:
                    value = lines.separator.join(record)
                    wrong.append(Place(row=last, detail=f"{len(record)} fields", value=value))
                kept.append((record + [""] * width)[:width])
                rows.append(last)
            last = lines.first + reader.line_num
    except csv.Error as error:
        raise findings.fatal("text", f"it is not a regular table ({error})", EXPORT) from None
    if wrong:
        rule = f"{len(wrong)} of {len(kept)} rows do not have the {width} fields of the header"
        if len(wrong) == len(kept):
            comma = lines.separator == "," and any(char.isdigit() for char in wrong[0].value or "")
            fix = "Numbers with a decimal comma need ';' between columns." if comma else "Fix the header or the rows."
            raise findings.fatal("fields", rule, fix, wrong)
        fix = "Fix these rows: a field too many or too few shifts every column after it."
        findings.add("fields", "error", rule, fix, wrong)
    written = io.StringIO()
    csv.writer(written, delimiter=lines.separator, lineterminator="\n").writerows(kept)
    regular = Lines.from_byte(lines.names, written.getvalue().encode(), 0, lines.separator, lines.first)
    return regular, np.array(rows, dtype=np.int64), np.array(broken)
