"""Images as bytes: files by Pillow, their heads first, and arrays brought to a size and to colours."""

import collections
import contextlib
import dataclasses
import functools
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import Failures, keep_errors, quote
from multiway.data.options import PictureOptions
from multiway.data.sources.bytes import allowance, spend
from multiway.errors import DataError, Fix, MultiwayError, in_a_line
from multiway.lazy import load_extra

GREY, COLOUR, CLEAR = ("1", "L"), ("P", "RGB", "CMYK", "YCbCr", "HSV", "LAB"), ("LA", "La", "PA", "RGBA", "RGBa")
LUMA = (299, 587, 114)
"""Thousandths of red, green and blue that make grey (ITU-R 601), as Pillow takes them."""
ORIENTATION, FIRST_TURNED = 0x0112, 5
"""Tag of a photograph that says how it was held, and the first of its values that exchanges height and width."""
FEWEST_FRAMES = 3
"""Numbered pictures that make a film."""
BROKEN = (OSError, EOFError, SyntaxError, ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError)
"""What Pillow raises on a file that is cut short or no image."""

Bytes = NDArray[np.uint8]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """What a file says of its image before that is read.

    sizes: Height and width, as the image is held.
    """

    sizes: tuple[int, int]
    is_grey: bool
    is_clear: bool
    is_turned: bool
    frames: int


def is_picture(path: Path) -> bool:
    """Whether a file has the ending of an image that Pillow reads."""
    return path.suffix.lower() in _endings()


def has_axes(shape: tuple[int, ...]) -> bool:
    """Whether an array of this shape can hold images."""
    return 0 not in shape and (len(shape) == 3 or (len(shape) == 4 and shape[3] in (1, 3, 4)))


def check_form(shape: tuple[int, ...], dtype: np.dtype[Any], where: str) -> None:
    """Refuse an array that holds no images of bytes."""
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


def check_room(count: int, form: tuple[int, ...], limit: int, where: str) -> None:
    """Refuse images that take more memory than is allowed."""
    needed = count * int(np.prod(form))
    if needed > limit:
        raise DataError(
            f"{where}: {count:,} images of {' x '.join(map(str, form))} take {needed:,} bytes, and {limit:,} are "
            "allowed. Make them smaller (",
            Fix("read.size", 64),
            "), or raise max_bytes (",
            Fix("read.max_bytes", needed),
            ").",
        )


def read_pictures(
    paths: Sequence[Path], names: Sequence[str], options: PictureOptions, failures: Failures | None = None
) -> tuple[Bytes, list[int], tuple[str, ...]]:
    """Read images of one size.

    Values are `(images, height, width, channels)`, with the positions of the files that were read, and
    notes. `failures` takes what is wrong with single files, which are left out; without it the first is raised.
    """
    heads: dict[int, Head] = {}
    for position, (path, name) in enumerate(zip(paths, names, strict=True)):
        with keep_errors(failures):
            heads[position] = read_head(path, name)
    grey = options.channels == "grey" or (options.channels == "auto" and all(head.is_grey for head in heads.values()))
    form = (*_common_sizes(heads, names, options), 1 if grey else 3)
    present = sum(paths[position].stat().st_size for position in heads)
    check_room(len(heads), form, allowance(options.max_bytes, present), "these files")
    values = np.empty((len(heads), *form), np.uint8)
    sound: list[int] = []
    for position in heads:
        with keep_errors(failures):
            values[len(sound)] = read_picture(paths[position], names[position], form)
            sound.append(position)
    every = heads.values()
    counts = {
        "images have a channel of transparency and were laid on white": sum(head.is_clear for head in every),
        "images were turned upright": sum(head.is_turned for head in every),
        "images have several frames, of which the first was taken": sum(head.frames > 1 for head in every),
        "grey images became coloured ones": 0 if grey else sum(head.is_grey for head in every),
        "coloured images became grey ones": sum(not head.is_grey for head in every) if grey else 0,
    }
    return values[: len(sound)], sound, tuple(f"{count:,} {what}" for what, count in counts.items() if count)


def read_head(path: Path, name: str) -> Head:
    """Size and colours of an image, by the head of its file."""
    spend(path)
    with _open_image(path, name) as image:
        if image.mode not in (*GREY, *COLOUR, *CLEAR):
            raise DataError(
                f"{quote(name, 80)}: images of bytes are needed, grey or in colour. Got Pillow's mode "
                f"{quote(image.mode)}. Convert it to eight bits per channel."
            )
        width, height = image.size
        held = image.getexif().get(ORIENTATION, 1)
        return Head(
            sizes=(width, height) if held >= FIRST_TURNED else (height, width),
            is_grey=image.mode in (*GREY, "LA", "La"),
            is_clear=image.mode in CLEAR or "transparency" in image.info,
            is_turned=held > 1,
            frames=int(getattr(image, "n_frames", 1)),
        )


def read_picture(path: Path, name: str, form: tuple[int, ...]) -> Bytes:
    """Values of an image as `(height, width, channels)`: the first frame, held upright, laid on white, resized."""
    height, width, channels = form
    spend(path)
    with _open_image(path, name) as opened:
        image = _library("PIL.ImageOps").exif_transpose(opened)
        if image.mode in CLEAR or "transparency" in image.info:
            clear = image.convert("RGBA")
            image = _library("PIL.Image").new("RGBA", clear.size, (255, 255, 255, 255))
            image.alpha_composite(clear)
        image = image.convert("L" if channels == 1 else "RGB")
        if image.size != (width, height):
            image = image.resize((width, height), _library("PIL.Image").Resampling.BILINEAR)
        return np.asarray(image, np.uint8).reshape(height, width, channels)


def list_frames(folder: Path) -> dict[Path, int]:
    """Pictures of a folder whose names hold a number, in the order of their last numbers."""
    numbers = {path: re.findall(r"\d+", path.stem) for path in folder.iterdir() if path.is_file() and is_picture(path)}
    return dict(sorted(((path, int(each[-1])) for path, each in numbers.items() if each), key=lambda pair: pair[1]))


def is_film(folder: Path) -> bool:
    """Whether a folder holds numbered pictures, and not in folders of classes."""
    return folder.is_dir() and len(list_frames(folder)) >= FEWEST_FRAMES


def read_film(folder: Path) -> tuple[Bytes, list[int]]:
    """Frames of one size, `(frames, height, width, channels)`, and their numbers."""
    frames = list_frames(folder)
    heads = {path: read_head(path, path.name) for path in frames}
    usual = next(iter(heads.values())).sizes
    for path, head in heads.items():
        if head.sizes != usual:
            sizes = " and ".join(f"{height} x {width}" for height, width in (head.sizes, usual))
            raise DataError(f"{quote(path.name, 80)}: frames have one size. Got {sizes}. Bring them to one.")
    form = (*usual, 1 if all(head.is_grey for head in heads.values()) else 3)
    return np.stack([read_picture(path, path.name, form) for path in frames]), [*frames.values()]


def resize(images: NDArray[Any], options: PictureOptions) -> Bytes:
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
    library, side = _library("PIL.Image", "resizing images"), options.size
    pictures = (library.fromarray(image[..., 0] if image.shape[2] == 1 else image) for image in values)
    small = (picture.resize((side, side), library.Resampling.BILINEAR) for picture in pictures)
    return np.stack([np.asarray(picture, np.uint8).reshape(side, side, -1) for picture in small])


def _common_sizes(heads: dict[int, Head], names: Sequence[str], options: PictureOptions) -> tuple[int, int]:
    """Height and width of all images."""
    if options.size is not None:
        return options.size, options.size
    count = collections.Counter(head.sizes for head in heads.values())
    usual = count.most_common(1)[0][0] if count else (1, 1)
    other = next((position for position, head in heads.items() if head.sizes != usual), None)
    if other is not None:
        (height, width), number = heads[other].sizes, len(heads) - count[usual]
        raise DataError(
            f"{quote(names[other], 80)}: images of one size are needed. Got {height} x {width} and "
            f"{usual[0]} x {usual[1]}, {number} such. Resize all (",
            Fix("read.size", min(usual)),
            ").",
        )
    return usual


@contextlib.contextmanager
def _open_image(path: Path, name: str) -> Iterator[Any]:
    """An image open for reading; what goes wrong is said in one line."""
    library = _library("PIL.Image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", library.DecompressionBombWarning)
            with library.open(path) as image:
                yield image
    except MultiwayError:
        raise
    except (*BROKEN, library.DecompressionBombError, library.DecompressionBombWarning) as error:
        reason = quote(in_a_line(error, 1000).replace(str(path), "it"), 80)
        raise DataError(f"{quote(name, 80)}: it is no sound image ({reason}). Replace or remove it.") from None


@functools.cache
def _endings() -> frozenset[str]:
    return frozenset(_library("PIL.Image").registered_extensions())


def _library(name: str, purpose: str = "reading images") -> Any:
    return load_extra(name, purpose, "images")
