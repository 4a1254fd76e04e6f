"""From the volume of a file to the volume of a task: turned, resampled, sized and windowed as the options say."""

import math
from collections.abc import Sequence

import numpy as np

from multiway.data.findings import listed
from multiway.data.volumes import resampling
from multiway.data.volumes.depth import with_depth
from multiway.data.volumes.geometry import Affine, regridded, spacing_of, turned, turns
from multiway.data.volumes.options import VolumeOptions
from multiway.data.volumes.resampling import Array
from multiway.data.volumes.volume import Volume, VolumeHeader, axes_of
from multiway.errors import DataError


def prepare(volume: Volume, options: VolumeOptions, *, is_mask: bool = False) -> Volume:
    """Apply, in this order: orientation, spacing or resample_to, window, size, distance.

    A mask is interpolated to the nearest voxel, padded with 0, never windowed, and gets no distance.

    Raises:
        DataError: An option needs a spacing or orientation that the volume has not, or a voxel is not finite.
    """
    _check_finite(volume)
    values, affine = volume.values, volume.affine
    axes = volume.axes
    if options.orientation is not None:
        _check_placed(volume.is_placed, volume.source)
        order, flips = turns(_affine(affine, volume.source, "orientation"), options.orientation)
        affine = turned(_affine(affine, volume.source, "orientation"), volume.sizes, order, flips)
        values = np.flip(values.transpose(0, *(axis + 1 for axis in order)), tuple(axis + 1 for axis in flips))
        axes = axes_of(affine)
    grid = _grid(values.shape[1:], affine, options, volume.source)
    if grid is not None:
        sizes, scales, offsets = grid
        check_prepared_bytes(sizes, values.shape[0], options, volume.source)
        values = resampling.interpolated(values, sizes, scales, offsets, nearest=is_mask)
        affine = None if affine is None else regridded(affine, scales, offsets)
    if options.window is not None and not is_mask:
        values = windowed(values, options.window)
    if options.size is not None:
        starts = resampling.crop_starts(values.shape[1:], options.size)
        fill = 0.0 if is_mask or not values.size else float(values.min())
        values = resampling.cropped(values, options.size, fill)
        affine = None if affine is None else regridded(affine, (1.0, 1.0, 1.0), starts)
    if options.distance and not is_mask:
        values = with_depth(values)
    return Volume(
        values=np.ascontiguousarray(values), affine=affine, source=volume.source, axes=options.axes or axes,
        is_placed=volume.is_placed,
    )  # fmt: skip


def _check_placed(is_placed: bool, source: str) -> None:
    """Refuse to turn a volume whose sides nobody has named."""
    if not is_placed:
        raise DataError(
            f"{source}: orientation needs to know how the voxels lie, and the header does not say (qform and sform "
            f"codes are 0). Set its geometry, or leave orientation out."
        )


def windowed(values: Array, window: tuple[float, float]) -> Array:
    """Set what lies outside to the nearer end, in float32."""
    return np.clip(values.astype(np.float32), np.float32(window[0]), np.float32(window[1]))


def _affine(affine: Affine | None, source: str, option: str) -> Affine:
    if affine is None:
        raise DataError(
            f"{source}: {option} needs an affine and a bare array has none. Leave {option} out, or give NIfTI or DICOM."
        )
    return affine


def _grid(
    sizes: Sequence[int], affine: Affine | None, options: VolumeOptions, source: str
) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]] | None:
    if options.spacing is not None:
        spacing = spacing_of(_affine(affine, source, "spacing"))
        return resampling.grid_of_spacing(sizes, spacing, options.spacing)
    if options.resample_to is not None:
        return options.resample_to, *resampling.grid_of_sizes(sizes, options.resample_to)
    return None


def check_prepared_bytes(sizes: Sequence[int], channels: int, options: VolumeOptions, source: str) -> None:
    """Refuse to resample to more bytes than a volume may take.

    Raises:
        DataError: It would take more.
    """
    needed = 4 * channels * math.prod(sizes)
    if needed > options.max_bytes:
        shown = "x".join(map(str, sizes))
        raise DataError(
            f"{source}: resampled it would have {shown} voxels and take {needed:,} bytes; a volume may take "
            f"{options.max_bytes:,}. Set a coarser spacing (--spacing), or raise max_bytes."
        )


def _check_finite(volume: Volume) -> None:
    if volume.values.dtype.kind == "f":
        bad = int(volume.values.size - np.isfinite(volume.values).sum())
        if bad:
            first = tuple(int(part) for part in np.argwhere(~np.isfinite(volume.values))[0][1:])
            raise DataError(
                f"{volume.source}: every voxel must be a finite number. Got {bad:,} of {volume.values.size:,} that are "
                f"not, the first at {first}. Replace them in the file."
            )


def prepared_header(header: VolumeHeader, options: VolumeOptions, source: str) -> VolumeHeader:
    """What `prepare` makes of a volume with this header; nothing is read.

    Raises:
        DataError: As `prepare`, for what the header tells.
    """
    sizes, affine, axes = header.sizes, header.affine, header.axes
    if options.orientation is not None:
        _check_placed(header.is_placed, source)
        order, flips = turns(_affine(affine, source, "orientation"), options.orientation)
        affine = turned(_affine(affine, source, "orientation"), sizes, order, flips)
        sizes, axes = tuple(sizes[axis] for axis in order), axes_of(affine)
    dtype = header.dtype
    grid = _grid(sizes, affine, options, source)
    if grid is not None:
        sizes, scales, offsets = grid
        check_prepared_bytes(sizes, header.channels, options, source)
        affine = None if affine is None else regridded(affine, scales, offsets)
        dtype = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    if options.window is not None:
        dtype = np.dtype(np.float32)
    if options.size is not None:
        starts = resampling.crop_starts(sizes, options.size)
        affine = None if affine is None else regridded(affine, (1.0, 1.0, 1.0), starts)
        sizes = options.size
    channels, dtype = (2 * header.channels, np.dtype(np.float32)) if options.distance else (header.channels, dtype)
    return VolumeHeader(
        sizes=tuple(sizes), channels=channels, dtype=dtype, affine=affine, axes=options.axes or axes,
        is_placed=header.is_placed,
    )  # fmt: skip


def to_scan(values: Array, scan: Volume, options: VolumeOptions, *, nearest: bool = False) -> Array:
    """Bring values `(x, y, z)` from the prepared grid of a scan back to that of its file; what was cut off is 0."""
    affine = np.eye(4) if scan.affine is None else scan.affine
    header = VolumeHeader(sizes=scan.sizes, channels=scan.channels, dtype=scan.values.dtype, affine=affine)
    grid = prepared_header(header, options, scan.source)
    assert grid.affine is not None
    return resampling.to_grid(values, grid.affine, scan.sizes, affine, nearest=nearest)


def differing(what: str, values: dict[str, str]) -> str:
    """Say which cases have which of several values: what, then each value with its first case and its count."""
    cases: dict[str, list[str]] = {}
    for case, value in values.items():
        cases.setdefault(value, []).append(case)
    return f"{what}: " + listed(
        (f"{value} in {len(names)} ({names[0]})" for value, names in sorted(cases.items(), key=lambda i: -len(i[1]))), 4
    )
