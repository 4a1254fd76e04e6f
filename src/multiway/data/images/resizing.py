"""Images of an array in the size and colours that are asked for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.images.images import Bytes
from multiway.data.images.options import ImageOptions
from multiway.extras import load_extra

LUMA = (299, 587, 114)
"""Thousandths of red, green and blue that make grey (ITU-R 601), as Pillow takes them."""


def resized(images: NDArray[Any], options: ImageOptions) -> Bytes:
    """Images `(images, height, width[, channels])` of bytes or truth values, with an axis of 1 or 3 channels.

    A fourth channel is how opaque a pixel is: what is clear is laid on white.
    """
    values = 255 * images.astype(np.uint8) if images.dtype == bool else images
    values = values[..., None] if values.ndim == 3 else values
    if values.shape[3] == 4:
        opaque = values[..., 3:].astype(np.uint16)
        values = ((values[..., :3] * opaque + 255 * (255 - opaque)) // 255).astype(np.uint8)
    if options.channels == "grey" and values.shape[3] == 3:
        values = ((values.astype(np.uint32) @ np.array(LUMA, np.uint32) + 500) // 1000).astype(np.uint8)[..., None]
    if options.channels == "rgb" and values.shape[3] == 1:
        values = values.repeat(3, axis=3)
    if options.size is None or values.shape[1:3] == (options.size, options.size):
        return np.ascontiguousarray(values)
    return np.stack([_resize(image, options.size) for image in values])


def _resize(image: Bytes, side: int) -> Bytes:
    library = load_extra("PIL.Image", "resizing images", "images")
    picture = library.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    small = picture.resize((side, side), library.Resampling.BILINEAR)
    return np.asarray(small, np.uint8).reshape(side, side, -1)
