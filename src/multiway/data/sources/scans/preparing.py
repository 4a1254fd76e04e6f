"""From the volume of a file to the volume of a task: turned, resampled, sized and windowed as the options say."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans import bodies
from multiway.data.sources.scans.volume import (
    Affine,
    Array,
    Volume,
    VolumeHeader,
    axes_of,
    regridded,
    spacing_of,
    turned,
    turns,
)
from multiway.errors import DataError, Fix
from multiway.lazy import load_extra

Step = Callable[[Array], Array]
"""One change of values `(channels, *sizes)`."""


def prepare(volume: Volume, options: VolumeOptions, *, is_mask: bool = False) -> Volume:
    """Apply, in this order: orientation, spacing or resample_to, window, size, distance.

    A mask is interpolated to the nearest voxel, padded with 0, never windowed, and gets no distance.
    """
    check_finite(volume)
    header, steps = _plan(volume.header, options, volume.source, is_mask)
    values = functools.reduce(lambda array, step: step(array), steps, volume.values)
    return dataclasses.replace(
        volume, values=np.ascontiguousarray(values), affine=header.affine, axes=header.axes
    )  # fmt: skip


def prepared_header(header: VolumeHeader, options: VolumeOptions, source: str) -> VolumeHeader:
    """What `prepare` makes of a volume with this header; nothing is read."""
    return _plan(header, options, source, False)[0]


def to_scan(values: Array, scan: Volume, options: VolumeOptions, *, nearest: bool = False) -> Array:
    """Bring values `(x, y, z)` from the prepared grid of a scan back to that of its file; what was cut off is 0."""
    return to_file(values, scan.header, options, scan.source, nearest=nearest)


def to_file(
    values: Array, header: VolumeHeader, options: VolumeOptions, source: str, *, nearest: bool = False
) -> Array:
    """As `to_scan`, by what the header of the file says."""
    affine = np.eye(4) if header.affine is None else header.affine
    grid = prepared_header(dataclasses.replace(header, affine=affine), options, source)
    assert grid.affine is not None
    return bodies.to_grid(values, grid.affine, header.sizes, affine, nearest=nearest)


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


def _plan(
    header: VolumeHeader, options: VolumeOptions, source: str, is_mask: bool
) -> tuple[VolumeHeader, list[Step]]:  # fmt: skip
    """What a volume with this header becomes, and the changes of its values that make it so."""
    steps: list[Step] = []
    if options.orientation is not None:
        header, step = _turn(header, options.orientation, source)
        steps.append(step)
    grid = _grid(header, options, source)
    if grid is not None:
        sizes, scales, offsets = grid
        _check_bytes(sizes, header.channels, options, source)
        dtype = np.dtype(np.float64 if header.dtype == np.float64 else np.float32)
        header = dataclasses.replace(_moved(header, sizes, scales, offsets), dtype=dtype)
        steps.append(lambda array: bodies.interpolated(array, sizes, scales, offsets, nearest=is_mask))
    if options.window is not None and not is_mask:
        header = dataclasses.replace(header, dtype=np.dtype(np.float32))
        steps.append(functools.partial(_windowed, window=options.window))
    if options.size is not None:
        header = _moved(header, options.size, (1.0, 1.0, 1.0), bodies.crop_starts(header.sizes, options.size))
        steps.append(functools.partial(_cropped, sizes=options.size, is_mask=is_mask))
    if options.distance and not is_mask:
        header = dataclasses.replace(header, channels=2 * header.channels, dtype=np.dtype(np.float32))
        steps.append(with_depth)
    return dataclasses.replace(header, axes=options.axes or header.axes), steps


def _turn(header: VolumeHeader, orientation: str, source: str) -> tuple[VolumeHeader, Step]:
    if not header.is_placed:
        raise DataError(
            f"{source}: orientation needs to know how the voxels lie, and the header does not say (qform and sform "
            f"codes are 0). Set its geometry, or leave orientation out."
        )
    affine = _affine(header, source, "orientation")
    order, flips = turns(affine, orientation)
    affine, sizes = turned(affine, header.sizes, order, flips), tuple(header.sizes[axis] for axis in order)

    def turn(array: Array) -> Array:
        return np.flip(array.transpose(0, *(axis + 1 for axis in order)), tuple(axis + 1 for axis in flips))

    return dataclasses.replace(header, affine=affine, sizes=sizes, axes=axes_of(affine)), turn


def _affine(header: VolumeHeader, source: str, option: str) -> Affine:
    if header.affine is None:
        raise DataError(
            f"{source}: {option} needs an affine and a bare array has none. Leave {option} out, or give NIfTI or DICOM."
        )
    return header.affine


def _grid(header: VolumeHeader, options: VolumeOptions, source: str) -> bodies.Grid | None:
    if options.spacing is not None:
        spacing = spacing_of(_affine(header, source, "spacing"))
        return bodies.grid_of_spacing(header.sizes, spacing, options.spacing)
    return None if options.resample_to is None else bodies.grid_of_sizes(header.sizes, options.resample_to)


def _moved(
    header: VolumeHeader, sizes: tuple[int, ...], scales: Sequence[float], offsets: Sequence[float]
) -> VolumeHeader:
    """The header on a grid whose voxel j lies at `scale * j + offset` of the old one."""
    affine = None if header.affine is None else regridded(header.affine, scales, offsets)
    return dataclasses.replace(header, sizes=sizes, affine=affine)


def _check_bytes(sizes: Sequence[int], channels: int, options: VolumeOptions, source: str) -> None:
    """Refuse to resample to more bytes than a volume may take."""
    needed = 4 * channels * math.prod(sizes)
    if needed > options.max_bytes:
        raise DataError(
            f"{source}: resampled it would have {'x'.join(map(str, sizes))} voxels and take {needed:,} bytes; a volume "
            f"may take {options.max_bytes:,}. Set a coarser spacing (",
            Fix("read.spacing", like="I,J,K"),
            "), or raise max_bytes.",
        )


def _windowed(values: Array, window: tuple[float, float]) -> Array:
    """Set what lies outside to the nearer end, in float32."""
    return np.clip(values.astype(np.float32), np.float32(window[0]), np.float32(window[1]))


def _cropped(values: Array, sizes: tuple[int, ...], is_mask: bool) -> Array:
    return bodies.cropped(values, sizes, 0.0 if is_mask or not values.size else float(values.min()))


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


def differing(what: str, values: dict[str, str]) -> str:
    """Say which cases have which of several values: what, then each value with its first case and its count."""
    cases: dict[str, list[str]] = {}
    for case, value in values.items():
        cases.setdefault(value, []).append(case)
    counts = (
        f"{value} in {len(names)} ({names[0]})" for value, names in sorted(cases.items(), key=lambda i: -len(i[1]))
    )
    return f"{what}: {listed(counts, 4)}"
