"""Arrays in memory as images."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed
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
    values = _array(x)
    check_form(values.shape, values.dtype, "X")
    check_room(len(values), values.shape[1:], options.max_bytes, "X")
    names = tuple(f"X[{row}]" for row in range(len(values)))
    if y is None:
        return Images(values=resized(values, options), labels=None, classes=(), names=names, source="arrays in memory")
    given = np.asarray(y)
    if given.shape != (len(values),):
        raise DataError(f"y: one class is needed per image, ({len(values)},). Got {given.shape}.")
    every = given.tolist()
    absent = next((place for place, label in enumerate(every) if _is_absent(label)), None)
    if absent is not None:
        raise DataError(f"y: every image needs a class. Image {absent} has none. Fill it in.")
    labels, classes = numbered(every)
    return Images(
        values=resized(values, options), labels=labels, classes=classes, names=names, source="arrays in memory"
    )


def _array(x: Any) -> NDArray[Any]:
    try:
        return np.asarray(x)
    except ValueError:
        sizes = sorted({np.shape(image) for image in x})
        raise DataError(f"X: images must have one size. Got {listed(sizes)}. Bring them to one.") from None


def _is_absent(label: Any) -> bool:
    return label is None or label == "" or label != label
