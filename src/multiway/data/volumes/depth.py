"""How deep a voxel lies inside a shape: what a narrow convolution cannot measure on a mask of zeros and ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.volumes.extras import load_extra


def with_depth(values: NDArray[Any], spacing: Sequence[float] | None = None) -> NDArray[np.float32]:
    """Put each channel's depth behind the channels: the distance to the nearest voxel that is not in the shape.

    Args:
        values: `(channels, *sizes)`; a voxel above zero is in the shape, and beyond the border lies nothing.
        spacing: Millimetres between voxels; distances are in voxels if not given.

    Returns:
        `(2 channels, *sizes)`; depths are zero outside the shape.

    Raises:
        ConfigError: scipy is not installed.
    """
    transform = load_extra("scipy.ndimage", "the option distance").distance_transform_edt
    framed = np.pad(values > 0, ((0, 0), *[(1, 1)] * (values.ndim - 1)))
    inner = (slice(1, -1),) * (values.ndim - 1)
    depths = [transform(shape, sampling=spacing)[inner] for shape in framed]
    return np.concatenate([values, depths]).astype(np.float32)
