"""A folder of images: one folder per class, under train, validation and test where the data say them."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from multiway.data.failures import Failures
from multiway.data.findings import listed, quoted
from multiway.data.images.images import Images, numbered
from multiway.data.images.options import ImageOptions
from multiway.data.images.pictures import is_picture, read_pictures
from multiway.data.shares import Splits
from multiway.errors import DataError

PARTS = {
    "train": "train", "training": "train", "val": "validation", "valid": "validation", "validation": "validation",
    "test": "test", "testing": "test",
}  # fmt: skip
"""Names of folders that are parts of the data and no classes."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A file of an image: its part and its class, where the folders say them."""

    path: Path
    name: str
    part: str | None
    label: str | None


def read_folder(folder: Path, options: ImageOptions, failures: Failures | None = None) -> Images:
    """Read every image below a folder; images that lie in it directly have no class.

    Raises:
        DataError: There is none, one is not sound, or some have a class and others have not.
    """
    where = quoted(folder.name, 80)
    every = sorted(found_in(folder), key=lambda found: found.name)
    found = [each for each in every if is_picture(each.path)]
    if not found:
        raise DataError(f"{where}: it holds no image. Give a folder per class with png, jpeg or webp files in it.")
    _check_labels(found, where)
    values, sound, notes = read_pictures(
        [each.path for each in found], [each.name for each in found], options, failures
    )
    others = len(every) - len(found)
    found = [found[place] for place in sound]
    labels, classes = (None, ()) if found[:1] and found[0].label is None else numbered([each.label for each in found])
    return Images(
        values=values, labels=labels, classes=classes, names=tuple(each.name for each in found), source=where,
        parts=_parts(found), notes=(*notes, *([f"{others:,} files are no images and were left"] if others else [])),
    )  # fmt: skip


def found_in(folder: Path) -> Iterator[Found]:
    """Every file below a folder but hidden ones, with the part and the class that its folders say."""
    tops = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    has_parts = bool(tops) and all(path.name.lower() in PARTS for path in tops)
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in files:
            if not file.startswith("."):
                yield _found(Path(top, file), folder, has_parts=has_parts)


def _found(path: Path, folder: Path, *, has_parts: bool) -> Found:
    inner = path.relative_to(folder)
    above = list(inner.parts[:-1])
    part = PARTS[above.pop(0).lower()] if has_parts and above else None
    return Found(path=path, name=inner.as_posix(), part=part, label=above[0] if above else None)


def _check_labels(found: list[Found], where: str) -> None:
    bare = [each.name for each in found if each.label is None]
    if 0 < len(bare) < len(found):
        raise DataError(
            f"{where}: every image lies in the folder of its class, or none does. Got {len(bare)} without: "
            f"{listed(bare, 3)}. Move or remove them."
        )


def _parts(found: list[Found]) -> Splits:
    names = list(dict.fromkeys(each.part for each in found))
    if names == [None]:
        return {}
    return {
        part: np.array([place for place, each in enumerate(found) if each.part == part], np.int64)
        for part in ("train", "validation", "test") if part in names
    }  # fmt: skip
