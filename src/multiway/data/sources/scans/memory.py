"""Volumes in memory, as cases."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import quoted
from multiway.data.sources.scans.cases import Cases, Scans, scan_cases
from multiway.data.sources.scans.preparing import prepared_header
from multiway.data.sources.scans.reading import VolumeOptions
from multiway.data.sources.scans.volume import Array, Volume, VolumeHeader, check_channels
from multiway.errors import DataError

LABEL_KINDS = {"i": "number", "u": "number", "f": "number", "b": "bool"}
"""By the kind of a NumPy type; all else is text."""


class ArrayFiles:
    """Volumes that are rows of one array, `(cases, channels, *sizes)`, and their masks, `(cases, *sizes)`, if any."""

    def __init__(self, values: Array, masks: Array | None = None) -> None:
        self.values, self.masks = values, masks

    def file(self, index: int) -> None:
        """Nothing: one of them holds all."""

    def header(self, index: int) -> VolumeHeader:
        """What is known of a volume without looking at its voxels."""
        channels, *sizes = self.values.shape[1:]
        return VolumeHeader(sizes=tuple(sizes), channels=channels, dtype=self.values.dtype, affine=None)

    def volume(self, index: int) -> Volume:
        """One row."""
        return Volume(values=self.values[index], affine=None, source=self.place(index))

    def mask(self, index: int) -> Volume | None:
        """One row of the masks."""
        if self.masks is None:
            return None
        return Volume(values=self.masks[index][None], affine=None, source=f"y[{index}]")

    def place(self, index: int) -> str:
        """Which row."""
        return f"X[{index}]"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Arrays:
    """Volumes in memory.

    x: `(cases, *sizes)` or `(cases, channels, *sizes)`, three sizes.
    y: One class per case; None for prediction, or with masks.
    masks: Whole numbers, `(cases, *sizes)`.
    patients: One per case; a patient is never split.
    """

    x: Any
    y: Any = None
    masks: Any = None
    patients: Sequence[Any] | None = None

    def cases(self, options: VolumeOptions) -> Cases:
        """The arrays as cases; the classes are the sorted values of `y`."""
        values = _volumes(self.x)
        count = len(values)
        labels, classes = (None, np.empty(0, object)) if self.y is None else _labels(self.y, count)
        if self.patients is not None and len(self.patients) != count:
            raise DataError(f"patients: one is needed per case. Got {len(self.patients)} for {count} volumes.")
        files = ArrayFiles(values, None if self.masks is None else _masks(self.masks, values))
        scans = Scans(
            files=files, options=options, rows=np.arange(count), source="arrays in memory", is_even=True,
            header=prepared_header(files.header(0), options, "X"), has_masks=self.masks is not None,
            label_kind=LABEL_KINDS.get(classes.dtype.kind, "text"),
        )  # fmt: skip
        return scan_cases(
            scans, tuple(f"{row:0{len(str(count - 1))}d}" for row in range(count)), labels=labels,
            classes=tuple(map(str, classes.tolist())),
            patients=None if self.patients is None else tuple(map(str, self.patients)),
        )  # fmt: skip


def _volumes(x: Any) -> Array:
    values = np.asarray(x)
    if values.dtype.kind not in "biuf":
        raise DataError(f"X: volumes hold numbers. Got values of type {values.dtype.name}. Convert them.")
    if values.ndim not in (4, 5) or not values.size:
        raise DataError(
            f"X: volumes are (cases, *sizes) or (cases, channels, *sizes) with three sizes. Got {values.shape}."
        )
    if values.dtype in (bool, np.float16):
        values = values.astype(np.uint8 if values.dtype == bool else np.float32)
    if values.ndim == 5:
        check_channels(values.shape[1], values.shape[2:], "X")
    return values[:, None] if values.ndim == 4 else values


def _masks(y: Any, volumes: Array) -> Array:
    given, shape = np.asarray(y), (len(volumes), *volumes.shape[2:])
    if given.dtype.kind not in "biuf" or given.shape != shape:
        raise DataError(
            f"y: one mask of whole numbers is needed per volume, {shape}. Got {given.dtype.name} {given.shape}."
        )
    return given.astype(np.uint8) if given.dtype == bool else given


def _labels(y: Any, count: int) -> tuple[NDArray[np.int64], Array]:
    given = np.asarray(y)
    if given.shape != (count,):
        raise DataError(f"y: one class is needed per case, ({count},). Got {given.shape}.")
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.floor(given)).all()):
        bad = given[~np.isfinite(given) | (given != np.floor(given))][0]
        raise DataError(f"y: classes are words or whole numbers. Got {quoted(bad)}. Regression on scans is not there.")
    if given.dtype.kind == "O" and all(isinstance(value, bool | np.bool_) for value in given):
        given = given.astype(bool)
    if given.dtype.kind == "O" and not all(isinstance(value, str | int | np.integer) for value in given):
        raise DataError("y: classes are words or whole numbers, each of them. Got other values among them.")
    try:
        classes, labels = np.unique(given, return_inverse=True)
    except TypeError:
        raise DataError("y: classes are all words or all whole numbers. Got both.") from None
    return labels.reshape(-1).astype(np.int64), classes
