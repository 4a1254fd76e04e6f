"""Documents to learn language from: of files, folders, tables or lists, with every flaw named."""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.config import Plain
from multiway.data.findings import Findings, Place, Unreadable, list_some, quote
from multiway.data.options import FileOptions, compose
from multiway.data.samples import SPELLINGS, SPLIT_OF, SPLITS, Samples
from multiway.data.sources.bytes import BROKEN, bytes_of, first_bytes, unpack_bytes
from multiway.data.sources.frames import source_name
from multiway.data.sources.json_files import objects_of
from multiway.data.sources.tables import load_texts_table
from multiway.data.sources.text import characters, check_nul
from multiway.errors import DataError, Fix
from multiway.tasks.kind import SampleKind
from multiway_papers.language.config import LanguageConfig, TextOptions, TextSplit

SPLIT = re.compile(rf"(?i)(?<![a-z])({'|'.join(SPLIT_OF)})(?![a-z])")
"""A word for a split in the name of a file or folder."""
PACKED = re.compile(r"(?i)\.(zst|gz|bz2|xz|zip)$")
LINES, TABLES, PLAIN = (
    (".jsonl", ".ndjson"),
    (".parquet", ".pq", ".csv", ".tsv", ".xlsx"),
    (".txt", ".text", ".md", ".tokens"),
)
HEADING = re.compile(r"(?m)^(?= ?= [^=\n](?:.*[^=\n])? = ?$)")
"""Before a line such as ` = Title = `, which begins an article of WikiText."""
FEWEST = 3
"""Headings from which on a text is taken for articles."""
HEAD, PROSE = 4096, 0.6
"""Bytes that are looked at, and the share of letters and blanks from which on they are prose and no numbers."""

UNKNOWN = "<unk>"
"""What a word-level set such as WikiText writes for a rare word."""
SHARED = "shares of the text in its order"

Documents = NDArray[np.object_]


class Document(NamedTuple):
    """A text: where it stands, and the split that its file names."""

    place: str
    text: str
    split: str | None = None


def documents_of(source: Any, options: TextOptions, findings: Findings, *, later: bool = False) -> Samples[Documents]:
    """Documents of a text file, JSON lines or a table, packed or not; of a folder of them; or texts in memory.

    A `later` file is taken alone; else one called `train` brings those next to it called `validation` and `test`. Flaws
    are noted: the documents are sound only where no finding is an error.
    """
    on_disk = isinstance(source, str | Path)
    documents = _of_files(Path(source), options, findings, later=later) if on_disk else _given(source)
    if not documents and not findings.errors():
        raise findings.fatal("empty", "there is no text in it", "Give a file with text.")
    if on_disk and not later and Path(source).is_dir():
        _check_training(documents, findings)
    official = any(document.split == "train" for document in documents) and not later
    kept = [document for document in documents if document.split is not None] if official else documents
    if len(kept) < len(documents):
        rule = f"{len(documents) - len(kept)} documents are in no file of a split and are left out"
        findings.add("splits", "note", rule)
    names = tuple(str(document.split) for document in kept)
    return _samples(findings.source, kept, official=names if official else None)


def _samples(source: str, documents: Sequence[Document], **known: Any) -> Samples[Documents]:
    texts = [compose(document.text) for document in documents]
    return Samples(
        inputs=np.array(texts, dtype=object),
        source=source,
        word="documents",
        keys=tuple(map(str.strip, texts)),
        names={"document": [document.place for document in documents]},
        labelling=(),
        **{"sizes": np.array([*map(len, texts)], np.int64), **known},
    )


def cut(texts: Samples[Documents], how: TextSplit) -> Samples[Documents]:
    """One document as three, cut at line ends, one for each split; more documents are left whole.

    The parts have no sizes, as nothing of them is left to share.
    """
    if len(texts) != 1:
        return texts
    (text,), (place,) = texts.inputs, texts.names["document"]
    shares = (1 - how.test - how.validation, 1 - how.test)
    first, last = (_line_end(text, round(share * len(text))) for share in shares)
    parts = [text[:first], text[first:last], text[last:]]
    if not all(part.strip() for part in parts):
        rule = f"each split needs text. Got {len(text):,} characters. Give a longer text."
        raise DataError(f"{texts.source}: {rule}")
    documents = [Document(f"{place}, {name}", part) for name, part in zip(SPLITS, parts, strict=True)]
    return _samples(texts.source, documents, official=SPLITS, sizes=None, notes=texts.notes)


def _line_end(text: str, start: int) -> int:
    """After the first end of a line, or else of a word, that is not before the start."""
    for mark in ("\n", " "):
        position = text.find(mark, start - 1)
        if 0 <= position < len(text) - 1:
            return position + 1
    return start


def _given(source: Any) -> list[Document]:
    """Texts in memory: a list, an array, or a series."""
    values = source.to_list() if hasattr(source, "to_list") else source
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | dict | pd.DataFrame):
        raise DataError(f"texts: a list or a series of texts is needed. Got {type(source).__name__}.")
    every = list(values)
    for position, value in enumerate(every):
        if not isinstance(value, str):
            raise DataError(f"texts: every one must be text. Got {type(value).__name__} at position {position}.")
    return [Document(f"text {row}", _sound(text)) for row, text in enumerate(every) if text.strip()]


def _of_files(root: Path, options: TextOptions, findings: Findings, *, later: bool) -> list[Document]:
    """Documents of a file and of those that belong to it, or of every file of a folder."""
    files, documents = _files(root, later=later), list[Document]()
    if options.column is not None and not later and all(map(_is_plain, files)):
        rule = f"text files have no columns, so none is called '{quote(options.column)}'"
        raise findings.fatal("columns", rule, "Name no column, or give JSON lines or a table.")
    for path in files:
        split, texts = _split_of(path, root), _texts(path, options, findings, alone=len(files) == 1, later=later)
        if not texts and split is not None and not later and len(files) > 1:
            rule = f"{quote(path.name, 80)} holds no text, and its name says {split}"
            raise findings.fatal("empty", rule, "Fill it, or take it away.")
        documents += [Document(place, text, split) for place, text in texts]
    return documents


def _check_training(documents: Sequence[Document], findings: Findings) -> None:
    """Refuse a folder of files for validation and test alone; note those that are trained on, as none is to train."""
    splits = [document.split for document in documents if document.split is not None]
    if not splits or "train" in splits:
        return
    names = " and ".join(sorted(set(splits)))
    if len(splits) == len(documents):
        rule = f"there is no training text: its files are called {names}"
        raise findings.fatal("splits", rule, "Add a file called train, or give one of the files.")
    rule = f"{len(splits)} documents are in files called {names}, and as none is called train, they are trained on"
    findings.add("splits", "warning", rule, "Call the training text train.txt.")


def _files(path: Path, *, later: bool) -> list[Path]:
    """The file, with those of the other splits next to it; or every file of a folder that holds text."""
    if path.is_dir():
        files = [file for file in _visible(path.rglob("*")) if _kind(file) is not None]
        if not files:
            known = ", ".join((*PLAIN, *LINES, *TABLES))
            raise DataError(f"{quote(path, 200)}: there is no text in it. Give a folder with files in {known}.")
        return files
    if not path.is_file():
        raise DataError(f"{quote(path, 200)} does not exist. Give the path of a text file, or of a folder of them.")
    return [path] if later else [path, *_other_splits(path)]


def _visible(paths: Iterable[Path]) -> list[Path]:
    return sorted(path for path in paths if path.is_file() and not path.name.startswith("."))


def _other_splits(path: Path) -> Iterator[Path]:
    """Files of the other splits: `wiki.valid.txt` next to `wiki.train.txt`."""
    word = SPLIT.search(path.name)
    if word is None or SPLIT_OF[word[0].lower()] != "train":
        return
    for split in ("validation", "test"):
        names = [path.name[: word.start()] + one + path.name[word.end() :] for one in SPELLINGS[split]]
        yield from (path.with_name(name) for name in names if path.with_name(name).is_file())


def _split_of(path: Path, root: Path) -> str | None:
    """Split that the name of a file, or of a folder below the given one, says."""
    word = SPLIT.search(path.relative_to(root).as_posix() if root.is_dir() else path.name)
    return None if word is None else SPLIT_OF[word[0].lower()]


def _kind(path: Path) -> str | None:
    """Ending of a file that holds text, without that of its packing; None for other files."""
    ending = Path(PACKED.sub("", path.name)).suffix.lower()
    return ending if ending in (*LINES, *TABLES, *PLAIN) else None


def _is_plain(path: Path) -> bool:
    return _kind(path) not in (*LINES, *TABLES)


def _texts(
    path: Path, options: TextOptions, findings: Findings, *, alone: bool, later: bool
) -> Sequence[tuple[str, str]]:
    """Where each text of a file stands, and the text."""
    head = "" if alone else f"{path.name}, "
    if _is_plain(path):
        text = _plain(path, options, findings)
        _check_headings(path, text, options, findings, is_one=alone and not later)
        parts = [part for part in CUTS[options.documents](text) if part.strip()]
        places = [path.name] if len(parts) == 1 else [f"{head}document {row}" for row in range(len(parts))]
        return list(zip(places, parts, strict=True))[: options.most_documents]
    unit, rows = ("line", _lines) if _kind(path) in LINES else ("row", _rows)
    texts = [(f"{head}{unit} {row}", _sound(text)) for row, text in rows(path, options, findings) if text.strip()]
    return texts[: options.most_documents]


def _check_headings(path: Path, text: str, options: TextOptions, findings: Findings, *, is_one: bool) -> None:
    """Where documents begin at headings and there are none: refuse the only file, note another."""
    if options.documents != "heading" or HEADING.search(text) is not None:
        return
    rule = f"{_named(path, findings)} has no heading such as = Title =, so it is one document"
    if is_one:
        fix = Fix("read.documents", "paragraph")
        raise findings.fatal("documents", rule, ("Cut it otherwise (", fix, ")."))
    findings.add("documents", "note", rule)


def _plain(path: Path, options: TextOptions, findings: Findings) -> str:
    """The whole of a text file."""
    raw = unpack_bytes(bytes_of(path, findings), options.max_bytes, findings)
    check_nul(raw, findings, _named(path, findings))
    return characters(raw, options.encoding, findings)


def _lines(path: Path, options: TextOptions, findings: Findings) -> Iterator[tuple[int, str]]:
    """Texts of JSON lines; null is none."""
    column = options.column or "text"
    raw = unpack_bytes(bytes_of(path, findings), options.max_bytes, findings)
    for number, item in objects_of(io.BytesIO(raw), len(raw), findings):
        if column not in item:
            item = {compose(name): value for name, value in item.items()}
        if column not in item:
            raise _lacking(path, "text under", column, item, findings, Place(row=number))
        if isinstance(item[column], str):
            yield number, item[column]
        elif item[column] is not None:
            place = Place(row=number, column=column, value=str(item[column]))
            raise findings.fatal("text", "it is no text", "Write it in quotes, or take the line out.", [place])


def _rows(path: Path, options: TextOptions, findings: Findings) -> Iterator[tuple[int, str]]:
    """Texts of a table; other cells are none."""
    reading = FileOptions(encoding=options.encoding, max_bytes=options.max_bytes)
    table = load_texts_table(path, reading, findings)
    column = options.column or ("text" if "text" in table.names or len(table.names) > 1 else table.names[0])
    if column not in table.names:
        raise _lacking(path, "column", column, table.names, findings)
    cells = zip(table.rows.tolist(), table.frame[column], strict=True)
    yield from ((row, cell) for row, cell in cells if isinstance(cell, str))


def _lacking(
    path: Path, what: str, column: str, names: Iterable[str], findings: Findings, *places: Place
) -> Unreadable:
    rule = f"{_named(path, findings)} has no {what} '{quote(column)}'; it has {list_some(names)}"
    fix = ("Name the column of the text (", Fix("read.column", like="NAME"), ").")
    return findings.fatal("columns", rule, fix, places)


def _named(path: Path, findings: Findings) -> str:
    """A file of a folder by its name; the one that the message begins with is it."""
    name = quote(path.name, 80)
    return "it" if name == findings.source else name


def _sound(text: str) -> str:
    """Text without halves of characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _auto(text: str) -> list[str]:
    parts = HEADING.split(text)
    return parts if len(parts) > FEWEST else [text]


CUTS: Mapping[str, Callable[[str], list[str]]] = {
    "auto": _auto,
    "file": lambda text: [text],
    "line": lambda text: text.splitlines(keepends=True),
    "paragraph": lambda text: re.split(r"(?<=\n)(?:[ \t]*\n)+", text),
    "heading": HEADING.split,
}
"""How a text is cut into documents, each with its line ends."""


def looks_like_text(source: object) -> bool:
    """Whether a path is prose in a text file, or a folder of them."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    files = _visible(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    return bool(files) and all(_kind(file) in PLAIN for file in files) and _is_prose(files[0])


def _is_prose(path: Path) -> bool:
    try:
        text = first_bytes(path, HEAD).decode("utf-8", "ignore")
    except BROKEN:
        return False
    return sum(sign.isalpha() or sign == " " for sign in text) > PROSE * len(text)


def read_with_flaws(
    config: LanguageConfig,
    source: object,
    findings: Findings,
    state: object = None,
    *,
    has_target: bool = True,
) -> Samples[Documents]:
    """Documents; a single one is cut for the splits of the training."""
    texts = documents_of(source, config.read, findings, later=state is not None)
    return texts if state is not None else cut(texts, config.split)


def describe_samples(samples: Samples[Documents]) -> Plain:
    """What a check says first of documents; one that was cut for its splits counts as one."""
    documents = ["".join(samples.inputs)] if samples.sizes is None else samples.inputs
    counts = [len(text.split()) for text in documents]
    return {
        "documents": len(documents),
        "characters": f"{sum(map(len, documents)):,}",
        "words": f"{sum(counts):,}",
        "different words": f"{len({word for text in documents for word in text.split()}):,}",
        "words of a document": f"{min(counts):,} to {max(counts):,}",
        "split by": SHARED if samples.official is None or samples.sizes is None else "the names of the files",
    }


def check_unknown(texts: Samples[Documents], findings: Findings) -> None:
    """Note rare words that were replaced before: a score over them is easier than one over the words."""
    count = sum(text.count(UNKNOWN) for text in texts.inputs)
    if count:
        rule = f"{count:,} words are written {UNKNOWN}, as rare ones were replaced"
        findings.add("unknown", "note", rule, "Scores are comparable only with those on the same text.")


TEXT = SampleKind(
    recognises=looks_like_text,
    read=read_with_flaws,
    label=lambda source: source_name(source) if isinstance(source, str | Path) else "texts",
    describe=describe_samples,
    hooks=lambda config: (check_unknown,),
)
