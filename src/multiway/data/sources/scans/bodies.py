"""How much room the bodies in scans need, and the spacing and size that hold all of them."""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.sources.scans.grids import crop_starts
from multiway.data.sources.scans.volume import Array, VolumeHeader
from multiway.errors import Fix

LEVELS, THIN, MARGIN, STEP = 128, 1e-3, 1, 4
"""Levels of a histogram; share of a body below which a plane is noise; voxels around a body; what sizes divide by."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Room:
    """What a cut about the centre of one scan has to hold.

    whole: The scan before it is cut.
    needed: Voxels along each axis that hold its body.
    """

    whole: VolumeHeader
    needed: tuple[int, ...]

    def share(self, size: Sequence[int] | None) -> float:
        """Share of the voxels that a size keeps."""
        pairs = zip(self.whole.sizes, size or self.whole.sizes, strict=True)
        return math.prod(min(old, new) / old for old, new in pairs)

    def is_cut(self, size: Sequence[int]) -> bool:
        """Whether a size is too small for the body."""
        return any(new < need for new, need in zip(size, self.needed, strict=True))


def find_body(values: Array) -> NDArray[np.bool_]:
    """Voxels `(*sizes)` of `(channels, *sizes)` that are brighter than what lies around: above Otsu's threshold.

    Otsu (1979): the level that parts the histogram into two classes whose means differ most, weighted by their sizes.
    """
    inside = np.zeros_like(values[0], np.bool_)  # in the order of the values in memory
    slowest = max(
        range(inside.ndim), key=lambda axis: abs(values.strides[axis + 1])
    )  # a plane at a time: no second copy

    def planes() -> Iterator[NDArray[np.float64]]:
        every = np.moveaxis(values, slowest + 1, 0)
        return (plane[0].astype(np.float64) if len(plane) == 1 else plane.mean(0, dtype=np.float64) for plane in every)

    lows, highs = zip(*((plane.min(), plane.max()) for plane in planes()), strict=True)
    low, high = min(lows), max(highs)
    if low == high:
        return inside
    counts = np.sum([np.histogram(plane, LEVELS, (low, high))[0] for plane in planes()], 0)
    edges = np.linspace(low, high, LEVELS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    below, total = counts.cumsum(), counts.sum()
    sums = (counts * middles).cumsum()
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (sums[-1] * below - sums * total) ** 2 / (below * (total - below))
    threshold = edges[1 + int(np.nan_to_num(between[:-1]).argmax())]
    for body, plane in zip(np.moveaxis(inside, slowest, 0), planes(), strict=True):
        np.greater(plane, threshold, out=body)
    return inside


def sizes_needed(inside: NDArray[np.bool_], margin: int = 0, thin: float = 0.0) -> tuple[int, ...]:
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


def propose_grid(rooms: Sequence[Room]) -> tuple[tuple[float, ...] | None, tuple[int, ...]] | None:
    """A spacing, where scans differ in theirs, and a size that hold every body; None while scans point otherwise.

    A size is a multiple of `STEP`, but no more than the scan has.
    """
    if not rooms or len({(room.whole.axes, room.whole.orientation) for room in rooms}) > 1:
        return None
    steps = [room.whole.spacing for room in rooms]
    known = [step for step in steps if step is not None]
    spacing = None
    if len(known) == len(steps) and len({tuple(np.round(step, 4)) for step in known}) > 1:
        spacing = tuple(float(f"{value:.3g}") for value in np.median(known, axis=0))
    sizes = []
    for axis in range(len(rooms[0].needed)):
        most = 0
        for room in rooms:
            own = room.whole.spacing
            scale = 1.0 if spacing is None or own is None else own[axis] / spacing[axis]
            needed, size = (math.ceil(count * scale - 1e-9) for count in (room.needed[axis], room.whole.sizes[axis]))
            most = max(most, min(-(-needed // STEP) * STEP, max(size, needed)))
        sizes.append(most)
    return spacing, tuple(sizes)


def grid_fixes(proposal: tuple[tuple[float, ...] | None, tuple[int, ...]]) -> tuple[Fix, ...]:
    """The settings of a proposal."""
    spacing, size = proposal
    steps = [int(step) if step == int(step) else step for step in spacing or ()]
    return (*((Fix("read.spacing", steps),) if steps else ()), Fix("read.size", list(size)))
