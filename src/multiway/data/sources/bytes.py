"""Bytes of a file, unpacked up to a limit: a few bytes can stand for more than memory holds."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path

import psutil

from multiway import files
from multiway.data.findings import Findings, Unreadable, quote
from multiway.data.options import MAX_BYTES as MAX_BYTES
from multiway.data.options import MAX_FILES, Limits
from multiway.errors import Fix, OverBudgetError

UNFOLDED, MOST_UNFOLDED = 64, 2**32
"""Times that many small files or a packed array may unfold to more than that, and the bytes where this ends."""
SMALL, SMALL_SHEETS, SMALL_ARRAYS, SMALL_SCANS, TIMES = 2**26, 2**25, 2**27, 3 * 2**27, 10
"""What a small file may unfold to as text, XML, arrays and a scan, or that many times its bytes if that is more."""
CELLS, OBJECTS = 6_000_000, 800_000
"""What a small packed text may hold: each takes a hundred bytes in memory, however few it takes in the file."""
ZIP = b"PK\x03\x04"
MAX_COLUMNS = 60_000
XZ_MEMORY = 2**28
"""What the dictionary of an xz stream may take."""
BROKEN = (OSError, EOFError, RuntimeError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


class _Several(ValueError):
    """A ZIP archive does not hold exactly one file."""


SECONDS, PER_FILE, PER_BYTE = 60.0, 0.01, 1e-6
"""What reading may take, and what every file that is opened and each of its bytes add to that."""


class _Spending:
    """Seconds of the reading that is under way."""

    def __init__(self, options: Limits) -> None:
        self.start, self.given, self.earned = time.monotonic(), options.max_seconds, SECONDS

    def open(self, path: Path) -> None:
        """Count a file, and refuse it where the time is over."""
        with contextlib.suppress(OSError):
            self.earned += PER_FILE + PER_BYTE * path.stat().st_size
        allowed, spent = self.given or self.earned, time.monotonic() - self.start
        if spent > allowed:
            fix = Fix("read.max_seconds", round(10 * max(allowed, 1)))
            rule = f"reading has taken {spent:,.3g} s so far, and {allowed:,.3g} s are allowed"
            raise OverBudgetError(f"{quote(path, 200)}: {rule}. Raise max_seconds if that is meant (", fix, ").")


_UNDER_WAY: ContextVar[_Spending | None] = ContextVar("spending", default=None)


@contextlib.contextmanager
def within(options: Limits, *sources: object) -> Iterator[None]:
    """While some sources are read; a reading within another counts as part of it.

    Raises:
        OverBudgetError: A folder holds too many files.
    """
    if _UNDER_WAY.get() is not None:
        yield
        return
    for source in sources:
        if isinstance(source, str | Path):
            check_folder(source, options.max_files)
    token = _UNDER_WAY.set(_Spending(options))
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)


def spend(path: Path) -> None:
    """Say that a file is opened: to the reading that is under way, and to the command, which writes nothing onto it.

    Raises:
        DataError: It is a pipe or a device.
        OverBudgetError: The reading's time is over.
    """
    files.check_regular(path)
    spending = _UNDER_WAY.get()
    if spending is not None:
        spending.open(path)
    files.add_input(path)


def check_folder(path: str | Path, most: int = MAX_FILES) -> None:
    """Refuse a folder with too many files, hidden ones not counted, before anything is made of their names.

    Raises:
        OverBudgetError: It has more.
    """
    count, folders = 0, [os.fspath(path)]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                count += 1
                if count > most:
                    raise OverBudgetError(
                        f"{quote(path, 200)}: it holds more than {most:,} files. Give the folder of the data alone; "
                        f"or name the task, and raise max_files (",
                        Fix("read.max_files", 10 * most),
                        ").",
                    )


def unfolded(limit: int, present: int, least: int = SMALL) -> int:
    """Bytes that a file of so many may unfold to: a limit that was set, else the usual one, and less where few are."""
    return limit if limit != MAX_BYTES else min(limit, max(least, TIMES * present))


def unpack_bytes(raw: bytes, limit: int, findings: Findings) -> bytes:
    """Undo gzip, bzip2, xz, Zstandard, or a ZIP archive of one file; other bytes are themselves."""
    form, room = _form_of(raw), free_memory() // 3
    if form is None:
        return raw
    is_usual, limit = limit == MAX_BYTES, unfolded(limit, len(raw))
    try:
        content = FORMS[form][1](raw, min(limit, room) + 1)
    except _Several as error:
        rule = f"it is a ZIP archive of {error} files, and a table is one"
        raise findings.fatal("text", rule, "Unpack it, and give one of them.") from None
    except BROKEN as error:
        what = "it is a ZIP or Excel file that is broken" if form == "ZIP" else f"its {form} stream is broken"
        raise findings.fatal("unreadable", f"{what} ({quote(error, 80)})", "Compress it again.") from None
    if len(content) > limit:
        raise too_large(f"it unpacks to more than {limit:,} bytes", 4 * limit, findings)
    if len(content) > room:
        rule = f"it unpacks to more than {room / 1e9:.2g} GB, a third of the free memory"
        raise findings.fatal("memory", rule, "Write it as Parquet, or keep fewer rows.")
    cells = content.count(b"\n") + max(map(content.count, (b",", b";", b"\t", b"|"))) if is_usual else 0
    if cells > max(CELLS, len(raw)):
        raise too_large(f"its {len(raw):,} bytes unpack to {cells:,} cells", len(content) + 1, findings)
    return content


def allowance(given: int | None, present: int, least: int | None = None, times: int = UNFOLDED) -> int:
    """Bytes that images may unfold to: what is given, else the usual, and more where many bytes are there."""
    return min(MOST_UNFOLDED, max(least or MAX_BYTES, times * present)) if given is None else given


def first_bytes(path: Path, size: int) -> bytes:
    """How a file's content begins, packed or not.

    What cannot be read raises one of `BROKEN`.
    """
    with path.open("rb") as file:
        start = file.read(size)
    form = _form_of(start)
    return start if form is None else FORMS[form][1](path.read_bytes(), size)


def _form_of(raw: bytes) -> str | None:
    return next((form for form, (start, _) in FORMS.items() if raw.startswith(start)), None)


def too_large(rule: str, needed: int, findings: Findings) -> Unreadable:
    """Refuse what takes more than `max_bytes`, and say what lifts the limit."""
    fix = ("Raise max_bytes if that is meant (", Fix("read.max_bytes", needed), "), or keep fewer rows.")
    return findings.fatal("memory", rule, fix)


def bytes_of(path: Path, findings: Findings) -> bytes:
    """Open a file and read it whole, if memory holds it and what is made of it."""
    spend(path)
    return read_bytes(path, findings)


def read_bytes(path: Path, findings: Findings) -> bytes:
    """The same of a file that counts as open already."""
    try:
        size, limit = path.stat().st_size, free_memory() // 3
        if size > limit:
            rule = (
                f"its {size / 1e9:.2g} GB of text need three times that memory, and {limit * 3 / 1e9:.2g} GB are free"
            )
            raise findings.fatal("memory", rule, "Write it as Parquet, or keep fewer rows.")
        return path.read_bytes()
    except OSError as error:
        raise findings.fatal(
            "unreadable", f"it cannot be opened ({error.strerror})", "Check its permissions."
        ) from None


def check_columns(count: int, findings: Findings) -> None:
    """Refuse more columns than any table has."""
    if count > MAX_COLUMNS:
        rule = f"it has {count:,} columns; at most {MAX_COLUMNS:,} are read ({count * 8e-6:.3g} MB for every row)"
        raise findings.fatal("columns", rule, "Split it, or keep fewer series.")


def check_memory(rows: int, columns: int, held: int, findings: Findings) -> None:
    """Refuse what cannot fit: numbers in float64, twice for working on them, on top of what is held already."""
    needed, free = rows * columns * 16 + held, free_memory()
    if needed > free:
        size = f"{rows:,} rows x {columns:,} columns"
        rule = f"{size} would take {needed / 1e9:.2g} GB and {free / 1e9:.2g} GB are free"
        raise findings.fatal("memory", rule, "Keep fewer rows or series.")


def free_memory() -> int:
    """Bytes that can be used without swapping."""
    return int(psutil.virtual_memory().available)


def _unxz(raw: bytes, size: int) -> bytes:
    stream = lzma.LZMADecompressor(memlimit=XZ_MEMORY)
    content = stream.decompress(raw, size)
    if len(content) < size and not stream.eof:
        raise EOFError("it is cut short")
    return content


def _unzstd(raw: bytes, size: int) -> bytes:
    import pyarrow

    with pyarrow.CompressedInputStream(pyarrow.BufferReader(raw), "zstd") as stream:
        return bytes(stream.read(size))


def _unzip(raw: bytes, size: int) -> bytes:
    archive = zipfile.ZipFile(io.BytesIO(raw))
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
    if len(names) != 1:
        raise _Several(len(names))
    return archive.open(names[0]).read(size)


FORMS: dict[str, tuple[bytes, Callable[[bytes, int], bytes]]] = {
    "gzip": (b"\x1f\x8b", lambda raw, size: gzip.open(io.BytesIO(raw)).read(size)),
    "bzip2": (b"BZh", lambda raw, size: bz2.open(io.BytesIO(raw)).read(size)),
    "xz": (b"\xfd7zXZ\x00", _unxz),
    "ZIP": (ZIP, _unzip),
    "Zstandard": (b"\x28\xb5\x2f\xfd", _unzstd),
}
"""First bytes of each form, and the first so many bytes of what it packs."""
