"""Whether a data set in the cache is still what was fetched, by the sha256 of all its bytes."""

import contextlib
import hashlib
from pathlib import Path

from multiway.errors import DataError, RunError
from multiway.files import sha256_of, write_text
from multiway.leftovers import is_temporary

NOTES = ".sha256"
"""Folder of the cache with a file for each set that has no sha256 of its authors: that of its first copy."""


def verified(name: str, path: Path, cache: Path, known_hash: str | None, *, is_new: bool = False) -> Path:
    """The path itself, if what lies there is what it should be; copies outside the cache are their owners'.

    `is_new` was fetched just now and verified by other means: its sha256 holds from now on.
    """
    if not path.is_relative_to(cache):
        return path
    entry = cache / path.relative_to(cache).parts[0]
    if known_hash is not None and _hash_of(path, known_hash.partition(":")[0]) != known_hash:
        raise _changed(name, entry, known_hash)
    if known_hash is None or not known_hash.startswith("sha256:"):
        _compare_with_note(name, entry, cache / NOTES / entry.name, is_new=is_new)
    return path


def _hash_of(path: Path, method: str) -> str:
    with path.open("rb") as file:
        return f"{method}:{hashlib.file_digest(file, method).hexdigest()}"


def _compare_with_note(name: str, entry: Path, note: Path, *, is_new: bool) -> None:
    found = sha256_of_all(entry)
    if is_new or not note.is_file():
        with contextlib.suppress(OSError, RunError):  # a cache that others keep may not be written to
            note.parent.mkdir(parents=True, exist_ok=True)
            write_text(note, found)
    elif note.read_text().strip() != found:
        raise _changed(name, entry, f"sha256:{note.read_text().strip()[:64]}")


def sha256_of_all(entry: Path) -> str:
    """Hash of a file, or of the names and hashes of all files of a folder."""
    if entry.is_file():
        return sha256_of(entry)
    every = sorted(file for file in entry.rglob("*") if file.is_file() and not is_temporary(file.name))
    lines = (f"{file.relative_to(entry).as_posix()}\0{sha256_of(file)}\n" for file in every)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _changed(name: str, entry: Path, wanted: str) -> DataError:
    return DataError(
        f"{name}: {entry} has changed since it was fetched: it is not that of {wanted}. Remove it, and run "
        f"`multiway data fetch {name}`."
    )
