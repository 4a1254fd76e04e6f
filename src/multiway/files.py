"""Writing files so that a reader, or a power cut, sees the old content or the new and nothing between."""

import contextlib
import errno
import functools
import hashlib
import io
import os
import platform
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from multiway.errors import DataError, RunError, StorageError, in_a_line

MARK = ".partial-"
OWNED = re.compile(rf"{re.escape(MARK)}([0-9a-f]{{8}})([0-9a-f]{{8}})[0-9a-f]{{8}}\Z")
"""End of a temporary name: the machine, the process, and what tells its names apart."""
LONGEST_NAME = 255 - len(f".{MARK}") - 24
"""Bytes of a name: what file systems take, less what a temporary name adds."""
RESULT = ".multiway"
"""File of a folder that is one result, with the name of all that belongs to it, a line each."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None)
"""What tells that there is no room; numpy gives no number."""
FIXES: dict[int | None, str] = {
    **dict.fromkeys(FULL, "Make room there, or write elsewhere."),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Write where you may, or ask for the right to."),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), "Its folder is gone or was never there; make it first."),
}


def temporary_name(name: str) -> str:
    """A name that nothing else has, for what will be called `name`; it tells whose it is."""
    return f"{name}{MARK}{machine()}{os.getpid():08x}{secrets.token_hex(4)}"


@functools.cache
def machine() -> str:
    """What tells machines apart that share a disk, and containers of one machine."""
    try:
        processes = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        processes = ""
    return hashlib.blake2b(f"{platform.node()} {processes}".encode(), digest_size=4).hexdigest()


_temporary: set[Path] = set()
_made: ContextVar[list[Path] | None] = ContextVar("made", default=None)
_inputs: ContextVar[set[tuple[int, int]] | None] = ContextVar("inputs", default=None)
"""Device and number of each file and folder that the present command reads, so that links are seen through."""


@contextmanager
def atomic_path(path: Path, needed: int | None = None) -> Iterator[Path]:
    """Yield a temporary path next to `path`; on success it is synced and takes the place of `path`.

    On any error the temporary file is removed and `path` is as it was.

    Args:
        path: What is written.
        needed: Its bytes, where they are known.

    Raises:
        RunError: The present command reads `path`.
        StorageError: The disk is full or the folder cannot be written.

    """
    check_output(path)
    temporary = path.with_name(temporary_name(path.name))
    _temporary.add(temporary)
    try:
        with storing(path, lambda: needed or _size(temporary)):
            temporary.touch()
            mode = temporary.stat().st_mode  # what a new file has here; safetensors makes its files private
            yield temporary
            temporary.chmod(mode)
            sync_file(temporary)
            is_new = not path.exists()
            temporary.replace(path)
            sync_folder(path.parent)
            if is_new:
                note(path)
    finally:
        with contextlib.suppress(OSError):  # a disk that is read-only has no such file, and says so otherwise
            temporary.unlink()
        _temporary.discard(temporary)


def write_text(path: Path, text: str) -> None:
    """Write text atomically, as UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes atomically."""
    write_with(path, lambda temporary: temporary.write_bytes(content), len(content))


def write_array(path: Path, values: Any) -> None:
    """Write an array of numpy atomically, as .npy; through memory, since numpy is silent where a file is cut short."""
    import numpy as np

    content = io.BytesIO()
    np.save(content, values, allow_pickle=False)
    write_bytes(path, content.getvalue())


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays of numpy atomically, as a packed .npz."""
    import numpy as np

    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def write_tensors(path: Path, tensors: Mapping[str, Any], metadata: dict[str, str] | None = None) -> None:
    """Write tensors of torch atomically, as safetensors."""
    from safetensors.torch import save_file

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    needed = sum(tensor.nbytes for tensor in plain.values())
    write_with(path, lambda temporary: save_file(plain, temporary, metadata=metadata), needed)


@contextmanager
def usable(path: Path, fix: str = "Train the run again.") -> Iterator[None]:
    """Say in one line what is wrong with a file of tensors, and what to do."""
    from safetensors import SafetensorError

    try:
        yield
    except (SafetensorError, OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} cannot be used: {in_a_line(error)}. {fix}") from None


def read_tensors(path: Path, fix: str = "Train the run again.") -> dict[str, Any]:
    """Tensors of a file of safetensors by name."""
    from safetensors.torch import load_file

    with usable(path, fix):
        return dict(load_file(path))


def tensor_digest(tensors: Mapping[str, Any], text: str = "") -> str:
    """Hash of a text, and of names, types, shapes and bytes of tensors in the order of their names."""
    import torch

    digest = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_with(path: Path, write: Callable[[Path], object], needed: int | None = None) -> None:
    """Let `write` fill a temporary path that then takes the place of `path`."""
    with atomic_path(path, needed) as temporary:
        write(temporary)


def append_text(path: Path, text: str) -> None:
    """Add text to a file, made if need be."""
    check_output(path)
    with storing(path, lambda: len(text)):
        is_new = not path.exists()
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
        if is_new:
            note(path)


@contextmanager
def atomic_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder next to `path`; on success it takes the place of `path`, on any error it goes.

    With `replace` the folder is one result: an earlier one stays at `path` until then, and goes as a whole. Where
    nothing was written it stays for good.

    Raises:
        RunError: With `replace`, something else than an earlier result lies in `path`.
        StorageError: The folder cannot be made, or something is at `path`.
    """
    if replace:
        path = Path(os.path.realpath(path))
        _check_result(path)
        make_folder(path.parent)
    temporary = path.with_name(temporary_name(f".{path.name}"))
    try:
        with storing(path):
            temporary.mkdir()
        yield temporary
        names = sorted(entry.name for entry in temporary.iterdir())
        if replace and not names:
            return
        with storing(path):
            if replace:
                (temporary / RESULT).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
                sync_file(temporary / RESULT)
            sync_folder(temporary)
            is_new = not path.exists()
            if replace:
                _check_result(path)
            (_take_place if replace else os.rename)(temporary, path)
            sync_folder(path.parent)
    except StorageError as error:
        raise StorageError(str(error).replace(str(temporary), str(path))) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    if is_new:
        note(path, *sorted(path.rglob("*")))


def _check_result(path: Path) -> None:
    """Refuse to take the place of anything but an earlier result, or of an input."""
    check_place(path)
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file, and several are written. Give a folder.")
    entries, own = sorted(path.iterdir()) if path.is_dir() else (), {RESULT, ".DS_Store"}
    for entry in entries:
        check_output(entry)
    if (path / RESULT).is_file():
        own.update((path / RESULT).read_text(encoding="utf-8", errors="replace").splitlines())
    for entry in entries:
        if entry.is_dir() or not (entry.name in own or OWNED.search(entry.name)):
            raise RunError(
                f"{path} holds {entry.name}, which is not of an earlier result, and the folder is replaced as a "
                f"whole. Choose another folder."
            )


def _take_place(new: Path, path: Path) -> None:
    """Rename a folder to `path`; what lies there goes, in the same step where the system can exchange two names."""
    if not path.is_dir() or not any(path.iterdir()):
        new.rename(path)
    elif not _exchange(new, path):
        aside = path.with_name(temporary_name(f".{path.name}"))
        path.rename(aside)
        new.rename(path)
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; False where the system, or the disk, cannot (Linux: renameat2)."""
    import ctypes

    rename: Any = getattr(ctypes.CDLL(None), "renameat2", None)
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename is not None and rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


@contextmanager
def folder_to_fill(path: Path) -> Iterator[Path]:
    """Yield what becomes the folder at `path` when it is whole, with all that this holds by then.

    Only a folder that cannot be renamed, as work is done in it or a disk is mounted there, is filled file by file.
    """
    if not path.is_dir() or not any(path.iterdir()):
        make_folder(path.parent)
        with atomic_folder(path) as made:
            yield made
        return
    path = Path(os.path.realpath(path))
    if path.is_mount() or Path.cwd().is_relative_to(path):
        yield path
        return
    temporary = path.with_name(temporary_name(f".{path.name}"))
    try:
        with storing(path):
            shutil.copytree(path, temporary, symlinks=True, copy_function=_link)
        yield temporary
        with storing(path):
            sync_folder(temporary)
            _take_place(temporary, path)
            sync_folder(path.parent)
    except StorageError as error:
        raise StorageError(str(error).replace(str(temporary), str(path))) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _link(source: str, target: str) -> None:
    """The same file under another name, which is replaced and never written to; a copy where a disk has no links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)


def make_folder(path: Path, *, parents: bool = True) -> None:
    """Make a folder unless it is there."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    with storing(path):
        path.mkdir(parents=parents, exist_ok=True)
    note(*reversed(missing))


@contextmanager
def storing(path: Path, needed: Callable[[], int] | None = None) -> Iterator[None]:
    """Say in one line that something cannot be written, whichever library found it out.

    Raises:
        StorageError: It cannot; the message has the path, and what is needed and free where the disk is full.
    """
    try:
        yield
    except Exception as error:
        known = _as_os_error(error)
        if known is None:
            raise
        reason = os.strerror(known.errno) if known.errno else str(known)
        room = _room(path, needed) if known.errno in FULL else ""
        fix = FIXES.get(known.errno, "Write elsewhere.")
        raise StorageError(
            f"{path} could not be written: {reason}{room}. {fix} What was there is untouched."
        ) from error


def _as_os_error(error: Exception) -> OSError | None:
    """The error of the system behind one; Rust's libraries, safetensors among them, tell its number in words."""
    if isinstance(error, OSError):
        return error
    number = re.search(r"\(os error (\d+)\)", str(error))
    return OSError(int(number[1]), os.strerror(int(number[1]))) if number else None


def _room(path: Path, needed: Callable[[], int] | None) -> str:
    folder = next((folder for folder in path.absolute().parents if folder.exists()), Path("/"))
    size = 0 if needed is None else needed()
    wants = f"it needs {size:,} bytes or more, and " if size else ""
    return f"; {wants}{shutil.disk_usage(folder).free:,} bytes are free"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Take away every file and folder made in this block if it ends with an error; replaced files stay replaced."""
    outer, made = _made.get(), list[Path]()
    token = _made.set(made)
    try:
        yield
    except BaseException:
        take_back()
        raise
    finally:
        _made.reset(token)
    if outer is not None:
        outer += made


def note(*paths: Path) -> None:
    """Remember what was made, for `all_or_nothing`."""
    made = _made.get()
    if made is not None:
        made += paths


def take_back() -> None:
    """Remove unfinished files, and what the present `all_or_nothing` has made."""
    for path in [*(_made.get() or []), *_temporary][::-1]:
        with contextlib.suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()


@contextmanager
def sparing_inputs() -> Iterator[None]:
    """While a command runs, refuse to write onto what it reads; a command within another belongs to it."""
    if _inputs.get() is not None:
        yield
        return
    token = _inputs.set(set())
    try:
        yield
    finally:
        _inputs.reset(token)


def add_input(*paths: Path | str | None) -> None:
    """Remember files and folders that the present command reads; a path where nothing lies is left out."""
    inputs = _inputs.get()
    if inputs is not None:
        inputs.update(place for path in paths if path and (place := _find_place(path)) is not None)


def check_output(path: Path) -> None:
    """Refuse to write onto an input, be it by another name or through a link, and into a folder that is one.

    Raises:
        RunError: The present command reads what lies there, or all that lies in a folder above.
    """
    inputs = _inputs.get()
    if not inputs:
        return
    if _find_place(path) in inputs:
        raise RunError(
            f"{path} is an input of this command, and nothing is written onto an input. Choose another place."
        )
    above = next((folder for folder in Path(os.path.realpath(path)).parents if _find_place(folder) in inputs), None)
    if above is not None:
        raise RunError(f"{path} lies in {above}, which is an input of this command. Choose a place outside.")


def _find_place(path: Path | str) -> tuple[int, int] | None:
    """Device and number of what lies at a path, links followed; None where nothing does."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def check_place(*paths: Path | None) -> None:
    """Whether something can be made at each path; call it before long work.

    Raises:
        RunError: A name is none, too long or no text; or what is above is no folder, or cannot be written; or the
            present command reads what lies there.
    """
    for path in paths:
        if path is not None:
            if path.name in ("", ".."):
                raise RunError(f"{path} is no name for what is written. Name a file or folder in it.")
            if any("\udc80" <= character <= "\udcff" for character in str(path)):
                raise RunError(f"{str(path)!a} holds bytes that are no UTF-8. Choose another name.")
            size = max(len(os.fsencode(part)) for part in path.parts)
            if size > LONGEST_NAME:
                raise RunError(
                    f"{path.name[:40]}… has a name of {size} bytes; the most is {LONGEST_NAME}. Choose a shorter one."
                )
            above = next(folder for folder in path.absolute().parents if folder.exists())
            if not above.is_dir():
                raise RunError(f"{path} cannot be made: {above} is a file. Choose another place.")
            if not os.access(above, os.W_OK | os.X_OK):
                raise RunError(f"{path} cannot be made: the folder {above} cannot be written. Choose another place.")
            check_output(path)


def check_regular(path: Path | str) -> None:
    """Refuse what need not end when it is read.

    Raises:
        DataError: It is neither file nor folder.
    """
    given = Path(path)
    if given.exists() and not (given.is_file() or given.is_dir()):
        raise DataError(f"{path} is a pipe or a device, which need not end. Write what it gives into a file.")


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


def sha256_of(path: Path) -> str:
    """Hash of a file's bytes, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
