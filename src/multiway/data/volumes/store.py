"""Prepared volumes side by side: in memory up to a limit, else in a temporary file without a name."""

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.volumes.cases import SAME_SIZE, Cases
from multiway.data.volumes.intensity import IntensityScale
from multiway.errors import DataError

MEMORY_LIMIT = 4 * 2**30

Store = NDArray[Any]


def load_values(
    cases: Cases, indices: Sequence[int] | NDArray[np.int64] | None = None, *, limit: int = MEMORY_LIMIT
) -> Store:
    """Prepare cases one at a time into one array.

    Bytes and 16-bit whole numbers stay what they are unless an option made them fractions; all else is float32.

    Args:
        cases: Cases of one size.
        indices: Which, in this order; all if not given.
        limit: Bytes above which the array is a temporary file instead of memory.

    Returns:
        `(cases, channels, *sizes)`.

    Raises:
        DataError: Cases differ in size, a file is not sound, or the disk is full.
    """
    rows = range(cases.count) if indices is None else indices
    if cases.sizes is None or cases.channels is None or cases.dtype is None:
        raise DataError(f"{cases.source}: volumes of one size are needed. {SAME_SIZE}")
    store = _empty((len(rows), cases.channels, *cases.sizes), stored_type(cases.dtype), limit, cases.source)
    for row, index in enumerate(rows):
        volume = cases.prepared(int(index))
        if volume.values.shape != store.shape[1:]:
            raise DataError(
                f"{volume.source}: prepared volumes must have shape {store.shape[1:]}. Got "
                f"{volume.values.shape}. {SAME_SIZE}"
            )
        store[row] = volume.values
    return store


def stored_type(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """What values of a type are stored as."""
    is_small = dtype.kind in "iu" and dtype.itemsize <= 2 and dtype != np.uint16
    return dtype if is_small else np.dtype(np.float32)


def _empty(shape: tuple[int, ...], dtype: np.dtype[np.generic], limit: int, source: str) -> Store:
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


class VolumeBatches:
    """Samples for the training loop: normalised volumes and their labels.

    Args:
        store: `(cases, channels, *sizes)`, as `load_values` gives.
        labels: `(cases,)` for the rows of `store`.
        indices: Rows of `store` that are the samples.
        scale: Applied to each batch.
    """

    def __init__(
        self, store: Store, labels: NDArray[np.int64], indices: NDArray[np.int64], scale: IntensityScale
    ) -> None:
        self._store = torch.from_numpy(store)
        self._labels = torch.as_tensor(labels, dtype=torch.int64)
        self._rows = torch.as_tensor(indices, dtype=torch.int64)
        self.scale = scale

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._rows)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Copy some samples.

        Args:
            index: `(batch,)` int64, each below `len(self)`.

        Returns:
            `volume` `(batch, channels, *sizes)` float32 and `label` `(batch,)` int64.
        """
        rows = self._rows[index.to(self._rows.device)]
        return {"volume": self.scale.apply(self._store.index_select(0, rows)), "label": self._labels[rows]}
