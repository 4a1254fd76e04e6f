"""What a volume is: values per channel, and where its voxels lie in the body."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.errors import DataError

Array = NDArray[Any]
Affine = NDArray[np.float64]
"""`(4, 4)`, from voxel indices to millimetres right, anterior and superior."""
BARE_AXES = ("depth", "height", "width")
MOST_COLOURS = 4
POSITIVE, NEGATIVE = "RAS", "LPI"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Where voxels lie.

    affine: None for a bare array.
    axes: A name per axis.
    is_placed: Whether the affine is said by the file, and not the usual one where a file says none.
    """

    affine: Affine | None
    axes: tuple[str, ...] = BARE_AXES
    is_placed: bool = True

    @property
    def spacing(self) -> tuple[float, ...] | None:
        """Millimetres from voxel to voxel along each axis."""
        return None if self.affine is None else spacing_of(self.affine)

    @property
    def orientation(self) -> str | None:
        """Where each axis points, as three of R L A P S I; the nearest for an oblique scan."""
        return None if self.affine is None else orientation_of(self.affine)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class VolumeHeader(Grid):
    """What a file says of its volume before any voxel is read.

    lacking: What its slices say of others that are not there, in words; empty for nothing.
    """

    sizes: tuple[int, ...]
    channels: int
    dtype: np.dtype[np.generic]
    lacking: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes that its values take in memory."""
        return self.channels * int(self.dtype.itemsize) * math.prod(self.sizes)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Volume(Grid):
    """One scan.

    values: `(channels, *sizes)`, in the type of the file.
    source: What messages call it.
    """

    values: Array
    source: str

    @property
    def sizes(self) -> tuple[int, ...]:
        """Voxels along each axis."""
        return self.values.shape[1:]

    @property
    def channels(self) -> int:
        """Number of values per voxel."""
        return int(self.values.shape[0])

    @property
    def header(self) -> VolumeHeader:
        """What its file would say of it."""
        return VolumeHeader(
            sizes=self.sizes,
            channels=self.channels,
            dtype=self.values.dtype,
            affine=self.affine,
            axes=self.axes,
            is_placed=self.is_placed,
        )


def axes_of(affine: Affine | None) -> tuple[str, ...]:
    """Names of the axes: x, y and z by the direction that each follows, depth, height and width without an affine."""
    return BARE_AXES if affine is None else tuple("xyz"[_row(letter)] for letter in orientation_of(affine))


def check_channels(channels: int, sizes: Sequence[int], where: str) -> None:
    """Refuse an array whose channels surely stand last: of its four axes only the last one is short."""
    if sizes[-1] <= MOST_COLOURS < min(channels, *sizes[:-1]):
        raise DataError(
            f"{where}: channels stand before the three sizes. Got {channels} channels of {sizes_in_words(sizes)}, as "
            f"if they stood last. Move the last axis (numpy.moveaxis(x, -1, -4)); a short axis of space stands first "
            f"among the sizes."
        )


def spacing_of(affine: Affine) -> tuple[float, ...]:
    """Millimetres from voxel to voxel along each axis: the lengths of the affine's columns."""
    return tuple(float(length) for length in np.linalg.norm(affine[:3, :3], axis=0))


def millimetres(spacing: Sequence[float] | None, digits: int = 3) -> str:
    """A spacing in words."""
    return "none" if spacing is None else " x ".join(f"{step:.{digits}g}" for step in spacing) + " mm"


def sizes_in_words(sizes: Sequence[int], times: str = " x ") -> str:
    """Sizes in words."""
    return times.join(map(str, sizes))


def orientation_of(affine: Affine) -> str:
    """Where each axis points, as three of R L A P S I, each direction of the body once.

    Of the six ways to give axes to directions, the one that follows the axes best: the largest sum of cosines.
    """
    cosines = affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)
    best = max(itertools.permutations(range(3)), key=lambda way: sum(abs(cosines[way[i], i]) for i in range(3)))
    return "".join(POSITIVE[row] if cosines[row, axis] >= 0 else NEGATIVE[row] for axis, row in enumerate(best))


def _row(letter: str) -> int:
    return max(POSITIVE.find(letter), NEGATIVE.find(letter))


def check_affine(affine: Affine, where: str) -> Affine:
    """The affine itself if it is finite and gives every axis a direction of its own."""
    shown = "; ".join(" ".join(f"{value:.4g}" for value in row) for row in affine[:3])
    if not np.isfinite(affine).all():
        raise DataError(f"{where}: its affine must be finite. Got {shown}. Write its geometry again.")
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(affine[:3, :3], axis=0)
        is_sound = bool((lengths > 0).all() and np.isfinite(lengths).all())
        volume = abs(np.linalg.det(affine[:3, :3] / lengths)) if is_sound else 0.0
    if not volume > 1e-6:
        raise DataError(
            f"{where}: its affine is singular, so some axis has no direction or no spacing of its own. "
            f"Got {shown}. Write its geometry again, or give the voxels as .npy."
        )
    return affine


def turns(affine: Affine, orientation: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Order in which to take the axes, and those of the result to flip, so that they point as an orientation says."""
    now = orientation_of(affine)
    order = tuple(next(axis for axis in range(3) if _row(now[axis]) == _row(letter)) for letter in orientation)
    return order, tuple(axis for axis, letter in enumerate(orientation) if now[order[axis]] != letter)


def turn_affine(affine: Affine, sizes: Sequence[int], order: Sequence[int], flips: Sequence[int]) -> Affine:
    """Affine after axes of these sizes are taken in another order and some of the result are flipped."""
    result = affine.copy()
    result[:, :3] = affine[:, list(order)]
    for axis in flips:
        result[:3, 3] += result[:3, axis] * (sizes[order[axis]] - 1)
        result[:, axis] *= -1
    return result


def affine_of_grid(affine: Affine, scales: Sequence[float], offsets: Sequence[float]) -> Affine:
    """Affine of a grid whose voxel j lies at `scale * j + offset` of the old one, on each axis."""
    result = affine.copy()
    result[:3, 3] = affine[:3, :3] @ np.asarray(offsets) + affine[:3, 3]
    result[:3, :3] = affine[:3, :3] * np.asarray(scales)
    return result
