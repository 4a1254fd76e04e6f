"""Arrays in memory as cases."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import quoted
from multiway.data.volumes.cases import Cases
from multiway.data.volumes.options import VolumeOptions, VolumeSplit
from multiway.data.volumes.preparing import prepared_header
from multiway.data.volumes.splitting import split_cases
from multiway.data.volumes.volume import BARE_AXES, Volume, VolumeHeader, check_channels
from multiway.errors import DataError


class ArrayScans:
    """Volumes that are rows of one array, `(cases, channels, *sizes)`, and their masks, `(cases, *sizes)`, if any."""

    def __init__(self, values: NDArray[Any], masks: NDArray[Any] | None = None) -> None:
        self.values, self.masks = values, masks

    def header(self, index: int) -> VolumeHeader:
        """What is known of a volume without looking at its voxels."""
        return VolumeHeader(
            sizes=self.values.shape[2:], channels=self.values.shape[1], dtype=self.values.dtype, affine=None
        )

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
    """Volumes in memory, with their classes `y` or their masks."""

    x: Any
    y: Any = None
    masks: Any = None

    def cases(self, options: VolumeOptions, split: VolumeSplit | None = None) -> Cases:
        """See `cases_of_arrays`."""
        return cases_of_arrays(self.x, self.y, masks=self.masks, options=options, split=split)[0]


def cases_of_arrays(
    x: Any,
    y: Any = None,
    *,
    masks: Any = None,
    options: VolumeOptions,
    split: VolumeSplit | None = None,
    patients: Sequence[Any] | None = None,
) -> tuple[Cases, NDArray[Any]]:
    """Take arrays as cases; the classes are the sorted values of `y`.

    Args:
        x: `(cases, *sizes)` or `(cases, channels, *sizes)`, three sizes.
        y: One class per case; None for prediction, or beside masks.
        masks: Whole numbers, `(cases, *sizes)`.
        options: How to prepare the volumes.
        split: How to split; nothing is split if not given.
        patients: One per case; a patient is never split.

    Returns:
        The cases, and the classes as they are in `y`.

    Raises:
        DataError: Shapes, types or counts do not fit.
    """
    values = _volumes(x)
    count = len(values)
    labels, classes = (None, np.empty(0, object)) if y is None else _labels(y, count)
    if patients is not None and len(patients) != count:
        raise DataError(f"patients: one is needed per case. Got {len(patients)} for {count} volumes.")
    named = None if patients is None else tuple(map(str, patients))
    scans = ArrayScans(values, None if masks is None else _masks(masks, values))
    header = prepared_header(scans.header(0), options, "X")
    width = len(str(count - 1))
    cases = Cases(
        names=tuple(f"{row:0{width}d}" for row in range(count)),
        labels=labels,
        classes=tuple(map(str, classes.tolist())),
        patients=named,
        splits={} if split is None else split_cases(count, labels, named, split, "X"),
        channels=header.channels,
        sizes=header.sizes,
        axes=options.axes or BARE_AXES,
        source="arrays in memory",
        options=options,
        scans=scans,
        dtype=header.dtype,
        has_masks=masks is not None,
    )
    return cases, classes


def _volumes(x: Any) -> NDArray[Any]:
    values = np.asarray(x)
    if values.dtype.kind not in "biuf":
        raise DataError(f"X: volumes hold numbers. Got values of type {values.dtype.name}. Convert them.")
    if values.ndim not in (4, 5) or not values.size:
        raise DataError(
            f"X: volumes are (cases, *sizes) or (cases, channels, *sizes) with three sizes. Got {values.shape}."
        )
    if values.dtype == bool:
        values = values.astype(np.uint8)
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if values.ndim == 5:
        check_channels(values.shape[1], values.shape[2:], "X")
    return values[:, None] if values.ndim == 4 else values


def _masks(y: Any, volumes: NDArray[Any]) -> NDArray[Any]:
    given = np.asarray(y)
    wanted = (len(volumes), *volumes.shape[2:])
    if given.dtype.kind not in "biuf" or given.shape != wanted:
        raise DataError(
            f"y: one mask of whole numbers is needed per volume, {wanted}. Got {given.dtype.name} {given.shape}."
        )
    return given.astype(np.uint8) if given.dtype == bool else given


def _labels(y: Any, count: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    given = np.asarray(y)
    if given.shape != (count,):
        raise DataError(f"y: one class is needed per case, ({count},). Got {given.shape}.")
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.floor(given)).all()):
        bad = given[~np.isfinite(given) | (given != np.floor(given))][0]
        raise DataError(f"y: classes are words or whole numbers. Got {quoted(bad)}.")
    if given.dtype.kind == "O" and all(isinstance(value, bool | np.bool_) for value in given):
        given = given.astype(bool)
    if given.dtype.kind == "O" and not all(isinstance(value, str | int | np.integer) for value in given):
        raise DataError("y: classes are words or whole numbers, each of them. Got other values among them.")
    try:
        classes, labels = np.unique(given, return_inverse=True)
    except TypeError:
        raise DataError("y: classes are all words or all whole numbers. Got both.") from None
    return labels.reshape(-1).astype(np.int64), classes
