"""Affines: directions, spacings, and what flips, crops and new grids do to them."""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.errors import DataError

Affine = NDArray[np.float64]
POSITIVE, NEGATIVE = "RAS", "LPI"


def spacing_of(affine: Affine) -> tuple[float, ...]:
    """Millimetres from voxel to voxel along each axis: the lengths of the affine's columns."""
    return tuple(float(length) for length in np.linalg.norm(affine[:3, :3], axis=0))


def orientation_of(affine: Affine) -> str:
    """Where each axis points, as three of R L A P S I, each direction of the body once.

    Of the six ways to give axes to directions, the one that follows the axes best: the largest sum of cosines.
    """
    cosines = affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)
    best = max(itertools.permutations(range(3)), key=lambda way: sum(abs(cosines[way[i], i]) for i in range(3)))
    return "".join(POSITIVE[row] if cosines[row, axis] >= 0 else NEGATIVE[row] for axis, row in enumerate(best))


def is_orientation(code: str) -> bool:
    """Whether three letters name each direction of the body once."""
    return len(code) == 3 and {_row(letter) for letter in code} == {0, 1, 2}


def _row(letter: str) -> int:
    return max(POSITIVE.find(letter), NEGATIVE.find(letter))


def check_affine(affine: Affine, where: str) -> Affine:
    """The affine itself if it is finite and gives every axis a direction of its own.

    Raises:
        DataError: It does not.
    """
    if not np.isfinite(affine).all():
        raise DataError(f"{where}: its affine must be finite. Got {_shown(affine)}. Write its geometry again.")
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(affine[:3, :3], axis=0)
        sound = bool((lengths > 0).all() and np.isfinite(lengths).all())
        volume = abs(np.linalg.det(affine[:3, :3] / lengths)) if sound else 0.0
    if not volume > 1e-6:
        raise DataError(
            f"{where}: its affine is singular, so some axis has no direction or no spacing of its own. "
            f"Got {_shown(affine)}. Write its geometry again, or give the voxels as .npy."
        )
    return affine


def _shown(affine: Affine) -> str:
    return "; ".join(" ".join(f"{value:.4g}" for value in row) for row in affine[:3])


def turns(affine: Affine, wanted: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Order in which to take the axes, and those of the result to flip, so that they point as wanted."""
    now = orientation_of(affine)
    order = tuple(next(axis for axis in range(3) if _row(now[axis]) == _row(letter)) for letter in wanted)
    return order, tuple(axis for axis, letter in enumerate(wanted) if now[order[axis]] != letter)


def turned(affine: Affine, sizes: Sequence[int], order: Sequence[int], flips: Sequence[int]) -> Affine:
    """Affine after axes of these sizes are taken in another order and some of the result are flipped."""
    result = affine.copy()
    result[:, :3] = affine[:, list(order)]
    for axis in flips:
        result[:3, 3] += result[:3, axis] * (sizes[order[axis]] - 1)
        result[:, axis] *= -1
    return result


def regridded(affine: Affine, scales: Sequence[float], offsets: Sequence[float]) -> Affine:
    """Affine of a grid whose voxel j lies at `scale * j + offset` of the old one, on each axis."""
    result = affine.copy()
    result[:3, 3] = affine[:3, :3] @ np.asarray(offsets) + affine[:3, 3]
    result[:3, :3] = affine[:3, :3] * np.asarray(scales)
    return result
