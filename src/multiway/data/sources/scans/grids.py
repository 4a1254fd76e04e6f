"""Scans and masks on new grids, and back on those of their files: turned, interpolated, windowed, cut and padded."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import list_some
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans.volume import (
    Affine,
    Array,
    Volume,
    VolumeHeader,
    affine_of_grid,
    axes_of,
    sizes_in_words,
    spacing_of,
    turn_affine,
    turns,
)
from multiway.errors import DataError, Fix
from multiway.lazy import load_extra

Step = Callable[[Array], Array]
"""One change of values `(channels, *sizes)`."""
Grid = tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]
"""Sizes of a new grid, and on each axis old voxels per new voxel and the old position of the new voxel 0."""


def prepare(volume: Volume, options: VolumeOptions, *, is_mask: bool = False) -> Volume:
    """Apply, in this order: orientation, spacing or resample_to, window, size, distance.

    A mask is interpolated to the nearest voxel, padded with 0, never windowed, and gets no distance.
    """
    check_finite(volume)
    result = bring(volume, options, is_mask=is_mask)
    return dataclasses.replace(result, values=np.ascontiguousarray(result.values))


def bring(volume: Volume, options: VolumeOptions, *, is_mask: bool = False) -> Volume:
    """The same of finite voxels, which lie in memory as they did where nothing changes them."""
    header, steps = _plan(volume.header, options, volume.source, is_mask)
    values = functools.reduce(lambda array, step: step(array), steps, volume.values)
    return dataclasses.replace(volume, values=values, affine=header.affine, axes=header.axes)


def header_after_preparing(header: VolumeHeader, options: VolumeOptions, source: str) -> VolumeHeader:
    """What `prepare` makes of a volume with this header; nothing is read."""
    return _plan(header, options, source, False)[0]


def to_file(
    values: Array, header: VolumeHeader, options: VolumeOptions, source: str, *, nearest: bool = False
) -> Array:
    """Bring values `(x, y, z)` from the prepared grid of a scan back to that of its file; what was cut off is 0."""
    affine = np.eye(4) if header.affine is None else header.affine
    grid = header_after_preparing(dataclasses.replace(header, affine=affine), options, source)
    assert grid.affine is not None
    return to_grid(values, grid.affine, header.sizes, affine, nearest=nearest)


def check_finite(volume: Volume) -> None:
    """Refuse a volume with a voxel that is no number."""
    if volume.values.dtype.kind != "f":
        return
    bad = int(volume.values.size - np.isfinite(volume.values).sum())
    if bad:
        first = tuple(int(part) for part in np.argwhere(~np.isfinite(volume.values))[0][1:])
        raise DataError(
            f"{volume.source}: every voxel must be a finite number. Got {bad:,} of {volume.values.size:,} that are "
            f"not, the first at {first}. Replace them in the file."
        )


def _plan(header: VolumeHeader, options: VolumeOptions, source: str, is_mask: bool) -> tuple[VolumeHeader, list[Step]]:
    """What a volume with this header becomes, and the changes of its values that make it so."""
    steps: list[Step] = []
    if options.orientation is not None:
        header, step = _plan_turn(header, options.orientation, source)
        steps.append(step)
    grid = _find_grid(header, options, source)
    if grid is not None:
        sizes, scales, offsets = grid
        needed = 4 * header.channels * math.prod(sizes)
        if needed > options.max_bytes:
            raise DataError(
                f"{source}: resampled it would have {sizes_in_words(sizes, 'x')} voxels and take {needed:,} bytes; a "
                f"volume may take {options.max_bytes:,}. Set a coarser spacing (",
                Fix("read.spacing", like="I,J,K"),
                "), or raise max_bytes.",
            )
        dtype = np.dtype(np.float64 if header.dtype == np.float64 else np.float32)
        header = dataclasses.replace(_regrid_header(header, sizes, scales, offsets), dtype=dtype)
        steps.append(lambda array: interpolate(array, sizes, scales, offsets, nearest=is_mask))
    if options.window is not None and not is_mask:
        header = dataclasses.replace(header, dtype=np.dtype(np.float32))
        low, high = map(np.float32, options.window)
        steps.append(lambda array: np.clip(array.astype(np.float32), low, high))
    if options.size is not None:
        size = options.size
        header = _regrid_header(header, size, (1.0, 1.0, 1.0), crop_starts(header.sizes, size))
        steps.append(lambda array: crop(array, size, 0.0 if is_mask or not array.size else float(array.min())))
    if options.distance and not is_mask:
        header = dataclasses.replace(header, channels=2 * header.channels, dtype=np.dtype(np.float32))
        steps.append(with_depth)
    return dataclasses.replace(header, axes=options.axes or header.axes), steps


def _plan_turn(header: VolumeHeader, orientation: str, source: str) -> tuple[VolumeHeader, Step]:
    if not header.is_placed:
        raise DataError(
            f"{source}: orientation needs to know how the voxels lie, and the header does not say (qform and sform "
            f"codes are 0). Set its geometry, or leave orientation out."
        )
    affine = _require_affine(header, source, "orientation")
    order, flips = turns(affine, orientation)
    affine, sizes = turn_affine(affine, header.sizes, order, flips), tuple(header.sizes[axis] for axis in order)

    def turn(array: Array) -> Array:
        return np.flip(array.transpose(0, *(axis + 1 for axis in order)), tuple(axis + 1 for axis in flips))

    return dataclasses.replace(header, affine=affine, sizes=sizes, axes=axes_of(affine)), turn


def _require_affine(header: VolumeHeader, source: str, option: str) -> Affine:
    if header.affine is None:
        raise DataError(
            f"{source}: {option} needs an affine and a bare array has none. Leave {option} out, or give NIfTI or DICOM."
        )
    return header.affine


def _find_grid(header: VolumeHeader, options: VolumeOptions, source: str) -> Grid | None:
    """The grid of another spacing or of other sizes, about the same centre; None where neither is wanted."""
    sizes = header.sizes
    if options.spacing is not None:
        affine = _require_affine(header, source, "spacing")
        scales = tuple(new / old for new, old in zip(options.spacing, spacing_of(affine), strict=True))
        target = tuple(max(1, int(np.floor(size / scale + 0.5))) for size, scale in zip(sizes, scales, strict=True))
    elif options.resample_to is not None:
        target = options.resample_to
        scales = tuple(old / new for old, new in zip(sizes, target, strict=True))
    else:
        return None
    pairs = zip(sizes, target, scales, strict=True)
    return target, scales, tuple((old - 1) / 2 - scale * (new - 1) / 2 for old, new, scale in pairs)


def _regrid_header(
    header: VolumeHeader, sizes: tuple[int, ...], scales: Sequence[float], offsets: Sequence[float]
) -> VolumeHeader:
    """The header on a grid whose voxel j lies at `scale * j + offset` of the old one."""
    affine = None if header.affine is None else affine_of_grid(header.affine, scales, offsets)
    return dataclasses.replace(header, sizes=sizes, affine=affine)


def with_depth(values: Array) -> NDArray[np.float32]:
    """Put each channel's depth behind the channels: the distance to the nearest voxel that is not in the shape.

    A narrow convolution cannot measure that on a mask of zeros and ones. In voxels, whatever their size in
    millimetres, so that a scan with an affine and one without are measured alike.

    `(channels, *sizes)` becomes `(2 channels, *sizes)`. A voxel above zero is in the shape, beyond the border lies
    nothing, and depths are zero outside.
    """
    transform = load_extra("scipy.ndimage", "the option distance", "volumes").distance_transform_edt
    framed = np.pad(values > 0, ((0, 0), *[(1, 1)] * (values.ndim - 1)))
    inner = (slice(1, -1),) * (values.ndim - 1)
    depths = [transform(shape)[inner] for shape in framed]
    return np.concatenate([values, depths]).astype(np.float32)


def interpolate(
    values: Array,
    sizes: Sequence[int],
    scales: Sequence[float],
    offsets: Sequence[float],
    *,
    nearest: bool = False,
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
    for axis in sorted(range(1, values.ndim), key=lambda axis: sizes[axis - 1] / values.shape[axis]):
        last = values.shape[axis] - 1
        positions = scales[axis - 1] * np.arange(sizes[axis - 1], dtype=np.float64) + offsets[axis - 1]
        if np.array_equal(positions, np.arange(last + 1)):
            continue
        positions = np.clip(positions, 0, last)
        if nearest:
            result = result.take(np.floor(positions + 0.5).astype(np.int64).clip(0, last), axis)
            continue
        low = np.floor(positions).astype(np.int64).clip(0, last)
        share = (positions - low).astype(dtype).reshape(-1, *[1] * (values.ndim - axis - 1))
        below, above = result.take(low, axis), result.take(np.minimum(low + 1, last), axis)
        result = below + (above - below) * share
    return result if nearest or values.dtype == np.float64 else result.astype(np.float32, copy=False)


def to_grid(values: Array, affine: Affine, sizes: Sequence[int], target: Affine, *, nearest: bool = False) -> Array:
    """Bring values to another grid whose axes run along theirs, in any order; what lies outside is 0.

    `values` are `(x, y, z)`; `affine` and `target` lead from voxels of the old and the new grid to millimetres.
    """
    way = np.linalg.inv(affine) @ target
    order = [int(np.abs(way[:3, axis]).argmax()) for axis in range(3)]
    scales = [float(way[order[axis], axis]) for axis in range(3)]
    offsets = [float(way[order[axis], 3]) for axis in range(3)]
    result: Array = interpolate(values.transpose(order)[None], sizes, scales, offsets, nearest=nearest)[0]
    for axis, size in enumerate(sizes):
        positions, end = scales[axis] * np.arange(size) + offsets[axis], values.shape[order[axis]] - 0.5
        beyond = positions >= end if nearest else positions > end
        result[(slice(None),) * axis + ((positions < -0.5) | beyond,)] = 0
    return result


def crop_starts(sizes: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """Old index of the new voxel 0 on each axis, negative where padded; the odd voxel goes to the end."""
    return tuple(
        (old - new) // 2 if old >= new else -((new - old) // 2) for old, new in zip(sizes, target, strict=True)
    )


def crop(values: Array, target: Sequence[int], fill: float) -> Array:
    """Cut or pad around the centre."""
    sizes = values.shape[1:]
    result = np.full((values.shape[0], *target), fill, dtype=values.dtype)
    inner, outer = [slice(None)], [slice(None)]
    for start, old, new in zip(crop_starts(sizes, target), sizes, target, strict=True):
        inner.append(slice(max(start, 0), max(start, 0) + min(old, new)))
        outer.append(slice(max(-start, 0), max(-start, 0) + min(old, new)))
    result[tuple(outer)] = values[tuple(inner)]
    return result


def list_differences(what: str, values: dict[str, str]) -> str:
    """Say which cases have which of several values: what, then each value with its first case and its count."""
    cases: dict[str, list[str]] = {}
    for case, value in values.items():
        cases.setdefault(value, []).append(case)
    counts = (
        f"{value} in {len(names)} ({names[0]})" for value, names in sorted(cases.items(), key=lambda i: -len(i[1]))
    )
    return f"{what}: {list_some(counts, 4)}"
