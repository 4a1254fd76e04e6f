"""`read_texts`: from a file, a folder or a list to documents, with every flaw named."""

import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from multiway.data.findings import Findings, Place, Unreadable, listed, quoted
from multiway.data.language.options import TextOptions
from multiway.data.language.texts import HEADING, Texts, documents_of
from multiway.data.sources.bytes import bytes_of, unpacked
from multiway.data.sources.json_lines import objects_of
from multiway.data.sources.options import ReadOptions
from multiway.data.sources.tables import load_texts_table, source_name
from multiway.data.sources.text import characters
from multiway.errors import DataError

WORDS = {"train": "train", "training": "train", "test": "test", "validation": "validation", "valid": "validation",
         "val": "validation", "dev": "validation"}  # fmt: skip
"""Splits by the words for them in names of files and folders."""
SPLIT = re.compile(rf"(?i)(?<![a-z])({'|'.join(WORDS)})(?![a-z])")
PACKED = re.compile(r"(?i)\.(zst|gz|bz2|xz|zip)$")
LINES, TABLES, PLAIN = (".jsonl", ".ndjson"), (".parquet", ".pq", ".csv", ".tsv"), (".txt", ".text", ".md", ".tokens")
Document = tuple[str, str]
"""Where it stands, and its text."""


def read_documents(source: Any, options: TextOptions | None = None, *, later: bool = False) -> Texts:
    """Read documents.

    Args:
        source: A text file, JSON lines or a table, packed or not; a folder of them; or texts in memory.
        options: Where the text stands.
        later: Take the file alone; else one called `train` brings those beside it called `validation` and `test`.

    Raises:
        DataError: A flaw that no option covers: one line with the file, the place, the value and the fix.
    """
    findings = Findings(source_name(source) if isinstance(source, str | Path) else "texts")
    try:
        texts = read_into(source, options or TextOptions(), findings, later=later)
    except Unreadable:
        raise findings.error() from None
    if findings.errors():
        raise findings.error()
    return texts


def read_into(source: Any, options: TextOptions, findings: Findings, *, later: bool = False) -> Texts:
    """The same, with flaws noted; the texts are sound only where no finding is an error."""
    files = _files(source, later=later) if isinstance(source, str | Path) else []
    if options.column is not None and files and not later and all(map(_is_plain, files)):
        rule = f"text files have no columns, so none is called '{quoted(options.column)}'"
        raise findings.fatal("columns", rule, "Leave out --column, or give JSON lines or a table.")
    found: list[tuple[Document, str | None]] = []
    for path in files:
        named = len(files) > 1
        each, split = _documents(path, options, findings, named=named, later=later), _split_of(path, Path(source))
        if not each and split is not None and not later and len(files) > 1:
            rule = f"{quoted(path.name, 80)} holds no text, and its name says {split}"
            raise findings.fatal("empty", rule, "Fill it, or take it away.")
        found += [(document, split) for document in each]
    if not isinstance(source, str | Path):
        found = [(document, None) for document in _given(source)]
    if not found and not findings.errors():
        raise findings.fatal("empty", "there is no text in it", "Give a file with text.")
    if files and not later and Path(source).is_dir():
        _check_training(found, findings)
    return _gathered(found, findings, later=later)


def _check_training(found: list[tuple[Document, str | None]], findings: Findings) -> None:
    """Refuse a folder of files for validation and test alone; note those that are trained on, as none is to train."""
    held = sorted({split for _, split in found if split is not None})
    if not held or "train" in held:
        return
    count = sum(split is not None for _, split in found)
    if count == len(found):
        rule = f"there is no training text: its files are called {' and '.join(held)}"
        raise findings.fatal("splits", rule, "Add a file called train, or give one of the files.")
    rule = (
        f"{count} documents are in files called {' and '.join(held)}, and as none is called train, they are trained on"
    )
    findings.add("splits", "warning", rule, "Call the training text train.txt.")


def _gathered(found: list[tuple[Document, str | None]], findings: Findings, *, later: bool) -> Texts:
    """Documents of named splits where some are named, and a note on the others."""
    official = any(split == "train" for _, split in found) and not later
    kept = [item for item in found if item[1] is not None] if official else found
    if len(kept) < len(found):
        findings.add("splits", "note", f"{len(found) - len(kept)} documents are in no file of a split and are left out")
    return Texts(
        documents=tuple(document[1] for document, _ in kept),
        places=tuple(document[0] for document, _ in kept),
        official=tuple(str(split) for _, split in kept) if official else None,
        source=findings.source,
        notes=tuple(finding.line() for finding in findings.found if finding.severity != "error"),
        encoding=findings.encoding,
    )


def _given(source: Any) -> list[Document]:
    """Texts in memory: a list, an array, or a series."""
    values = source.to_list() if hasattr(source, "to_list") else source
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | dict | pd.DataFrame):
        raise DataError(f"texts: a list or a series of texts is needed. Got {type(source).__name__}.")
    every = list(values)
    other = next((place for place, value in enumerate(every) if not isinstance(value, str)), None)
    if other is not None:
        raise DataError(f"texts: every one must be text. Got {type(every[other]).__name__} at position {other}.")
    return [(f"text {place}", _sound(text)) for place, text in enumerate(every) if text.strip()]


def _files(source: str | Path, *, later: bool) -> list[Path]:
    """The file, with those of the other splits beside it; or every file of a folder that holds text."""
    path = Path(source)
    if path.is_dir():
        every = sorted(each for each in path.rglob("*") if each.is_file() and file_kind(each) is not None)
        files = [each for each in every if not each.name.startswith(".")]
        if not files:
            known = ", ".join((*PLAIN, *LINES, *TABLES))
            raise DataError(f"{quoted(path, 200)}: there is no text in it. Give a folder with files in {known}.")
        return files
    if not path.is_file():
        raise DataError(f"{quoted(path, 200)} does not exist. Give the path of a text file, or of a folder of them.")
    return [path] if later else [path, *_beside(path)]


def _beside(path: Path) -> Iterator[Path]:
    """Files of the other splits: `wiki.valid.txt` beside `wiki.train.txt`."""
    word = SPLIT.search(path.name)
    if word is None or WORDS[word[0].lower()] != "train":
        return
    for split in ("validation", "test"):
        names = [path.name[: word.start()] + each + path.name[word.end() :] for each in WORDS if WORDS[each] == split]
        yield from (path.with_name(name) for name in names if path.with_name(name).is_file())


def _split_of(path: Path, root: Path) -> str | None:
    """Split that the name of a file, or of a folder below the given one, says."""
    name = path.relative_to(root).as_posix() if root.is_dir() else path.name
    word = SPLIT.search(name)
    return None if word is None else WORDS[word[0].lower()]


def file_kind(path: Path) -> str | None:
    """Ending of a file that holds text, without that of its packing; None for other files."""
    ending = Path(PACKED.sub("", path.name)).suffix.lower()
    return ending if ending in (*LINES, *TABLES, *PLAIN) else None


def _is_plain(path: Path) -> bool:
    return file_kind(path) not in (*LINES, *TABLES)


def _documents(path: Path, options: TextOptions, findings: Findings, *, named: bool, later: bool) -> list[Document]:
    kind, head = file_kind(path), f"{path.name}, " if named else ""
    if kind in LINES:
        found = [(f"{head}line {number}", text) for number, text in _lines(path, options, findings)]
    elif kind in TABLES:
        found = [(f"{head}row {row}", text) for row, text in _rows(path, options, findings)]
    else:
        text = _plain(path, options, findings)
        _check_headings(path, text, options, findings, is_one=not named and not later)
        parts = documents_of(text, options.documents)
        found = [(f"{head}document {place}" if len(parts) > 1 else path.name, part) for place, part in enumerate(parts)]
    return found[: options.most_documents]


def _check_headings(path: Path, text: str, options: TextOptions, findings: Findings, *, is_one: bool) -> None:
    """Where documents begin at headings and there are none: refuse the only file, note another."""
    if options.documents != "heading" or HEADING.search(text) is not None:
        return
    rule = f"{_named(path, findings)} has no heading such as = Title =, so it is one document"
    if is_one:
        raise findings.fatal("documents", rule, "Cut it otherwise (--documents paragraph).")
    findings.add("documents", "note", rule)


def _plain(path: Path, options: TextOptions, findings: Findings) -> str:
    """The whole of a text file."""
    raw = unpacked(bytes_of(path, findings), options.max_bytes, findings)
    at = raw.find(b"\x00")
    if at >= 0 and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        place = Place(row=raw.count(b"\n", 0, at) + 1)
        raise findings.fatal(
            "text", f"{_named(path, findings)} holds a NUL byte, so it is no text", "Export it as text.", [place]
        )
    return characters(raw, options.encoding, findings)


def _lines(path: Path, options: TextOptions, findings: Findings) -> Iterator[tuple[int, str]]:
    column = options.column or "text"
    raw = unpacked(bytes_of(path, findings), options.max_bytes, findings)
    for number, item in objects_of(io.BytesIO(raw), len(raw), findings):
        if column in item and item[column] is None:
            continue
        if column in item and not isinstance(item[column], str):
            place = Place(row=number, column=column, value=str(item[column]))
            raise findings.fatal("text", "it is no text", "Write it in quotes, or take the line out.", [place])
        if column not in item:
            rule = f"{_named(path, findings)} has no text under '{quoted(column)}'; it has {listed(item)}"
            raise findings.fatal("columns", rule, _NAME_IT, [Place(row=number)])
        if item[column].strip():
            yield number, _sound(item[column])


def _rows(path: Path, options: TextOptions, findings: Findings) -> Iterator[tuple[int, str]]:
    reading = ReadOptions(encoding=options.encoding, max_bytes=options.max_bytes)
    table = load_texts_table(path, reading, findings)
    column = options.column or ("text" if "text" in table.names or len(table.names) > 1 else table.names[0])
    if column not in table.names:
        rule = f"{_named(path, findings)} has no column '{quoted(column)}'; it has {listed(table.names)}"
        raise findings.fatal("columns", rule, _NAME_IT)
    for row, cell in zip(table.rows.tolist(), table.frame[column], strict=True):
        if isinstance(cell, str) and cell.strip():
            yield row, _sound(cell)


def _named(path: Path, findings: Findings) -> str:
    """A file of a folder by its name; the one that the message begins with is it."""
    name = quoted(path.name, 80)
    return "it" if name == findings.source else name


_NAME_IT = "Name the column of the text (--column NAME)."


def _sound(text: str) -> str:
    """Text without halves of characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode()
