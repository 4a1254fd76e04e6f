"""Images packed with their labels: arrays in a .npz, strips of squares in a folder, the binary archives of CIFAR."""

import dataclasses
import itertools
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.config import Plain
from multiway.data.findings import list_some, quote
from multiway.data.matching import positions
from multiway.data.options import MAX_BYTES, PictureOptions, compose
from multiway.data.samples import SPLITS, Rows, Samples
from multiway.data.sources.arrays import Archive, check_bytes, labels_in, name_rows, pairs_of, read_npy
from multiway.data.sources.bytes import allowance
from multiway.data.sources.pictures import Bytes, check_form, check_room, has_axes, read_head, read_picture, resize
from multiway.errors import DataError, Fix, Message, in_a_line

CLASSES = "classes.txt"
SIDE, CHANNELS = 32, 3
LABELLING: Message = ("Give a folder per class, or an array of labels next to the images.",)


def images_of(values: Bytes, names: Sequence[str], source: str, **known: Any) -> Samples[Bytes]:
    """Images `(images, height, width, channels)` as samples; grey ones have one channel."""
    return Samples(
        inputs=values, names={"image": tuple(names)}, source=source, word="images", labelling=LABELLING, **known
    )


def number_classes(labels: Sequence[object]) -> Plain:
    """Labels as positions of their classes, and the names of these: whole numbers, then words by the alphabet."""
    given = [compose(str(label)) for label in labels]
    names = set(given)
    order = sorted(names, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))
    return {"target": positions(given, order), "classes": tuple(order)}


def join_pictures(values: Mapping[str, Bytes], source: str, **known: Any) -> Samples[Bytes]:
    """Parts one after another, each image called by its part and its row."""
    names, official = name_rows({part: len(images) for part, images in values.items()})
    return images_of(np.concatenate(list(values.values())), names, source, official=official, **known)


def is_archive(path: Path) -> bool:
    """Whether a .npz has arrays of images by their names and axes."""
    archive = Archive(path, 2**62, quote(path.name, 80))
    shapes = [archive.header(pair.samples).shape for pair in pairs_of(archive).values()]
    return bool(shapes) and all(has_axes(shape) for shape in shapes)


def read_archive(path: Path, options: PictureOptions) -> Samples[Bytes]:
    """Read images and labels of a .npz: one pair of arrays, or one for each part."""
    where = quote(path.name, 80)
    limit = allowance(options.max_bytes, path.stat().st_size)
    archive = Archive(path, limit, where)
    pairs = pairs_of(archive)
    if not pairs:
        raise DataError(
            f"{where}: arrays of images and labels are needed: images and labels, train_images and train_labels, or "
            f"x_train and y_train. It holds {list_some(archive.names)}. Save them under such names."
        )
    _check_archive(archive, [pair.samples for pair in pairs.values()], limit)
    values = {part: resize(archive.read(pair.samples), options) for part, pair in pairs.items()}
    forms = sorted({array.shape[1:] for array in values.values()})
    if len(forms) > 1:
        raise DataError(
            f"{where}: images of all parts must have one size. Got {list_some(forms)}. Bring them to one (",
            Fix("read.size", max(form[0] for form in forms)),
            " ",
            Fix("read.channels", "rgb"),
            ").",
        )
    labels = {
        part: labels_in(archive, pair.labels, len(values[part]), words=True)
        for part, pair in pairs.items()
        if pair.labels is not None
    }
    if 0 < len(labels) < len(values):
        raise DataError(f"{where}: every part needs labels, or none. Got them for {list_some(labels)}. Add the others.")
    return join_pictures(
        values, where, **(number_classes(list(itertools.chain.from_iterable(labels.values()))) if labels else {})
    )


def _check_archive(archive: Archive, names: Sequence[str], limit: int) -> None:
    """Whether arrays are of images, and all of them together within the limit, by their headers."""
    headers = {name: archive.header(name) for name in names}
    for name, header in headers.items():
        check_form(header.shape, header.dtype, f"{archive.where}, array '{quote(name)}'")
        check_room(header.shape[0], header.shape[1:], limit, archive.where)
    check_bytes(sum(header.nbytes for header in headers.values()), None, limit, archive.where, "an archive")


def is_strips(folder: Path) -> bool:
    """Whether a folder holds strips and their labels: square images stacked, as large sets are kept losslessly."""
    return (folder / "train-labels.npy").is_file() or (folder / "test-labels.npy").is_file()


def read_strips(folder: Path, options: PictureOptions) -> Samples[Bytes]:
    """Read `PART-000.webp`, `PART-001.webp`, ... and `PART-labels.npy` of each part, and the names of the classes."""
    where = quote(folder.name, 80)
    parts = [part for part in SPLITS if (folder / f"{part}-labels.npy").is_file()]
    labels = {part: _labels(folder / f"{part}-labels.npy") for part in parts}
    values = {part: _stack(folder, part, options) for part in parts}
    for part in parts:
        if len(labels[part]) != len(values[part]):
            got = f"{len(values[part]):,} images and {len(labels[part]):,} labels"
            raise DataError(f"{where}: {part} needs a label for each image. Got {got}. Copy the folder again.")
    every = np.concatenate(list(labels.values()))
    return join_pictures(
        values, where, target=every, classes=_name_arrays(folder / CLASSES, 1 + int(every.max(initial=0)), where)
    )


def _stack(folder: Path, part: str, options: PictureOptions) -> Bytes:
    paths = sorted(path for path in folder.glob(f"{part}-*") if path.suffix != ".npy")
    heads = [read_head(path, path.name) for path in paths]
    if not paths or any(head.sizes[0] % head.sizes[1] or head.sizes[1] != heads[0].sizes[1] for head in heads):
        raise DataError(f"{quote(folder.name, 80)}: {part} needs strips of squares of one size, stacked. Make them so.")
    side, channels = heads[0].sizes[1], 1 if all(head.is_grey for head in heads) else 3
    count = sum(head.sizes[0] // side for head in heads)
    limit = allowance(options.max_bytes, sum(path.stat().st_size for path in paths))
    check_room(count, (side, side, channels), limit, quote(folder.name, 80))
    strips = [read_picture(path, path.name, (*head.sizes, channels)) for path, head in zip(paths, heads, strict=True)]
    return resize(np.concatenate(strips).reshape(count, side, side, channels), options)


def _labels(path: Path) -> Rows:
    labels = read_npy(path, 2**30, path.name)
    if labels.dtype.kind not in "iu" or labels.ndim != 1 or (len(labels) and labels.min() < 0):
        raise DataError(
            f"{path.name}: labels are whole numbers from 0, one per image. Got {labels.dtype} {labels.shape}."
        )
    return labels.astype(np.int64)


def _name_arrays(path: Path, count: int, where: str) -> tuple[str, ...]:
    if not path.is_file():
        return tuple(map(str, range(count)))
    names = tuple(name.strip() for name in path.read_text(encoding="utf-8").split("\n") if name.strip())
    if len(names) < count or len(set(names)) < len(names):
        raise DataError(
            f"{where}: {CLASSES} needs a name for each of {count} classes, all different. Got {len(names)}."
        )
    return names


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """What an archive of CIFAR holds: files of each part, the file of class names, bytes of labels before an image."""

    parts: dict[str, tuple[str, ...]]
    names: str
    labels: int


CIFAR = {
    "cifar-10-batches-bin": Form(
        parts={"train": tuple(f"data_batch_{n}.bin" for n in range(1, 6)), "test": ("test_batch.bin",)},
        names="batches.meta.txt",
        labels=1,
    ),
    "cifar-100-binary": Form(
        parts={"train": ("train.bin",), "test": ("test.bin",)}, names="fine_label_names.txt", labels=2
    ),
}


def is_cifar(path: Path) -> bool:
    """Whether a file is a binary archive of CIFAR by its name."""
    return path.name in ("cifar-10-binary.tar.gz", "cifar-100-binary.tar.gz")


def read_cifar(path: Path, options: PictureOptions) -> Samples[Bytes]:
    """Read both parts, as their authors publish them; classes are the fine ones."""
    where = quote(path.name, 80)
    try:
        with tarfile.open(path, "r:gz") as archive:
            return _unpack(archive, where, options)
    except (OSError, EOFError, KeyError, zlib.error, tarfile.TarError) as error:
        reason = quote(in_a_line(error), 80)
        raise DataError(f"{where}: it is no sound archive of CIFAR ({reason}). Fetch it again.") from None


def _unpack(archive: Any, where: str, options: PictureOptions) -> Samples[Bytes]:
    files, total = dict[str, Any](), 0
    for member in archive:
        total += member.size
        check_bytes(total, None, MAX_BYTES, where, "an archive")  # before the next is unpacked
        if member.isfile():
            files[member.name] = member
    folder = next((name for name in CIFAR if any(file.startswith(f"{name}/") for file in files)), None)
    if folder is None:
        raise DataError(f"{where}: it holds neither CIFAR-10 nor CIFAR-100 in binary. Fetch it again.")

    def content(name: str) -> bytes:
        return bytes(archive.extractfile(files[f"{folder}/{name}"]).read())

    form = CIFAR[folder]
    rows = {
        part: np.concatenate([_records(content(name), form, where) for name in names])
        for part, names in form.parts.items()
    }
    labels = np.concatenate([part[:, form.labels - 1].astype(np.int64) for part in rows.values()])
    classes = tuple(name for name in content(form.names).decode().split("\n") if name.strip())
    if labels.max() >= len(classes):
        raise DataError(f"{where}: a label is none of the {len(classes)} classes. Fetch it again.")
    images = {part: every[:, form.labels :].reshape(-1, CHANNELS, SIDE, SIDE) for part, every in rows.items()}
    values = {part: resize(every.transpose(0, 2, 3, 1), options) for part, every in images.items()}
    return join_pictures(values, where, target=labels, classes=classes)


def _records(content: bytes, form: Form, where: str) -> NDArray[np.uint8]:
    size = form.labels + SIDE * SIDE * CHANNELS
    if not content or len(content) % size:
        raise DataError(f"{where}: its files are records of {size} bytes. Got {len(content):,}. Fetch it again.")
    return np.frombuffer(content, np.uint8).reshape(-1, size)
