"""JSON, one object on each line: read line by line, every broken one named."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from multiway.data.findings import Findings, Place

MAX_LINE = 16_000_000
BROKEN = "lines hold no sound JSON object"


def read_lines(path: Path, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and object of each line; lines that hold none are a finding, and reading goes on."""
    broken: list[Place] = []
    count = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(_capped(file, findings), start=1):
                if not line.strip():
                    continue
                item = _object(line)
                if item is None:
                    count += 1
                    if len(broken) < 20:
                        broken.append(
                            Place(row=number, unit="line", value=line[:60].decode("utf-8", "replace").strip())
                        )
                else:
                    yield number, item
    except (OSError, EOFError) as error:
        raise findings.fatal("unreadable", f"it cannot be read ({error})", "Write or copy it again.") from None
    if count:
        findings.add("json", "error", f"{count} {BROKEN}", "Correct them, or take them out.", broken, count)


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]


def _capped(file: IO[bytes], findings: Findings) -> Iterator[bytes]:
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            rule = f"a line has more than {MAX_LINE:,} bytes"
            raise findings.fatal("memory", rule, "Write one object on each line.", [Place(row=number, unit="line")])
        yield line


def _object(line: bytes) -> dict[str, Any] | None:
    """The object, or nothing: bad JSON, bad UTF-8, nested without end, numbers without end, or no object."""
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) else None
