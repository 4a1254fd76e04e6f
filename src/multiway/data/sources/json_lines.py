"""JSON, one object on each line: read line by line, every broken one named."""

import contextlib
import gzip
import itertools
import json
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd

from multiway.data.findings import Findings, Place, Unreadable
from multiway.data.sources.bytes import free_memory, too_large
from multiway.data.sources.cells import sound_text
from multiway.data.sources.columns import RawTable

MAX_LINE = 16_000_000
BROKEN = "lines hold no sound JSON object"
ENDINGS = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")
IN_MEMORY = 4
"""Bytes that one byte of JSON may take once read."""
FIRST = 100
"""Objects whose keys are looked at before a file is read."""
NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float")


def is_line_file(path: Path) -> bool:
    """Whether a file holds JSON lines by its name."""
    return path.name.lower().endswith(ENDINGS)


def load_lines(path: Path, limit: int, findings: Findings) -> RawTable:
    """Objects as rows of a table: columns of numbers as such, others as they came."""
    size = path.stat().st_size
    if size * IN_MEMORY > free_memory():
        rule = f"its {size / 1e9:.2g} GB of text may need {IN_MEMORY} times that memory"
        raise findings.fatal("memory", rule, "Write it as Parquet, or keep fewer texts.")
    rows = dict(read_lines(path, limit, findings))
    if not rows:
        raise findings.fatal("empty", "it holds no objects", "Give one JSON object on each line.")
    named = [{sound_text(name): value for name, value in item.items()} for item in rows.values()]
    frame = pd.DataFrame(named, dtype=object)
    numbers = [name for name in frame.columns if pd.api.types.infer_dtype(frame[name], skipna=False) in NUMBERS]
    frame[numbers] = frame[numbers].infer_objects()
    return RawTable.whole(frame, list(rows))


def names_of_line(path: Path) -> list[str]:
    """Keys of the first objects; what is no sound file is judged where it is read."""
    with contextlib.suppress(Unreadable), contextlib.closing(read_lines(path, MAX_LINE, Findings(""))) as rows:
        return list(dict.fromkeys(sound_text(key) for _, item in itertools.islice(rows, FIRST) for key in item))
    return []


def read_lines(path: Path, limit: int, findings: Findings) -> Generator[tuple[int, dict[str, Any]]]:
    """Number and object of each line; lines that hold none are a finding, and reading goes on.

    A packed file may unfold to no more bytes than the limit.
    """
    try:
        with path.open("rb") as file, _unpack(file) as lines:
            yield from objects_of(lines, limit if lines is not file else path.stat().st_size, findings)
    except (OSError, EOFError, zlib.error) as error:
        raise findings.fatal("unreadable", f"it cannot be read ({error})", "Write or copy it again.") from None


def objects_of(lines: IO[bytes], most: int, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same of lines that are open already, and of so many bytes at most."""
    broken: list[Place] = []
    count = 0
    for number, line in enumerate(_cap(lines, most, findings), start=1):
        if not line.strip():
            continue
        item = _object(line)
        if item is None:
            count += 1
            if len(broken) < 20:
                broken.append(Place(row=number, unit="line", value=line[:60].decode("utf-8", "replace").strip()))
        else:
            yield number, item
    if count:
        findings.add("json", "error", f"{count} {BROKEN}", "Correct them, or take them out.", broken, count)


def _unpack(file: IO[bytes]) -> IO[bytes]:
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return gzip.open(file) if packed else file  # type: ignore[return-value]


def _cap(file: IO[bytes], most: int, findings: Findings) -> Iterator[bytes]:
    number = read = 0
    while line := file.readline(MAX_LINE + 1):
        number, read = number + 1, read + len(line)
        if len(line) > MAX_LINE:
            rule = f"a line has more than {MAX_LINE:,} bytes"
            raise findings.fatal("memory", rule, "Write one object on each line.", [Place(row=number, unit="line")])
        if read > most:
            raise too_large(f"it unpacks to more than {most:,} bytes", 4 * most, findings)
        yield line


def _object(line: bytes) -> dict[str, Any] | None:
    """The object, or nothing: bad JSON, bad UTF-8, nested without end, numbers without end, or no object."""
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) else None
