"""Images that show the same thing at another place: copies that were moved, and tiles that overlap."""

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.common import Common
from multiway.auditing.near import unit_rows

SIDES, SMALLEST = {1: 256, 2: 48, 3: 16}, 12
"""Places along each axis, about the middle, by the number of axes."""
CANDIDATES = 4
"""Training images, by the size of their frequencies, that are laid over an image."""
Ints = NDArray[np.int64]
Array32 = NDArray[np.float32]


class Moved:
    """Details about the middle of each image, laid over those of training images at every shift.

    Where an image has what another one has, the sizes of its frequencies are much alike at any shift, so few need
    be laid over it.

    Args:
        stack: `(images, channels, *sizes)`.
        train: Training images.
        usual: How like the nearest other a training image is place by place, as tiles that overlap are not.
    """

    least = 0.35

    def __init__(self, stack: Array32, train: Ints, usual: Array32) -> None:
        self.stack, self.known, self.usual, self.common = stack, train, usual, Common(stack[train])
        self.waves = self._waves(stack[train])
        self.mean = _sizes(self.waves).mean(0)
        self.sizes = unit_rows(_sizes(self.waves) - self.mean)

    def similarities(self, rows: Ints) -> Array32:
        """Largest correlation over all shifts; 0 where the sizes of frequencies are less alike than those of others."""
        waves = self._waves(self.stack[rows])
        alike = unit_rows(_sizes(waves) - self.mean) @ self.sizes.T
        best = np.zeros(alike.shape, np.float32)
        for row, others in enumerate(np.argsort(-alike, 1)[:, :CANDIDATES]):
            product = (waves[row] * self.waves[others].conj()).sum(1)
            shifts = np.fft.irfftn(product, self.stack.shape[2:], axes=range(1, product.ndim))
            best[row, others] = np.abs(shifts).reshape(len(others), -1).max(1)
        return best

    def _waves(self, images: Array32) -> NDArray[np.complex64]:
        own = self.common.own(images).reshape(images.shape)
        return np.fft.rfftn(own, axes=range(2, images.ndim)).astype(np.complex64)


def _sizes(waves: NDArray[np.complex64]) -> Array32:
    """Roots of the sizes of all frequencies, so that no few of them outweigh the rest."""
    return np.asarray(np.sqrt(np.abs(waves)).reshape(len(waves), -1))


def middle_of(detail: Array32) -> Array32:
    """The middle of `(channels, *sizes)`, which bounds what is kept of large images."""
    side = SIDES.get(detail.ndim - 1, SMALLEST)
    cuts = [max(size - side, 0) // 2 for size in detail.shape[1:]]
    return detail[(slice(None), *(slice(cut, cut + side) for cut in cuts))].astype(np.float32)
