"""What a volume is: values per channel, and where its voxels lie in the body."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.volumes.geometry import orientation_of, spacing_of
from multiway.errors import DataError

BARE_AXES = ("depth", "height", "width")
MOST_COLOURS = 4
LETTER_AXES = {"R": "x", "L": "x", "A": "y", "P": "y", "S": "z", "I": "z"}


class Placed:
    """What lies somewhere in the body, where there is an affine."""

    affine: NDArray[np.float64] | None

    @property
    def spacing(self) -> tuple[float, ...] | None:
        """Millimetres from voxel to voxel along each axis."""
        return None if self.affine is None else spacing_of(self.affine)

    @property
    def orientation(self) -> str | None:
        """Where each axis points, as three of R L A P S I; the nearest for an oblique scan."""
        return None if self.affine is None else orientation_of(self.affine)


@dataclasses.dataclass(frozen=True, eq=False)
class Volume(Placed):
    """One scan.

    values: `(channels, *sizes)`, in the type of the file.
    affine: `(4, 4)` float64, from voxel indices to millimetres right, anterior and superior; None for a bare array.
    source: What messages call it.
    axes: A name per axis of `sizes`.
    is_placed: Whether the affine is said by the file, and not the usual one where a file says none.
    """

    values: NDArray[Any]
    affine: NDArray[np.float64] | None
    source: str
    axes: tuple[str, ...] = BARE_AXES
    is_placed: bool = True

    @property
    def sizes(self) -> tuple[int, ...]:
        """Voxels along each axis."""
        return self.values.shape[1:]

    @property
    def channels(self) -> int:
        """Number of values per voxel."""
        return int(self.values.shape[0])


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class VolumeHeader(Placed):
    """What a file says of its volume before any voxel is read; fields as those of `Volume`."""

    sizes: tuple[int, ...]
    channels: int
    dtype: np.dtype[np.generic]
    affine: NDArray[np.float64] | None
    axes: tuple[str, ...] = BARE_AXES
    is_placed: bool = True

    @property
    def nbytes(self) -> int:
        """Bytes that its values take in memory."""
        count = self.channels * int(self.dtype.itemsize)
        return count * math.prod(self.sizes)


def axes_of(affine: NDArray[np.float64] | None) -> tuple[str, ...]:
    """Names of the axes: x, y and z by the direction that each follows, depth, height and width without an affine."""
    return BARE_AXES if affine is None else tuple(LETTER_AXES[letter] for letter in orientation_of(affine))


def check_channels(channels: int, sizes: Sequence[int], where: str) -> None:
    """Refuse an array whose channels surely stand last: of its four axes only the last one is short.

    Raises:
        DataError: They do.
    """
    if sizes[-1] <= MOST_COLOURS < min(channels, *sizes[:-1]):
        shown = " x ".join(map(str, sizes))
        raise DataError(
            f"{where}: channels stand before the three sizes. Got {channels} channels of {shown}, as if they stood "
            f"last. Move the last axis (numpy.moveaxis(x, -1, -4)); a short axis of space stands first among the sizes."
        )
