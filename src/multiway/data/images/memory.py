"""Arrays in memory as images."""

from typing import Any

import numpy as np

from multiway.data.images.archives import check_form
from multiway.data.images.images import Images, check_room, numbered
from multiway.data.images.options import ImageOptions
from multiway.data.images.resizing import resized
from multiway.errors import DataError


def images_of_arrays(x: Any, y: Any, options: ImageOptions) -> Images:
    """Images `(images, height, width[, channels])` of bytes, and one class for each, or None.

    Raises:
        DataError: They hold no bytes, have other axes, or there is not one class per image.
    """
    values = np.asarray(x)
    check_form(values.shape, values.dtype, "X")
    check_room(len(values), values.shape[1:], options.max_bytes, "X")
    names = tuple(f"X[{row}]" for row in range(len(values)))
    if y is None:
        return Images(values=resized(values, options), labels=None, classes=(), names=names, source="arrays in memory")
    given = np.asarray(y)
    if given.shape != (len(values),):
        raise DataError(f"y: one class is needed per image, ({len(values)},). Got {given.shape}.")
    labels, classes = numbered(given.tolist())
    return Images(
        values=resized(values, options), labels=labels, classes=classes, names=names, source="arrays in memory"
    )
