"""Whether a mask is painted into its image: one value that marks it, or its edge, and hardly anything else."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, found

INSIDE = 0.9
"""Share of the marked voxels, or of those on their edge, that have the value."""
OUTSIDE = 0.002
"""Share of all other voxels that may have it, too."""
CASES = 0.8
"""Share of the marked images that must be so."""
FEWEST = 3


class Paint:
    """Which images give their mask away."""

    def __init__(self) -> None:
        self.painted: list[bool] = []

    def add(self, image: NDArray[Any], mask: NDArray[np.bool_]) -> None:
        """Take in an image `(channels, *sizes)` and what is marked; images without a mark say nothing."""
        if mask.any() and not mask.all():
            edge = mask & ~_inner(mask)
            self.painted.append(any(_tells(channel, part, mask) for channel in image for part in (mask, edge)))

    def check(self) -> Verdict | None:
        """Whether most marked images are painted."""
        count, every = sum(self.painted), len(self.painted)
        if every < FEWEST:
            return None
        if count < CASES * every:
            return f"no single value of the image tells the mask ({every:,} marked images looked at)"
        return found(
            "painted", "error", f"in {count:,} of {every:,} marked images one value marks the mask or its edge and "
            "hardly anything else, as where annotations were saved into the image",
            "Take the images from before they were annotated.",
        )  # fmt: skip


def _tells(channel: NDArray[Any], part: NDArray[np.bool_], mask: NDArray[np.bool_]) -> bool:
    values, counts = np.unique(channel[part], return_counts=True)
    outside = channel[~mask] == values[counts.argmax()]
    return bool(counts.max() > INSIDE * part.sum() and outside.mean() < OUTSIDE)


def _inner(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Marked voxels whose neighbours along the axes are all marked."""
    inner = mask
    for axis in range(mask.ndim):
        padded = np.pad(mask, [(int(axis == each),) * 2 for each in range(mask.ndim)])
        size = mask.shape[axis]
        inner = inner & padded.take(range(size), axis) & padded.take(range(2, size + 2), axis)
    return inner
