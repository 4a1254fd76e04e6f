"""The binary archives of CIFAR-10 and CIFAR-100, as their authors publish them."""

import dataclasses
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import quoted
from multiway.data.images.images import Images
from multiway.data.images.options import ImageOptions
from multiway.data.images.strips import joined
from multiway.errors import DataError

SIDE, CHANNELS = 32, 3


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """What an archive holds: its files of each part, the file of class names, bytes of labels before an image."""

    parts: dict[str, tuple[str, ...]]
    names: str
    labels: int


FORMS = {
    "cifar-10-batches-bin": Form(
        parts={"train": tuple(f"data_batch_{n}.bin" for n in range(1, 6)), "test": ("test_batch.bin",)},
        names="batches.meta.txt", labels=1,
    ),
    "cifar-100-binary": Form(
        parts={"train": ("train.bin",), "test": ("test.bin",)}, names="fine_label_names.txt", labels=2
    ),
}  # fmt: skip
MOST = 2**28
"""Bytes of a file in the archive at most."""


def is_cifar(path: Path) -> bool:
    """Whether a file is such an archive by its name."""
    return path.name in ("cifar-10-binary.tar.gz", "cifar-100-binary.tar.gz")


def read_cifar(path: Path, options: ImageOptions) -> Images:
    """Read both parts; classes are the fine ones.

    Raises:
        DataError: The archive is cut short, or is another.
    """
    where = quoted(path.name, 80)
    try:
        with tarfile.open(path, "r:gz") as archive:
            return _read(archive, where, options)
    except (OSError, EOFError, KeyError, zlib.error, tarfile.TarError) as error:
        reason = quoted(" ".join(str(error).split()), 80)
        raise DataError(f"{where}: it is no sound archive of CIFAR ({reason}). Fetch it again.") from None


def _read(archive: Any, where: str, options: ImageOptions) -> Images:
    files = {member.name: member for member in archive if member.isfile()}
    folder = next((name for name in FORMS if any(file.startswith(f"{name}/") for file in files)), None)
    if folder is None:
        raise DataError(f"{where}: it holds neither CIFAR-10 nor CIFAR-100 in binary. Fetch it again.")

    def content(name: str) -> bytes:
        member = files[f"{folder}/{name}"]
        if member.size > MOST:
            raise DataError(f"{where}: {quoted(name)} declares {member.size:,} bytes, which CIFAR has not.")
        found: bytes = archive.extractfile(member).read()
        return found

    form = FORMS[folder]
    records = {part: [_records(content(name), form, where) for name in names] for part, names in form.parts.items()}
    stacked = {part: np.concatenate(every) for part, every in records.items()}
    values = {part: _values(rows[:, form.labels :]) for part, rows in stacked.items()}
    labels = {part: rows[:, form.labels - 1].astype(np.int64) for part, rows in stacked.items()}
    classes = tuple(name for name in content(form.names).decode().split("\n") if name.strip())
    if max(int(found.max()) for found in labels.values()) >= len(classes):
        raise DataError(f"{where}: a label is none of the {len(classes)} classes. Fetch it again.")
    return joined(where, values, labels, classes, options)


def _records(content: bytes, form: Form, where: str) -> NDArray[np.uint8]:
    size = form.labels + SIDE * SIDE * CHANNELS
    if not content or len(content) % size:
        raise DataError(f"{where}: its files are records of {size} bytes. Got {len(content):,}. Fetch it again.")
    return np.frombuffer(content, np.uint8).reshape(-1, size)


def _values(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return rows.reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)
