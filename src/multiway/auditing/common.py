"""What each image has of its own: detail that its neighbouring voxels do not have, without what many images share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.near import unit_rows

COMMON, IMAGES_PER_COMMON, MOST_IMAGES = 8, 5, 400
"""Patterns that images share, such as edges of the body, which are left out; and images they are learnt from."""

Array32 = NDArray[np.float32]


class Common:
    """Mean and first principal components of many images."""

    def __init__(self, images: Array32) -> None:
        chosen = images[np.unique(np.linspace(0, len(images) - 1, min(len(images), MOST_IMAGES)).astype(int))]
        self.mean = chosen.mean(0)
        rows = unit_rows((chosen - self.mean).reshape(len(chosen), -1))
        self.patterns = np.linalg.svd(rows, full_matrices=False)[2][: min(COMMON, len(chosen) // IMAGES_PER_COMMON)]

    def own(self, images: Array32) -> Array32:
        """What each image has of its own, of length one; 0 for one without detail."""
        rows = unit_rows((images - self.mean).reshape(len(images), -1))
        own = unit_rows(rows - (rows @ self.patterns.T) @ self.patterns)
        own[~images.reshape(len(images), -1).any(1)] = 0
        return own


def fine_detail(image: NDArray[Any]) -> Array32:
    """Each inner voxel of `(channels, *sizes)` without the mean of its neighbours along the axes."""
    values = image.astype(np.float32)
    axes = range(1, values.ndim)
    inner = values[(slice(None), *(slice(1, -1) for _ in axes))]
    around = sum(_moved(values, axis, step) for axis in axes for step in (0, 2))
    detail = np.asarray(inner - around / (2 * len(axes)))
    return detail if np.linalg.norm(detail) > 1e-6 * np.abs(values).max(initial=1) else 0 * detail


def _moved(values: Array32, axis: int, start: int) -> Array32:
    """Inner voxels' neighbours along one axis."""
    sizes = enumerate(values.shape[1:], 1)
    return values[
        (slice(None), *(slice(start, start + size - 2) if at == axis else slice(1, -1) for at, size in sizes))
    ]
