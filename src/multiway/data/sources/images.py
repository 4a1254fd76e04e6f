"""`read_images`: folders, files, archives and arrays of images, with their labels, as samples of one size."""

import itertools
import os
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multiway.config import Plain
from multiway.data.findings import Failures, list_some, quote
from multiway.data.matching import positions
from multiway.data.options import MAX_BYTES, PictureOptions, compose
from multiway.data.samples import SPLIT_OF, SPLITS, Samples
from multiway.data.sources.arrays import Archive, check_bytes, labels_in, name_rows, pairs_of, read_npy
from multiway.data.sources.bytes import SMALL_ARRAYS, TIMES, allowance
from multiway.data.sources.frames import pair_of
from multiway.data.sources.pictures import (
    Bytes,
    check_form,
    check_room,
    has_axes,
    is_picture,
    read_head,
    read_picture,
    read_pictures,
    resize,
)
from multiway.data.targets import label_cells, read_labels
from multiway.errors import ConfigError, DataError, Fix, Message, in_a_line

FORMS = "Give a folder per class, a .npz of images and labels, or an image."
LABELLING: Message = ("Give a folder per class, or an array of labels next to the images.",)
CLASSES = "classes.txt"
SIDE, CHANNELS = 32, 3
CIFAR = ("cifar-10-binary.tar.gz", "cifar-100-binary.tar.gz")


def read_images(
    source: object, options: PictureOptions | None = None, failures: Failures | None = None
) -> Samples[Bytes]:
    """Read images and, where there are any, their classes.

    A folder of images or of strips, a .npz, an archive of CIFAR, one image, or arrays `(X, y)` or X. `failures` takes
    what is wrong with single files; without it the first is raised.
    """
    options = options or PictureOptions()
    if isinstance(source, Samples):
        return source
    if not isinstance(source, str | Path):
        return _read_arrays(*pair_of(source), options)
    path = Path(source)
    if path.is_dir():
        return _read_strips(path, options) if _is_strips(path) else _read_folder(path, options, failures)
    if not path.is_file():
        raise DataError(f"{quote(path, 200)} does not exist. {FORMS}")
    if path.suffix.lower() == ".npz":
        return _read_archive(path, options)
    if path.name in CIFAR:
        return _read_cifar(path, options)
    if not is_picture(path):
        raise DataError(f"{quote(path.name, 80)}: it is no file of images. {FORMS}")
    values, _, notes = read_pictures([path], [path.name], options)
    return image_samples(values, [path.name], quote(path.name, 80), notes=notes)


def looks_like_images(source: object) -> bool:
    """Whether a folder, a file or an array holds images, by names and heads alone."""
    if not isinstance(source, str | Path):
        x = pair_of(source)[0]
        return getattr(x, "dtype", None) == "uint8" and has_axes(x.shape)
    path = Path(source)
    try:
        if path.is_dir():
            return _is_strips(path) or any(is_picture(file.path) for file in _files_in(path))
        if path.suffix.lower() != ".npz":
            if path.name in CIFAR:
                return True
            return path.is_file() and is_picture(path) and bool(read_head(path, path.name).frames)
        archive = Archive(path, 2**62, quote(path.name, 80)) if path.is_file() else None
        shapes = [archive.header(pair.samples).shape for pair in pairs_of(archive).values()] if archive else []
        return bool(shapes) and all(has_axes(shape) for shape in shapes)
    except (ConfigError, DataError):
        return False


def image_samples(values: Bytes, names: Sequence[str], source: str, **known: Any) -> Samples[Bytes]:
    """Images `(images, height, width, channels)` as samples; grey ones have one channel."""
    return Samples(
        inputs=values, names={"image": tuple(names)}, source=source, word="images", labelling=LABELLING, **known
    )


def _number_classes(labels: Sequence[object], options: PictureOptions, source: str) -> Plain:
    """Labels as positions of their classes, and the names of these: whole numbers, then words by the alphabet.

    Of several labels for each image 0 or 1 for each.
    """
    if options.kind == "labels":
        target, names = read_labels([compose(str(label)) for label in labels], None, source, "images")
        return {"target": target, "classes": names}
    given = [compose(str(label)) for label in labels]
    order = sorted(set(given), key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))
    return {"target": positions(given, order), "classes": tuple(order)}


def _read_arrays(x: Any, y: object, options: PictureOptions) -> Samples[Bytes]:
    """Images `(images, height, width[, channels])` of bytes, and one class for each, or None."""
    try:
        values = np.asarray(x)
    except ValueError:
        sizes = sorted({np.shape(image) for image in x})
        raise DataError(f"X: images must have one size. Got {list_some(sizes)}. Bring them to one.") from None
    check_form(values.shape, values.dtype, "X")
    check_room(len(values), values.shape[1:], allowance(options.max_bytes, values.nbytes), "X")
    known: Plain = {}
    if y is not None:
        given = np.asarray(label_cells(y) if options.kind == "labels" else y)
        if given.shape != (len(values),):
            raise DataError(f"y: one class is needed per image, ({len(values)},). Got {given.shape}.")
        labels = given.tolist()
        absent = [row for row, label in enumerate(labels) if label is None or label in ("",) or label != label]
        if absent and options.kind == "classes":
            raise DataError(f"y: every image needs a class. Image {absent[0]} has none. Fill it in.")
        known = _number_classes(labels, options, "y")
    names = [f"X[{row}]" for row in range(len(values))]
    return image_samples(resize(values, options), names, "arrays in memory", **known)


class File(NamedTuple):
    """A file below a folder: its part and its class, where the folders say them."""

    path: Path
    name: str
    part: str | None
    label: str | None


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


def _read_folder(folder: Path, options: PictureOptions, failures: Failures | None) -> Samples[Bytes]:
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
    return image_samples(
        values,
        [file.name for file in files],
        where,
        official=parts if any(parts) else None,
        notes=(*notes, *([f"{others:,} files are no images and were left"] if others else [])),
        **({} if bare else _number_classes([file.label for file in files], options, where)),
    )


def _join_parts(values: Mapping[str, Bytes], source: str, **known: Any) -> Samples[Bytes]:
    """Parts one after another, each image called by its part and its row."""
    names, official = name_rows({part: len(images) for part, images in values.items()})
    return image_samples(np.concatenate(list(values.values())), names, source, official=official, **known)


def _read_archive(path: Path, options: PictureOptions) -> Samples[Bytes]:
    """Read images and labels of a .npz: one pair of arrays, or one for each part."""
    where = quote(path.name, 80)
    limit = allowance(options.max_bytes, path.stat().st_size, SMALL_ARRAYS, TIMES)
    archive = Archive(path, limit, where)
    pairs = pairs_of(archive)
    if not pairs:
        raise DataError(
            f"{where}: arrays of images and labels are needed: images and labels, train_images and train_labels, or "
            f"x_train and y_train. It holds {list_some(archive.names)}. Save them under such names."
        )
    headers = {pair.samples: archive.header(pair.samples) for pair in pairs.values()}
    for name, header in headers.items():
        check_form(header.shape, header.dtype, f"{where}, array '{quote(name)}'")
        check_room(header.shape[0], header.shape[1:], limit, where)
    check_bytes(sum(header.nbytes for header in headers.values()), None, limit, where, "an archive")
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
        part: labels_in(archive, pair.labels, len(values[part]), words=True, several=options.kind == "labels")
        for part, pair in pairs.items()
        if pair.labels is not None
    }
    if 0 < len(labels) < len(values):
        raise DataError(f"{where}: every part needs labels, or none. Got them for {list_some(labels)}. Add the others.")
    every = list(itertools.chain.from_iterable(labels.values()))
    return _join_parts(values, where, **(_number_classes(every, options, where) if labels else {}))


def _is_strips(folder: Path) -> bool:
    """Whether a folder holds strips and their labels: square images stacked, as large sets are kept losslessly."""
    return (folder / "train-labels.npy").is_file() or (folder / "test-labels.npy").is_file()


def _read_strips(folder: Path, options: PictureOptions) -> Samples[Bytes]:
    """Read `PART-000.webp`, `PART-001.webp`, ... and `PART-labels.npy` of each part, and the names of the classes."""
    where, labels = quote(folder.name, 80), {}
    for part in SPLITS:
        path = folder / f"{part}-labels.npy"
        if path.is_file():
            own = labels[part] = read_npy(path, 2**30, path.name)
            if own.dtype.kind not in "iu" or own.ndim != 1 or (len(own) and own.astype(np.int64).min() < 0):
                raise DataError(
                    f"{path.name}: labels are whole numbers from 0, one per image. Got {own.dtype} {own.shape}."
                )
    values = {part: _read_strip(folder, part, options) for part in labels}
    for part, images in values.items():
        if len(labels[part]) != len(images):
            got = f"{len(images):,} images and {len(labels[part]):,} labels"
            raise DataError(f"{where}: {part} needs a label for each image. Got {got}. Copy the folder again.")
    every = np.concatenate(list(labels.values())).astype(np.int64)
    count, path = 1 + int(every.max(initial=0)), folder / CLASSES
    names = list(map(str, range(count)))
    if path.is_file():
        names = [name.strip() for name in path.read_text(encoding="utf-8").split("\n") if name.strip()]
    if len(names) < count or len(set(names)) < len(names):
        raise DataError(
            f"{where}: {CLASSES} needs a name for each of {count} classes, all different. Got {len(names)}."
        )
    return _join_parts(values, where, target=every, classes=tuple(names))


def _read_strip(folder: Path, part: str, options: PictureOptions) -> Bytes:
    """Images of a part, cut out of its strips."""
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


class Form(NamedTuple):
    """What an archive of CIFAR holds: files of each part, the file of class names, bytes of labels before an image."""

    parts: dict[str, tuple[str, ...]]
    names: str
    labels: int


FORM_OF = {
    "cifar-10-batches-bin": Form(
        parts={"train": tuple(f"data_batch_{n}.bin" for n in range(1, 6)), "test": ("test_batch.bin",)},
        names="batches.meta.txt",
        labels=1,
    ),
    "cifar-100-binary": Form(
        parts={"train": ("train.bin",), "test": ("test.bin",)}, names="fine_label_names.txt", labels=2
    ),
}
"""By the folder in the archive."""


def _read_cifar(path: Path, options: PictureOptions) -> Samples[Bytes]:
    """Read both parts, as their authors publish them; classes are the fine ones."""
    where = quote(path.name, 80)
    try:
        with tarfile.open(path, "r:gz") as archive:
            return _unpack_cifar(archive, where, options)
    except (OSError, EOFError, KeyError, zlib.error, tarfile.TarError) as error:
        reason = quote(in_a_line(error), 80)
        raise DataError(f"{where}: it is no sound archive of CIFAR ({reason}). Fetch it again.") from None


def _unpack_cifar(archive: Any, where: str, options: PictureOptions) -> Samples[Bytes]:
    files, total = dict[str, Any](), 0
    for member in archive:
        total += member.size
        check_bytes(total, None, MAX_BYTES, where, "an archive")  # before the next is unpacked
        if member.isfile():
            files[member.name] = member
    folder = next((name for name in FORM_OF if any(file.startswith(f"{name}/") for file in files)), None)
    if folder is None:
        raise DataError(f"{where}: it holds neither CIFAR-10 nor CIFAR-100 in binary. Fetch it again.")
    form = FORM_OF[folder]
    size = form.labels + SIDE * SIDE * CHANNELS
    labels, values = [], {}
    for part, names in form.parts.items():
        contents = [bytes(archive.extractfile(files[f"{folder}/{name}"]).read()) for name in names]
        for content in contents:
            if not content or len(content) % size:
                raise DataError(
                    f"{where}: its files are records of {size} bytes. Got {len(content):,}. Fetch it again."
                )
        rows = np.frombuffer(b"".join(contents), np.uint8).reshape(-1, size)
        labels.append(rows[:, form.labels - 1].astype(np.int64))
        images = rows[:, form.labels :].reshape(-1, CHANNELS, SIDE, SIDE)
        values[part] = resize(images.transpose(0, 2, 3, 1), options)
    every = np.concatenate(labels)
    lines = archive.extractfile(files[f"{folder}/{form.names}"]).read().decode().split("\n")
    classes = tuple(name for name in lines if name.strip())
    if every.max() >= len(classes):
        raise DataError(f"{where}: a label is none of the {len(classes)} classes. Fetch it again.")
    return _join_parts(values, where, target=every, classes=classes)
