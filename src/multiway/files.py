"""Writing files so that a reader, or a power cut, sees the old content or the new and nothing between."""

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from multiway.errors import RunError

TEMPORARY_MARK = ".partial-"


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is synced and takes the place of `path`.

    On any error the temporary file is removed and `path` is as it was.

    Raises:
        RunError: The disk is full or the folder cannot be written.

    """
    temporary = path.with_name(temporary_name(path.name))
    try:
        temporary.touch()
        mode = temporary.stat().st_mode  # what a new file has here; safetensors makes its files private
        yield temporary
        temporary.chmod(mode)
        sync_file(temporary)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise RunError(f"{path} could not be written: {error.strerror or error}. The old file is untouched.") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write text atomically, as UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes atomically."""
    write_with(path, lambda temporary: temporary.write_bytes(content))


def write_with(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary path that then takes the place of `path`."""
    with atomic_path(path) as temporary:
        write(temporary)


def sync_file(path: Path) -> None:
    """Wait until the file's bytes are on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the folder's entries (a rename, say) are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial(folder: Path) -> None:
    """Remove what an interrupted `atomic_path` left below `folder`, and nothing that is only called alike."""
    for path in folder.rglob(f"*{TEMPORARY_MARK}*"):
        if is_temporary(path.name) and path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)


def temporary_name(name: str) -> str:
    """A name that nothing else has, for what will be called `name`."""
    return f"{name}{TEMPORARY_MARK}{secrets.token_hex(4)}"


def is_temporary(name: str) -> bool:
    """Whether a name is one of `temporary_name`."""
    return re.search(rf"{re.escape(TEMPORARY_MARK)}[0-9a-f]{{8}}$", name) is not None


def sha256_of(path: Path) -> str:
    """Hash of a file's bytes, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
