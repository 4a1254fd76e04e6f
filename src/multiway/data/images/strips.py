"""Strips: square images stacked into tall ones, with labels beside them, as large sets are kept losslessly."""

from pathlib import Path
from typing import Any

import numpy as np

from multiway.data.findings import quoted
from multiway.data.images.images import Bytes, Images, Labels, check_room
from multiway.data.images.options import ImageOptions
from multiway.data.images.pictures import read_head, read_picture
from multiway.data.images.resizing import resized
from multiway.data.shares import Splits
from multiway.data.volumes.arrays import read_npy
from multiway.errors import DataError

PARTS = ("train", "validation", "test")
CLASSES = "classes.txt"


def is_strips(folder: Path) -> bool:
    """Whether a folder holds strips and their labels."""
    return (folder / "train-labels.npy").is_file() or (folder / "test-labels.npy").is_file()


def read_strips(folder: Path, options: ImageOptions) -> Images:
    """Read `PART-000.webp`, `PART-001.webp`, ... and `PART-labels.npy` of each part, and the names of the classes.

    Raises:
        DataError: A strip is no stack of squares, or there are not as many labels as images.
    """
    where = quoted(folder.name, 80)
    parts = [part for part in PARTS if (folder / f"{part}-labels.npy").is_file()]
    labels = {part: _labels(folder / f"{part}-labels.npy") for part in parts}
    values = {part: _values(folder, part, options) for part in parts}
    for part in parts:
        if len(labels[part]) != len(values[part]):
            got = f"{len(values[part]):,} images and {len(labels[part]):,} labels"
            raise DataError(f"{where}: {part} needs a label for each image. Got {got}. Copy the folder again.")
    return joined(where, values, labels, _classes(folder / CLASSES, labels, where), options)


def joined(
    where: str, values: dict[str, Bytes], labels: dict[str, Labels], classes: tuple[str, ...], options: ImageOptions
) -> Images:
    """Parts one after another, resized as the options say."""
    stops = np.cumsum([0, *map(len, values.values())])
    parts: Splits = {part: np.arange(stops[place], stops[place + 1]) for place, part in enumerate(values)}
    return Images(
        values=resized(np.concatenate(list(values.values())), options), labels=np.concatenate(list(labels.values())),
        names=tuple(f"{part}-{row:05d}" for part in values for row in range(len(values[part]))),
        classes=classes, source=where, parts=parts,
    )  # fmt: skip


def _values(folder: Path, part: str, options: ImageOptions) -> Bytes:
    paths = sorted(path for path in folder.glob(f"{part}-*") if path.suffix != ".npy")
    heads = [read_head(path, path.name) for path in paths]
    if not paths or any(head.sizes[0] % head.sizes[1] or head.sizes[1] != heads[0].sizes[1] for head in heads):
        raise DataError(
            f"{quoted(folder.name, 80)}: {part} needs strips of squares of one size, stacked. Make them so."
        )
    side, channels = heads[0].sizes[1], 1 if all(head.is_grey for head in heads) else 3
    count = sum(head.sizes[0] // side for head in heads)
    check_room(count, (side, side, channels), options.max_bytes, quoted(folder.name, 80))
    each: list[Any] = [
        read_picture(path, path.name, (*head.sizes, channels)) for path, head in zip(paths, heads, strict=True)
    ]
    return np.concatenate(each).reshape(count, side, side, channels)


def _labels(path: Path) -> Labels:
    found = read_npy(path, 2**30, path.name)
    if found.dtype.kind not in "iu" or found.ndim != 1 or (len(found) and found.min() < 0):
        raise DataError(
            f"{path.name}: labels are whole numbers from 0, one per image. Got {found.dtype} {found.shape}."
        )
    return found.astype(np.int64)


def _classes(path: Path, labels: dict[str, Labels], where: str) -> tuple[str, ...]:
    count = 1 + max(int(found.max(initial=0)) for found in labels.values())
    if not path.is_file():
        return tuple(map(str, range(count)))
    names = tuple(path.read_text(encoding="utf-8").split("\n"))
    names = tuple(name.strip() for name in names if name.strip())
    if len(names) < count or len(set(names)) < len(names):
        raise DataError(
            f"{where}: {CLASSES} needs a name for each of {count} classes, all different. Got {len(names)}."
        )
    return names
