"""Scans and masks on new grids: interpolated, cropped and padded; how much room their bodies need, what is left."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.sources.scans.volume import Affine, Array, VolumeHeader
from multiway.errors import Fix, Message

LEVELS, THIN, MARGIN, STEP = 128, 1e-3, 1, 4
"""Levels of a histogram; share of a body below which a plane is noise; voxels around a body; what sizes divide by."""
Grid = tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]
"""Sizes of a new grid, and on each axis old voxels per new voxel and the old position of the new voxel 0."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Room:
    """What a cut about the centre of one scan has to hold.

    whole: The scan before it is cut.
    needed: Voxels along each axis that hold its body.
    """

    whole: VolumeHeader
    needed: tuple[int, ...]

    def kept(self, size: Sequence[int] | None) -> float:
        """Share of the voxels that a size keeps."""
        pairs = zip(self.whole.sizes, size or self.whole.sizes, strict=True)
        return math.prod(min(old, new) / old for old, new in pairs)

    def is_cut(self, size: Sequence[int]) -> bool:
        """Whether a size is too small for the body."""
        return any(new < need for new, need in zip(size, self.needed, strict=True))


def body_of(values: Array) -> NDArray[np.bool_]:
    """Voxels `(*sizes)` of `(channels, *sizes)` that are brighter than what lies around: above Otsu's threshold.

    Otsu (1979): the level that parts the histogram into two classes whose means differ most, weighted by their sizes.
    """
    image = values.mean(0, dtype=np.float64)
    if image.min() == image.max():
        return np.zeros(image.shape, np.bool_)
    counts, edges = np.histogram(image, LEVELS)
    middles = (edges[1:] + edges[:-1]) / 2
    below, total = counts.cumsum(), counts.sum()
    sums = (counts * middles).cumsum()
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (sums[-1] * below - sums * total) ** 2 / (below * (total - below))
    return np.asarray(image > edges[1 + int(np.nan_to_num(between[:-1]).argmax())])


def needed_sizes(inside: NDArray[np.bool_], margin: int = 0, thin: float = 0.0) -> tuple[int, ...]:
    """Voxels along each axis that a cut about the centre needs to hold what is inside; 1 where nothing is.

    `margin` voxels stay on either side; planes that hold less than the share `thin` of what is inside do not count.
    """
    least, result = max(thin * float(inside.sum()), 1), []
    for axis, size in enumerate(inside.shape):
        others = tuple(other for other in range(inside.ndim) if other != axis)
        planes = np.flatnonzero(inside.sum(others) >= least)
        first, last = (max(planes[0] - margin, 0), min(planes[-1] + margin, size - 1)) if len(planes) else (size, -1)
        cuts = ((new, crop_starts([size], [new])[0]) for new in range(1, size + 1))
        result.append(next((new for new, start in cuts if start <= first and start + new > last), size))
    return tuple(result)


def room_of(values: Array, whole: VolumeHeader) -> Room:
    """The room that the body of a scan needs; `values` are those before it is cut."""
    return Room(whole=whole, needed=needed_sizes(body_of(values), MARGIN, THIN))


def proposed(rooms: Sequence[Room]) -> tuple[tuple[float, ...] | None, tuple[int, ...]] | None:
    """A spacing, where scans differ in theirs, and a size that hold every body; None while scans point otherwise."""
    if not rooms or len({(room.whole.axes, room.whole.orientation) for room in rooms}) > 1:
        return None
    steps = [room.whole.spacing for room in rooms]
    known = [step for step in steps if step is not None]
    spacing = None
    if len(known) == len(steps) and len({tuple(np.round(step, 4)) for step in known}) > 1:
        spacing = tuple(float(f"{value:.3g}") for value in np.median(known, axis=0))
    return spacing, tuple(
        max(_rounded(room, axis, spacing) for room in rooms) for axis in range(len(rooms[0].needed))
    )  # fmt: skip


def _rounded(room: Room, axis: int, spacing: tuple[float, ...] | None) -> int:
    """Voxels that one body needs along an axis, in steps, but no more than the scan has."""
    own = room.whole.spacing
    scale = 1.0 if spacing is None or own is None else own[axis] / spacing[axis]
    needed, size = (math.ceil(count * scale - 1e-9) for count in (room.needed[axis], room.whole.sizes[axis]))
    return min(-(-needed // STEP) * STEP, max(size, needed))


def as_fix(proposal: tuple[tuple[float, ...] | None, tuple[int, ...]]) -> tuple[Fix, ...]:
    """The settings of a proposal."""
    spacing, size = proposal
    steps = [int(step) if step == int(step) else step for step in spacing or ()]
    return (*((Fix("read.spacing", steps),) if steps else ()), Fix("read.size", list(size)))


def spaced(fixes: Sequence[Fix]) -> Message:
    """Fixes as words of a sentence."""
    return tuple(part for fix in fixes for part in (" ", fix))[1:]


def in_words(size: Sequence[int]) -> str:
    """A size in words."""
    return " x ".join(map(str, size))


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
