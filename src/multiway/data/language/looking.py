"""What a file is before it is read as text."""

from pathlib import Path
from typing import Any

from multiway.data.language.reading import PLAIN, file_kind
from multiway.data.sources.bytes import BROKEN, first_bytes

HEAD = 4096
PROSE = 0.6
"""Share of letters and blanks from which on a text file is prose and no table of numbers."""


def looks_like_text(source: Any) -> bool:
    """Whether a path is prose in a text file, or a folder of them."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    if path.is_dir():
        files = [each for each in sorted(path.iterdir()) if each.is_file() and not each.name.startswith(".")]
        return bool(files) and all(file_kind(each) in PLAIN for each in files) and _is_prose(files[0])
    return path.is_file() and file_kind(path) in PLAIN and _is_prose(path)


def _is_prose(path: Path) -> bool:
    try:
        text = first_bytes(path, HEAD).decode("utf-8", "ignore")
    except BROKEN:
        return False
    return sum(each.isalpha() or each == " " for each in text) > PROSE * len(text)
