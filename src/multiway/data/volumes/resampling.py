"""New grids: volumes turned, interpolated, cropped and padded; their affines follow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.volumes.geometry import Affine

Array = NDArray[Any]


def interpolated(
    values: Array, sizes: Sequence[int], scales: Sequence[float], offsets: Sequence[float], *, nearest: bool = False
) -> Array:
    """Values at voxels `scale * j + offset` of each axis, the border repeated outside.

    One axis after another: linear interpolation on a grid is a product of linear interpolations, so this is exact
    and needs no grid of coordinates.

    Args:
        values: `(channels, *sizes)`.
        sizes: New voxels along each axis.
        scales: Old voxels per new voxel.
        offsets: Old position of the new voxel 0.
        nearest: Take the nearest voxel, for masks.

    Returns:
        `(channels, *sizes)`: float32, or float64 for float64; the type of `values` where `nearest`.
    """
    dtype = values.dtype if nearest else np.result_type(values.dtype, np.float32) if _is_exact(values) else np.float64
    result: Array = values.astype(dtype, copy=False)
    for axis in sorted(range(len(sizes)), key=lambda axis: sizes[axis] / values.shape[axis + 1]):
        places = scales[axis] * np.arange(sizes[axis], dtype=np.float64) + offsets[axis]
        result = _along(result, axis + 1, places, nearest)
    return result if nearest or values.dtype == np.float64 else result.astype(np.float32, copy=False)


def to_grid(values: Array, affine: Affine, sizes: Sequence[int], wanted: Affine, *, nearest: bool = False) -> Array:
    """Bring values to another grid whose axes run along theirs, in any order; what lies outside is 0.

    Args:
        values: `(x, y, z)`.
        affine: From their voxels to millimetres.
        sizes: Of the other grid.
        wanted: From its voxels to millimetres.
        nearest: Take the nearest voxel, for masks.
    """
    way = np.linalg.inv(affine) @ wanted
    order = [int(np.abs(way[:3, axis]).argmax()) for axis in range(3)]
    scales = [float(way[order[axis], axis]) for axis in range(3)]
    offsets = [float(way[order[axis], 3]) for axis in range(3)]
    found: Array = interpolated(values.transpose(order)[None], sizes, scales, offsets, nearest=nearest)[0]
    for axis, size in enumerate(sizes):
        places, end = scales[axis] * np.arange(size) + offsets[axis], values.shape[order[axis]] - 0.5
        beyond = places >= end if nearest else places > end
        found[(slice(None),) * axis + ((places < -0.5) | beyond,)] = 0
    return found


def _is_exact(values: Array) -> bool:
    """Whether float32 holds every value of the type."""
    return values.dtype.itemsize <= 2 or values.dtype.kind == "f"


def _along(values: Array, axis: int, places: NDArray[np.float64], nearest: bool) -> Array:
    last = values.shape[axis] - 1
    if len(places) == last + 1 and np.array_equal(places, np.arange(last + 1)):
        return values
    places = np.clip(places, 0, last)
    if nearest:
        return values.take(np.floor(places + 0.5).astype(np.int64).clip(0, last), axis)
    low = np.floor(places).astype(np.int64).clip(0, last)
    high = np.minimum(low + 1, last)
    share = (places - low).astype(values.dtype).reshape(-1, *[1] * (values.ndim - axis - 1))
    below, above = values.take(low, axis), values.take(high, axis)
    blended: Array = below + (above - below) * share
    return blended


def grid_of_spacing(
    sizes: Sequence[int], spacing: Sequence[float], wanted: Sequence[float]
) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]:
    """Sizes, scales and offsets of a grid of another spacing about the same centre, of about the same extent."""
    scales = tuple(new / old for new, old in zip(wanted, spacing, strict=True))
    new_sizes = tuple(max(1, int(np.floor(size / scale + 0.5))) for size, scale in zip(sizes, scales, strict=True))
    return new_sizes, scales, _centred(sizes, new_sizes, scales)


def grid_of_sizes(sizes: Sequence[int], wanted: Sequence[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Scales and offsets of a grid of other sizes that covers the same extent."""
    scales = tuple(old / new for old, new in zip(sizes, wanted, strict=True))
    return scales, _centred(sizes, wanted, scales)


def _centred(sizes: Sequence[int], wanted: Sequence[int], scales: Sequence[float]) -> tuple[float, ...]:
    return tuple((old - 1) / 2 - scale * (new - 1) / 2 for old, new, scale in zip(sizes, wanted, scales, strict=True))


def crop_starts(sizes: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """Old index of the new voxel 0 on each axis, negative where padded; the odd voxel goes to the end."""
    return tuple(
        (old - new) // 2 if old >= new else -((new - old) // 2) for old, new in zip(sizes, wanted, strict=True)
    )


def cropped(values: Array, wanted: Sequence[int], fill: float) -> Array:
    """Cut or pad around the centre."""
    sizes = values.shape[1:]
    result = np.full((values.shape[0], *wanted), fill, dtype=values.dtype)
    inner, outer = [slice(None)], [slice(None)]
    for start, old, new in zip(crop_starts(sizes, wanted), sizes, wanted, strict=True):
        inner.append(slice(max(start, 0), max(start, 0) + min(old, new)))
        outer.append(slice(max(-start, 0), max(-start, 0) + min(old, new)))
    result[tuple(outer)] = values[tuple(inner)]
    return result
