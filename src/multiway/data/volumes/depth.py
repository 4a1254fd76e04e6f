"""How deep a voxel lies inside a shape: what a narrow convolution cannot measure on a mask of zeros and ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.extras import load_extra


def with_depth(values: NDArray[Any]) -> NDArray[np.float32]:
    """Put each channel's depth behind the channels: the distance to the nearest voxel that is not in the shape.

    In voxels, whatever their size in millimetres, so that a scan with an affine and one without are measured alike.

    Args:
        values: `(channels, *sizes)`; a voxel above zero is in the shape, and beyond the border lies nothing.

    Returns:
        `(2 channels, *sizes)`; depths are zero outside the shape.

    Raises:
        ConfigError: scipy is not installed.
    """
    transform = load_extra("scipy.ndimage", "the option distance", "volumes").distance_transform_edt
    framed = np.pad(values > 0, ((0, 0), *[(1, 1)] * (values.ndim - 1)))
    inner = (slice(1, -1),) * (values.ndim - 1)
    depths = [transform(shape)[inner] for shape in framed]
    return np.concatenate([values, depths]).astype(np.float32)
