"""NumPy's files, read without its unpickler, header and size checked first; samples and labels in them by name."""

import contextlib
import dataclasses
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import list_some, quote
from multiway.data.samples import SPELLINGS
from multiway.data.sources.bytes import spend
from multiway.data.targets import label_cells
from multiway.errors import DataError, Fix, MultiwayError

MAGIC = b"\x93NUMPY"
MAX_HEADER = 10_000
MAX_MEMBERS = 1000
MOST_DEFLATED = 1032
"""No byte of a deflate stream stands for more bytes than this."""
BLOCK = 1 << 20

_ENTRY = r"""'(?:descr'\s*:\s*'[^']*'|fortran_order'\s*:\s*(?:True|False)|shape'\s*:\s*\([\d\s,L]*\))"""
_HEADER = re.compile(r"\{\s*(?:" + _ENTRY + r"\s*,?\s*){3}\}\s*")
_TYPE = re.compile(r"[<>|=]?([biuf])(\d{1,2})")
_KNOWN_TYPES = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
_WORDS = re.compile(r"[<>|=]?(U[1-9]\d{0,3}|M8\[\w{1,2}\])")
LAST_CHARACTER = 0x10FFFF
ALL = "all"
"""The part of samples that no split is known of."""
WHOLE = (("images", "labels"), ("x", "y"), ("X", "y"), ("data", "labels"))
BY_PART = (("{}_images", "{}_labels"), ("x_{}", "y_{}"), ("X_{}", "y_{}"))


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ArrayHeader:
    """Form of an array in a file.

    start: Bytes before its values.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    is_fortran: bool
    start: int

    @property
    def nbytes(self) -> int:
        """Bytes of its values, exactly, however large the sizes."""
        count = self.dtype.itemsize
        for size in self.shape:
            count *= size
        return count


def check_bytes(declared: int, present: int | None, limit: int, where: str, what: str = "an array") -> None:
    """Refuse an array larger than the bytes that are there, where that is known, or than the limit."""
    if present is not None and declared > present:
        raise DataError(
            f"{where}: its header declares {declared:,} bytes of values and the file holds at most {present:,}. "
            f"It is cut short or its header lies; write or copy it again."
        )
    if declared > limit:
        raise DataError(
            f"{where}: {what} may take {limit:,} bytes. This one takes {declared:,}. Raise max_bytes if that is "
            f"meant (",
            Fix("read.max_bytes", declared),
            ").",
        )


def read_array_header(stream: IO[bytes], where: str, *, words: bool = False) -> ArrayHeader:
    """Read the header of a .npy stream; only plain numbers are taken, and words where they may be."""
    start = stream.read(8)
    if len(start) < 8 or start[:6] != MAGIC or start[6] not in (1, 2, 3):
        raise DataError(f"{where}: it is no NumPy array, its first bytes are wrong. Write it with numpy.save.")
    width = 2 if start[6] == 1 else 4
    counted = stream.read(width)
    length = int.from_bytes(counted, "little")
    text = stream.read(length) if length <= MAX_HEADER else b""
    if len(counted) < width or len(text) < length or not text:
        raise DataError(f"{where}: its array header is cut short or too long ({length:,} bytes). Write it again.")
    return _parse(text.decode("latin-1"), 8 + width + length, where, words)


def _parse(text: str, start: int, where: str, words: bool) -> ArrayHeader:
    if "'|O'" in text or re.search(r"descr'\s*:\s*\[", text):
        raise DataError(
            f"{where}: it holds Python objects or records, which are never loaded. Save a plain array of numbers."
        )
    parts = {name: re.findall(f"'{name}'" + r"\s*:\s*('[^']*'|True|False|\([^)]*\))", text) for name in _FIELDS}
    if not _HEADER.fullmatch(text) or any(len(values) != 1 for values in parts.values()):
        raise DataError(f"{where}: its array header is not NumPy's: {quote(text, 80)}. Write it with numpy.save.")
    descr = parts["descr"][0].strip("'")
    kind = _TYPE.fullmatch(descr)
    if not (words and _WORDS.fullmatch(descr)) and (kind is None or "".join(kind.groups()) not in _KNOWN_TYPES):
        kinds = "plain numbers or words" if words else "plain numbers"
        raise DataError(f"{where}: its values must be {kinds}. Got type {quote(descr)}. Convert them first.")
    digits = parts["shape"][0].strip("()").replace("L", "").split(",")
    sizes = [part.strip() for part in digits if part.strip()]
    if not all(part.isdecimal() and len(part) < 16 for part in sizes):
        raise DataError(f"{where}: its array header is not NumPy's: {quote(text, 80)}. Write it with numpy.save.")
    return ArrayHeader(
        shape=tuple(map(int, sizes)), dtype=np.dtype(descr), is_fortran=parts["fortran_order"][0] == "True", start=start
    )


_FIELDS = ("descr", "fortran_order", "shape")


def _fill(stream: IO[bytes], header: ArrayHeader, where: str) -> NDArray[np.generic]:
    """Values from a stream that stands at them, in the machine's byte order; the sizes are checked already."""
    count = header.nbytes // header.dtype.itemsize
    flat = np.empty(count, header.dtype)
    into = flat.view(np.uint8).data
    done = 0
    while done < len(into):
        block = stream.read(min(BLOCK, len(into) - done))
        if not block:
            raise DataError(
                f"{where}: it ends after {done:,} of {len(into):,} bytes of values. Write or copy it again."
            )
        into[done : done + len(block)] = block
        done += len(block)
    if stream.read(1):  # also what makes zipfile compare the checksum
        raise DataError(f"{where}: it goes on after the {len(into):,} bytes that its header declares. Write it again.")
    if header.dtype.kind == "U" and (flat.view(header.dtype.str[0] + "u4") > LAST_CHARACTER).any():
        raise DataError(f"{where}: it holds what is no character. Write or copy it again.")
    native = flat.astype(header.dtype.newbyteorder("="), copy=False)
    return native.reshape(header.shape, order="F" if header.is_fortran else "C")


def read_npy_header(path: Path, limit: int, where: str, *, words: bool = False) -> ArrayHeader:
    """Header of a .npy file whose size is in order."""
    with open_file(path, where) as stream:
        header = read_array_header(stream, where, words=words)
        check_bytes(header.nbytes, path.stat().st_size - header.start, limit, where)
        return header


def read_npy(path: Path, limit: int, where: str, *, words: bool = False) -> NDArray[np.generic]:
    """Array of a .npy file."""
    header = read_npy_header(path, limit, where, words=words)
    with open_file(path, where) as stream:
        stream.seek(header.start)
        return _fill(stream, header, where)


class Archive:
    """A .npz file: its arrays by name, each read on demand."""

    def __init__(self, path: Path, limit: int, where: str) -> None:
        self.path, self.limit, self.where = path, limit, where
        spend(path)
        with self._open() as archive:
            members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise DataError(f"{where}: an archive may hold {MAX_MEMBERS} arrays. Got {len(members):,}. Split it.")
        self.names = tuple(member.filename.removesuffix(".npy") for member in members)
        if len(set(self.names)) < len(self.names):
            raise DataError(f"{where}: two of its arrays have one name: {list_some(self.names)}. Write it again.")
        self._members = dict(zip(self.names, members, strict=True))

    def header(self, name: str, *, words: bool = False) -> ArrayHeader:
        """Form of one array, its size compared with the limit and with the bytes that are there."""
        with self._open() as archive, self._stream(archive, name) as stream:
            return self._check(stream, name, words)

    def read(self, name: str, *, words: bool = False) -> NDArray[np.generic]:
        """One array of numbers, or also of words."""
        with self._open() as archive, self._stream(archive, name) as stream:
            return _fill(stream, self._check(stream, name, words), f"{self.where}, array '{quote(name)}'")

    def _check(self, stream: IO[bytes], name: str, words: bool) -> ArrayHeader:
        where = f"{self.where}, array '{quote(name)}'"
        header = read_array_header(stream, where, words=words)
        member = self._members[name]
        held = min(member.compress_size, self.path.stat().st_size)
        unfolded = held if member.compress_type == zipfile.ZIP_STORED else held * MOST_DEFLATED
        check_bytes(header.nbytes, min(unfolded, member.file_size) - header.start, self.limit, where)
        return header

    @contextlib.contextmanager
    def _open(self) -> Iterator[zipfile.ZipFile]:
        with translate_errors(self.where), zipfile.ZipFile(self.path) as archive:
            yield archive

    def _stream(self, archive: zipfile.ZipFile, name: str) -> IO[bytes]:
        if name not in self._members:
            raise DataError(f"{self.where}: it has no array '{quote(name)}'. It holds {list_some(self.names)}.")
        member = self._members[name]
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f"{self.where}: '{quote(name)}' is encrypted or packed unusually. Use numpy.savez.")
        return archive.open(member)


@contextlib.contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Say in one line what a broken archive makes zipfile, zlib and the system say."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{where}: there is no such file. Give the path of a volume or of a table of them.") from None
    except OSError as error:
        reason = error.strerror or quote(str(error), 80)
        raise DataError(f"{where}: it cannot be read ({reason}). Check the file and its permissions.") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        UnicodeError,
        ValueError,
        OverflowError,
        MemoryError,
    ) as error:
        if isinstance(error, MultiwayError):
            raise
        raise DataError(
            f"{where}: it is broken ({quote(' '.join(str(error).split()) or type(error).__name__, 80)}). "
            f"Write or copy it again."
        ) from None


@contextlib.contextmanager
def open_file(path: Path, where: str) -> Iterator[IO[bytes]]:
    """A file open for reading; what goes wrong is said in one line."""
    with translate_errors(where), path.open("rb") as stream:
        yield stream


class ArrayPair(NamedTuple):
    """Names of an array of samples and of that of their labels, where there is one."""

    samples: str
    labels: str | None


def pairs_of(archive: Archive) -> dict[str, ArrayPair]:
    """Arrays of samples and labels by part, which is `ALL` where there is one pair; none under other names."""
    whole = [ArrayPair(*names) for names in WHOLE if names[0] in archive.names]
    if whole:
        return {ALL: _present(whole[0], archive)}
    spelt = [
        (part, ArrayPair(x.format(word), y.format(word)))
        for part, words in SPELLINGS.items()
        for x, y in BY_PART
        for word in words
    ]
    named = {part: pair for part, pair in reversed(spelt) if pair.samples in archive.names}
    return {part: _present(named[part], archive) for part in SPELLINGS if part in named}


def _present(pair: ArrayPair, archive: Archive) -> ArrayPair:
    return pair if pair.labels in archive.names else ArrayPair(pair.samples, None)


def labels_in(
    archive: Archive, name: str, count: int, *, words: bool = False, numbers: bool = False, several: bool = False
) -> list[Any]:
    """Labels of so many samples: whole numbers, or also words, or finite numbers.

    several: A sample has any number of them: columns of 0 and 1, or words as `cat|dog`.
    """
    header = archive.header(name, words=words)
    if several and header.dtype.kind in "iub" and header.shape[:-1] == (count,):
        return list(label_cells(archive.read(name)))
    if header.dtype.kind not in ("iubU" if words else "iuf" if numbers else "iub") or header.shape not in (
        (count,),
        (count, 1),
    ):
        kind = "whole number or word" if words else "number" if numbers else "whole number"
        raise DataError(
            f"{archive.where}: '{quote(name)}' must hold one {kind} for each of {count} images. "
            f"Got {header.dtype.name} {header.shape}. Save as many labels as images."
        )
    given = archive.read(name, words=words).reshape(-1)
    if numbers and not np.isfinite(given).all():
        raise DataError(f"{archive.where}: '{quote(name)}' holds a number that is not finite. Correct it.")
    labels = list((given if given.dtype.kind == "U" else given.astype(float if numbers else np.int64)).tolist())
    if "" in labels and not several:
        raise DataError(f"{archive.where}: '{quote(name)}' names no class for image {labels.index('')}. Fill it in.")
    return labels


def name_rows(counts: Mapping[str, int]) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Names of samples that follow each other part by part, and the split of each; a part `ALL` is no split."""
    rows = [(part, row) for part, count in counts.items() for row in range(count)]
    official = None if ALL in counts else tuple(part for part, _ in rows)
    return tuple(f"{part}-{row:05d}" for part, row in rows), official
