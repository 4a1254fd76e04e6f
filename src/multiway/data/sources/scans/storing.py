"""Prepared volumes of one size as one array, in memory or in a temporary file."""

import os
import tempfile
from collections.abc import Iterable

import numpy as np

from multiway.data.sources.bytes import MOST_UNFOLDED
from multiway.data.sources.scans.volume import Array, Volume, VolumeHeader
from multiway.errors import DataError, Fix, Message

MEMORY_LIMIT = MOST_UNFOLDED
"""Bytes from which an array lies in a file: no budget, as nothing is refused for it; each file has had its own."""
SAME_SIZE: Message = (
    "Set size to crop or pad them (", Fix("read.size", like="I,J,K"), "), or resample_to to stretch them."
)  # fmt: skip
"""What to do where volumes of one size are needed."""


def stacked(
    volumes: Iterable[Volume], count: int, header: VolumeHeader, source: str, *, limit: int = MEMORY_LIMIT
) -> Array:
    """Put volumes one at a time into one array `(volumes, channels, *sizes)`.

    Bytes and 16-bit whole numbers stay what they are unless an option made them fractions; all else is float32.

    Above `limit` bytes the array is a temporary file without a name instead of memory.
    """
    store = _empty((count, header.channels, *header.sizes), stored_type(header.dtype), limit, source)
    for row, volume in enumerate(volumes):
        if volume.values.shape != store.shape[1:]:
            shapes = f"shape {store.shape[1:]}. Got {volume.values.shape}. "
            raise DataError(f"{volume.source}: prepared volumes must have {shapes}", *SAME_SIZE)
        store[row] = volume.values
    return store


def stored_type(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """What values of a type are stored as."""
    is_small = dtype.kind in "iu" and dtype.itemsize <= 2 and dtype != np.uint16
    return dtype if is_small else np.dtype(np.float32)


def _empty(shape: tuple[int, ...], dtype: np.dtype[np.generic], limit: int, source: str) -> Array:
    needed = int(np.prod(shape)) * dtype.itemsize
    if needed <= limit:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        try:
            _reserve(file.fileno(), needed)
        except OSError as error:
            raise DataError(
                f"{source}: its prepared volumes need {needed:,} bytes in {tempfile.gettempdir()}: {error.strerror}. "
                f"Free space, set TMPDIR, or choose a smaller size."
            ) from None
        return np.memmap(file, dtype, "r+", shape=shape)


def _reserve(descriptor: int, count: int) -> None:
    """Take the bytes on the disk now, where the system can: a full disk would end the process at a later write."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, count)
    else:
        os.ftruncate(descriptor, count)
