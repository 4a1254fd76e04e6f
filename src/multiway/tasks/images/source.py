"""`read_images`: from a folder, a file or arrays to images of one size."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multiway.config import Plain
from multiway.data.findings import Failures, Findings, list_some, quote
from multiway.data.matching import match_classes
from multiway.data.samples import SPLIT_OF, Array, Samples
from multiway.data.sources.bytes import allowance
from multiway.data.sources.pictures import (
    Bytes,
    check_form,
    check_room,
    has_axes,
    is_picture,
    read_head,
    read_pictures,
    resize,
)
from multiway.data.sources.tables import pair_of
from multiway.errors import ConfigError, DataError, MultiwayError
from multiway.tasks.images.archives import (
    images_of,
    is_archive,
    is_cifar,
    is_strips,
    number_classes,
    read_archive,
    read_cifar,
    read_strips,
)
from multiway.tasks.images.config import ImageConfig, ImageOptions
from multiway.tasks.kind import SampleKind

FORMS = "Give a folder per class, a .npz of images and labels, or an image."
MEMORY = "arrays in memory"


def read_images(
    source: object, options: ImageOptions | None = None, failures: Failures | None = None
) -> Samples[Bytes]:
    """Read images and, where there are any, their classes.

    A folder of images or of strips, a .npz, an archive of CIFAR, one image, or arrays `(X, y)` or X. `failures` takes
    what is wrong with single files; without it the first is raised.
    """
    options = options or ImageOptions()
    if isinstance(source, Samples):
        return source
    if not isinstance(source, str | Path):
        return _of_arrays(*pair_of(source), options)
    path = Path(source)
    if path.is_dir():
        return read_strips(path, options) if is_strips(path) else _of_folder(path, options, failures)
    if not path.is_file():
        raise DataError(f"{quote(path, 200)} does not exist. {FORMS}")
    if path.suffix.lower() == ".npz":
        return read_archive(path, options)
    if is_cifar(path):
        return read_cifar(path, options)
    if not is_picture(path):
        raise DataError(f"{quote(path.name, 80)}: it is no file of images. {FORMS}")
    values, _, notes = read_pictures([path], [path.name], options)
    return images_of(values, [path.name], quote(path.name, 80), notes=notes)


def looks_like_images(source: object) -> bool:
    """Whether a folder, a file or an array holds images, by names and heads alone."""
    if not isinstance(source, str | Path):
        x = pair_of(source)[0]
        return getattr(x, "dtype", None) == "uint8" and has_axes(x.shape)
    path = Path(source)
    try:
        if path.is_dir():
            return is_strips(path) or any(is_picture(file.path) for file in _files_in(path))
        if path.suffix.lower() == ".npz":
            return path.is_file() and is_archive(path)
        return is_cifar(path) or (path.is_file() and is_picture(path) and bool(read_head(path, path.name).frames))
    except (ConfigError, DataError):
        return False


class File(NamedTuple):
    """A file below a folder: its part and its class, where the folders say them."""

    path: Path
    name: str
    part: str | None
    label: str | None


def _of_folder(folder: Path, options: ImageOptions, failures: Failures | None) -> Samples[Bytes]:
    """Every image below a folder, one folder per class; images that lie in it directly have no class."""
    where = quote(folder.name, 80)
    every = sorted(_files_in(folder), key=lambda file: file.name)
    files = [file for file in every if is_picture(file.path)]
    if not files:
        raise DataError(f"{where}: it holds no image. Give a folder per class with png, jpeg or webp files in it.")
    bare = [file.name for file in files if file.label is None]
    if 0 < len(bare) < len(files):
        raise DataError(
            f"{where}: every image lies in the folder of its class, or none does. Got {len(bare)} without: "
            f"{list_some(bare, 3)}. Move or remove them."
        )
    others = len(every) - len(files)
    values, sound, notes = read_pictures(
        [file.path for file in files], [file.name for file in files], options, failures
    )
    files = [files[position] for position in sound]
    parts = tuple(file.part or "" for file in files)
    return images_of(
        values,
        [file.name for file in files],
        where,
        official=parts if any(parts) else None,
        notes=(*notes, *([f"{others:,} files are no images and were left"] if others else [])),
        **({} if bare else number_classes([file.label for file in files])),
    )


def _files_in(folder: Path) -> Iterator[File]:
    """Every file below a folder but hidden ones, with the part and the class that its folders say."""
    tops = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    has_parts = bool(tops) and all(path.name.lower() in SPLIT_OF for path in tops)
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inner = list(Path(top).relative_to(folder).parts)
        part = SPLIT_OF[inner.pop(0).lower()] if has_parts and inner else None
        for path in (Path(top, name) for name in names if not name.startswith(".")):
            yield File(path, path.relative_to(folder).as_posix(), part, inner[0] if inner else None)


def _of_arrays(x: object, y: object, options: ImageOptions) -> Samples[Bytes]:
    """Images `(images, height, width[, channels])` of bytes, and one class for each, or None."""
    values = _array(x)
    check_form(values.shape, values.dtype, "X")
    check_room(len(values), values.shape[1:], allowance(options.max_bytes, values.nbytes), "X")
    classes = {} if y is None else number_classes(_classes(y, len(values)))
    return images_of(resize(values, options), [f"X[{row}]" for row in range(len(values))], MEMORY, **classes)


def _array(x: Any) -> Array:
    try:
        return np.asarray(x)
    except ValueError:
        sizes = sorted({np.shape(image) for image in x})
        raise DataError(f"X: images must have one size. Got {list_some(sizes)}. Bring them to one.") from None


def _classes(y: object, count: int) -> list[object]:
    given = np.asarray(y)
    if given.shape != (count,):
        raise DataError(f"y: one class is needed per image, ({count},). Got {given.shape}.")
    labels: list[object] = given.tolist()
    absent = next((row for row, label in enumerate(labels) if label is None or label in ("",) or label != label), None)
    if absent is not None:
        raise DataError(f"y: every image needs a class. Image {absent} has none. Fill it in.")
    return labels


def read_with_flaws(
    config: ImageConfig,
    source: object,
    findings: Findings,
    state: Any = None,
    *,
    has_target: bool = True,
) -> Samples[Bytes]:
    """Images of one size; later ones in the colours and the classes of the training."""
    options, failures = config.read, list[MultiwayError]()
    if state is not None:
        options = options.replace(channels="grey" if state.channels == 1 else "rgb")
    try:
        images = read_images(source, options, failures)
    finally:
        findings.take_all("source", failures)
    if state is None:
        return images
    if not has_target:
        return dataclasses.replace(images, target=None, classes=state.classes)
    given = [(images.classes or ())[label] for label in images.truth.tolist()]
    target = match_classes(given, state.classes, images.source, "images")
    return dataclasses.replace(images, target=target, classes=state.classes)


def describe_images(samples: Samples[Bytes]) -> Plain:
    """Images, their size, colours and values."""
    values = samples.inputs
    return {
        "images": len(samples),
        "sizes": f"{values.shape[1]} x {values.shape[2]}",
        "colours": "grey" if values.shape[3] == 1 else "red, green, blue",
        "values": f"{values.min()} to {values.max()}" if len(samples) else None,
    }


PICTURES = SampleKind(recognises=looks_like_images, read=read_with_flaws, describe=describe_images)
