"""New grids for values: interpolated, cropped and padded."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.sources.scans.volume import Affine, Array

Grid = tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]
"""Sizes of a new grid, and on each axis old voxels per new voxel and the old position of the new voxel 0."""


def interpolated(
    values: Array, sizes: Sequence[int], scales: Sequence[float], offsets: Sequence[float], *, nearest: bool = False
) -> Array:
    """Values at voxels `scale * j + offset` of each axis, the border repeated outside.

    One axis after another: linear interpolation on a grid is a product of linear interpolations, so this is exact
    and needs no grid of coordinates.

    `values` and the result are `(channels, *sizes)`, `scales` are old voxels per new one, and `offsets` the old
    position of the new voxel 0. Results are float32, or float64 for float64; with `nearest`, as for masks, of the type
    of `values`.
    """
    is_exact = values.dtype.itemsize <= 2 or values.dtype.kind == "f"  # float32 holds every value of the type
    dtype = values.dtype if nearest else np.result_type(values.dtype, np.float32) if is_exact else np.float64
    result: Array = values.astype(dtype, copy=False)
    for axis in sorted(range(len(sizes)), key=lambda axis: sizes[axis] / values.shape[axis + 1]):
        positions = scales[axis] * np.arange(sizes[axis], dtype=np.float64) + offsets[axis]
        result = _along(result, axis + 1, positions, nearest)
    return result if nearest or values.dtype == np.float64 else result.astype(np.float32, copy=False)


def _along(values: Array, axis: int, positions: NDArray[np.float64], nearest: bool) -> Array:
    last = values.shape[axis] - 1
    if len(positions) == last + 1 and np.array_equal(positions, np.arange(last + 1)):
        return values
    positions = np.clip(positions, 0, last)
    if nearest:
        return values.take(np.floor(positions + 0.5).astype(np.int64).clip(0, last), axis)
    low = np.floor(positions).astype(np.int64).clip(0, last)
    share = (positions - low).astype(values.dtype).reshape(-1, *[1] * (values.ndim - axis - 1))
    below, above = values.take(low, axis), values.take(np.minimum(low + 1, last), axis)
    blended: Array = below + (above - below) * share
    return blended


def to_grid(values: Array, affine: Affine, sizes: Sequence[int], target: Affine, *, nearest: bool = False) -> Array:
    """Bring values to another grid whose axes run along theirs, in any order; what lies outside is 0.

    `values` are `(x, y, z)`; `affine` and `target` lead from voxels of the old and the new grid to millimetres.
    """
    way = np.linalg.inv(affine) @ target
    order = [int(np.abs(way[:3, axis]).argmax()) for axis in range(3)]
    scales = [float(way[order[axis], axis]) for axis in range(3)]
    offsets = [float(way[order[axis], 3]) for axis in range(3)]
    result: Array = interpolated(values.transpose(order)[None], sizes, scales, offsets, nearest=nearest)[0]
    for axis, size in enumerate(sizes):
        positions, end = scales[axis] * np.arange(size) + offsets[axis], values.shape[order[axis]] - 0.5
        beyond = positions >= end if nearest else positions > end
        result[(slice(None),) * axis + ((positions < -0.5) | beyond,)] = 0
    return result


def grid_of_spacing(sizes: Sequence[int], spacing: Sequence[float], target: Sequence[float]) -> Grid:
    """The grid of another spacing about the same centre, of about the same extent."""
    scales = tuple(new / old for new, old in zip(target, spacing, strict=True))
    new_sizes = tuple(max(1, int(np.floor(size / scale + 0.5))) for size, scale in zip(sizes, scales, strict=True))
    return new_sizes, scales, _centred(sizes, new_sizes, scales)


def grid_of_sizes(sizes: Sequence[int], target: tuple[int, ...]) -> Grid:
    """The grid of other sizes that covers the same extent."""
    scales = tuple(old / new for old, new in zip(sizes, target, strict=True))
    return target, scales, _centred(sizes, target, scales)


def _centred(sizes: Sequence[int], target: Sequence[int], scales: Sequence[float]) -> tuple[float, ...]:
    return tuple((old - 1) / 2 - scale * (new - 1) / 2 for old, new, scale in zip(sizes, target, scales, strict=True))


def crop_starts(sizes: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """Old index of the new voxel 0 on each axis, negative where padded; the odd voxel goes to the end."""
    return tuple(
        (old - new) // 2 if old >= new else -((new - old) // 2) for old, new in zip(sizes, target, strict=True)
    )


def cropped(values: Array, target: Sequence[int], fill: float) -> Array:
    """Cut or pad around the centre."""
    sizes = values.shape[1:]
    result = np.full((values.shape[0], *target), fill, dtype=values.dtype)
    inner, outer = [slice(None)], [slice(None)]
    for start, old, new in zip(crop_starts(sizes, target), sizes, target, strict=True):
        inner.append(slice(max(start, 0), max(start, 0) + min(old, new)))
        outer.append(slice(max(-start, 0), max(-start, 0) + min(old, new)))
    result[tuple(outer)] = values[tuple(inner)]
    return result
