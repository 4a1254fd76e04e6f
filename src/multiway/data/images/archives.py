"""Images in a .npz: one pair of arrays, or one for each part, as MedMNIST and Keras name them."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from multiway.data.findings import listed, quoted
from multiway.data.images.images import Bytes, Images, Labels, check_room, numbered
from multiway.data.images.options import ImageOptions
from multiway.data.images.resizing import resized
from multiway.data.volumes.arrays import Archive
from multiway.errors import DataError

WHOLE = (("images", "labels"), ("x", "y"), ("X", "y"), ("data", "labels"))
BY_PART = (("{}_images", "{}_labels"), ("x_{}", "y_{}"), ("X_{}", "y_{}"))
SPELLINGS = {"train": ("train",), "validation": ("val", "valid", "validation"), "test": ("test",)}
"""How each part is spelt in the names of arrays."""


def is_archive(path: Path) -> bool:
    """Whether a .npz has arrays of images by their names and axes.

    Raises:
        DataError: It is no sound archive.
    """
    archive = Archive(path, 2**62, quoted(path.name, 80))
    shapes = [archive.header(images).shape for images, _ in _pairs(archive).values()]
    return bool(shapes) and all(has_axes(shape) for shape in shapes)


def read_archive(path: Path, options: ImageOptions) -> Images:
    """Read images and labels.

    Raises:
        DataError: An array lacks, holds no bytes or does not fit the others.
    """
    where = quoted(path.name, 80)
    archive = Archive(path, options.max_bytes, where)
    pairs = _pairs(archive)
    if not pairs:
        raise DataError(
            f"{where}: arrays of images and labels are needed: images and labels, train_images and train_labels, or "
            f"x_train and y_train. It holds {listed(archive.names)}. Save them under such names."
        )
    values = {part: _values(archive, images, options) for part, (images, _) in pairs.items()}
    forms = {found.shape[1:] for found in values.values()}
    if len(forms) > 1:
        fix = f"Bring them to one (--size {max(form[0] for form in forms)} --channels rgb)."
        raise DataError(f"{where}: images of all parts must have one size. Got {listed(sorted(forms))}. {fix}")
    labels = {part: _labels(archive, name, len(values[part])) for part, (_, name) in pairs.items() if name is not None}
    stops = np.cumsum([0, *map(len, values.values())])
    rows = {part: np.arange(stops[place], stops[place + 1]) for place, part in enumerate(values)}
    return _joined(where, values, labels, {} if "all" in rows else rows)


def _joined(where: str, values: dict[str, Bytes], labels: dict[str, list[Any]], rows: dict[str, Labels]) -> Images:
    if 0 < len(labels) < len(values):
        raise DataError(f"{where}: every part needs labels, or none. Got them for {listed(labels)}. Add the others.")
    places, classes = numbered(list(itertools.chain.from_iterable(labels.values())))
    return Images(
        values=np.concatenate(list(values.values())), source=where, parts=rows, classes=classes,
        labels=places if labels else None,
        names=tuple(f"{part}-{row:05d}" for part, found in values.items() for row in range(len(found))),
    )  # fmt: skip


def _pairs(archive: Archive) -> dict[str, tuple[str, str | None]]:
    """Names of the arrays of images and labels by part; a part without labels has None."""
    whole = next(((x, y if y in archive.names else None) for x, y in WHOLE if x in archive.names), None)
    if whole is not None:
        return {"all": whole}
    found: dict[str, tuple[str, str | None]] = {}
    for part, spellings in SPELLINGS.items():
        for x, y in ((x.format(word), y.format(word)) for x, y in BY_PART for word in spellings):
            if x in archive.names:
                found.setdefault(part, (x, y if y in archive.names else None))
    return found


def _values(archive: Archive, name: str, options: ImageOptions) -> Bytes:
    header = archive.header(name)
    check_form(header.shape, header.dtype, f"{archive.where}, array '{quoted(name)}'")
    check_room(header.shape[0], header.shape[1:], options.max_bytes, archive.where)
    return resized(archive.read(name), options)


def check_form(shape: tuple[int, ...], dtype: np.dtype[np.generic], where: str) -> None:
    """Refuse an array that holds no images of bytes.

    Raises:
        DataError: It is of another type or has other axes.
    """
    if dtype.kind != "b" and dtype != np.uint8:
        raise DataError(
            f"{where}: images are bytes from 0 to 255 (uint8). Got {dtype.name}. Scale and convert them: "
            f"(255 * x).astype('uint8') where 1 is white."
        )
    if shape and shape[0] == 0:
        raise DataError(f"{where}: it holds no images. Give some.")
    if not has_axes(shape):
        raise DataError(
            f"{where}: images must be (images, height, width) or (images, height, width, channels) with 1, 3 or 4 "
            f"channels. Got {shape}. Move the channels last."
        )


def has_axes(shape: tuple[int, ...]) -> bool:
    """Whether an array of this shape can hold images."""
    return 0 not in shape and (len(shape) == 3 or (len(shape) == 4 and shape[3] in (1, 3, 4)))


def _labels(archive: Archive, name: str, count: int) -> list[Any]:
    header = archive.header(name, words=True)
    if header.dtype.kind not in "iubU" or header.shape not in ((count,), (count, 1)):
        raise DataError(
            f"{archive.where}: '{quoted(name)}' must hold one whole number or word for each of {count} images. "
            f"Got {header.dtype.name} {header.shape}. Save as many labels as images."
        )
    given = archive.read(name, words=True).reshape(-1)
    found: list[Any] = (given if given.dtype.kind == "U" else given.astype(np.int64)).tolist()
    if "" in found:
        raise DataError(f"{archive.where}: '{quoted(name)}' names no class for image {found.index('')}. Fill it in.")
    return found
