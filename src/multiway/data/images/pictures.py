"""Files of images by Pillow: sizes and colours by their heads, then values as bytes."""

import collections
import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from multiway.data.failures import Failures, kept
from multiway.data.findings import quoted
from multiway.data.images.images import Bytes, check_room
from multiway.data.images.options import ImageOptions
from multiway.errors import DataError, MultiwayError
from multiway.extras import load_extra

GREY, COLOUR, CLEAR = ("1", "L"), ("P", "RGB", "CMYK", "YCbCr", "HSV", "LAB"), ("LA", "La", "PA", "RGBA", "RGBa")
ORIENTATION, FIRST_TURNED = 0x0112, 5
"""Tag of a photograph that says how it was held, and the first of its values that exchanges height and width."""
BROKEN = (OSError, EOFError, SyntaxError, ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError)
"""What Pillow raises on a file that is cut short or no image."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """What a file says of its image before that is read.

    sizes: Height and width, as the image is held.
    """

    sizes: tuple[int, int]
    is_grey: bool
    is_clear: bool
    frames: int


def is_picture(path: Path) -> bool:
    """Whether a file has the ending of an image that Pillow reads."""
    return path.suffix.lower() in _endings()


def read_pictures(
    paths: Sequence[Path], names: Sequence[str], options: ImageOptions, failures: Failures | None = None
) -> tuple[Bytes, list[int], tuple[str, ...]]:
    """Read images of one size.

    Args:
        paths: Their files.
        names: What messages call each.
        options: Size and colours.
        failures: Keeps what is wrong with single files, which are then left out; without it the first is raised.

    Returns:
        Values `(images, height, width, channels)`, the positions of the files that were read, and notes.

    Raises:
        DataError: A file is no sound image, sizes differ, or there is no room.
    """
    heads: dict[int, Head] = {}
    for place, (path, name) in enumerate(zip(paths, names, strict=True)):
        with kept(failures):
            heads[place] = read_head(path, name)
    grey = options.channels == "grey" or (options.channels == "auto" and all(head.is_grey for head in heads.values()))
    form = (*_common_sizes(heads, names, options), 1 if grey else 3)
    check_room(len(heads), form, options.max_bytes, "these files")
    values = np.empty((len(heads), *form), np.uint8)
    sound: list[int] = []
    for place in heads:
        with kept(failures):
            values[len(sound)] = read_picture(paths[place], names[place], form)
            sound.append(place)
    return values[: len(sound)], sound, _notes(heads.values(), grey=grey)


def read_head(path: Path, name: str) -> Head:
    """Size and colours of an image, by the head of its file.

    Raises:
        DataError: It is no image, or one of more than eight bits per value.
    """
    with _opened(path, name) as image:
        if image.mode not in (*GREY, *COLOUR, *CLEAR):
            raise DataError(
                f"{quoted(name, 80)}: images of bytes are needed, grey or in colour. Got Pillow's mode "
                f"{quoted(image.mode)}. Convert it to eight bits per channel."
            )
        width, height = image.size
        is_turned = image.getexif().get(ORIENTATION, 1) >= FIRST_TURNED
        return Head(
            sizes=(width, height) if is_turned else (height, width),
            is_grey=image.mode in (*GREY, "LA", "La"),
            is_clear=image.mode in CLEAR or "transparency" in image.info,
            frames=int(getattr(image, "n_frames", 1)),
        )


def read_picture(path: Path, name: str, form: tuple[int, ...]) -> Bytes:
    """Values of an image as `(height, width, channels)`: the first frame, held upright, laid on white, resized.

    Raises:
        DataError: It cannot be decoded.
    """
    height, width, channels = form
    with _opened(path, name) as opened:
        image = _library("PIL.ImageOps").exif_transpose(opened)
        image = _on_white(image).convert("L" if channels == 1 else "RGB")
        if image.size != (width, height):
            image = image.resize((width, height), _library("PIL.Image").Resampling.BILINEAR)
        return np.asarray(image, np.uint8).reshape(height, width, channels)


def _on_white(image: Any) -> Any:
    if image.mode not in CLEAR and "transparency" not in image.info:
        return image
    clear = image.convert("RGBA")
    ground = _library("PIL.Image").new("RGBA", clear.size, (255, 255, 255, 255))
    ground.alpha_composite(clear)
    return ground


def _common_sizes(heads: dict[int, Head], names: Sequence[str], options: ImageOptions) -> tuple[int, int]:
    """Height and width of all images.

    Raises:
        DataError: They differ, and no option says what to make of it.
    """
    if options.size is not None:
        return options.size, options.size
    count = collections.Counter(head.sizes for head in heads.values())
    usual = count.most_common(1)[0][0] if count else (1, 1)
    other = next((place for place, head in heads.items() if head.sizes != usual), None)
    if other is not None:
        got = f"{_by(heads[other].sizes)} beside {_by(usual)}, {len(heads) - count[usual]} such"
        raise DataError(
            f"{quoted(names[other], 80)}: images of one size are needed. Got {got}. Resize all (--size {min(usual)})."
        )
    return usual


def _by(sizes: tuple[int, int]) -> str:
    return f"{sizes[0]} x {sizes[1]}"


def _notes(heads: Any, *, grey: bool) -> tuple[str, ...]:
    heads = list(heads)
    counts = {
        "images are partly clear and were laid on white": sum(head.is_clear for head in heads),
        "images have several frames, of which the first was taken": sum(head.frames > 1 for head in heads),
        "grey images became coloured ones": 0 if grey else sum(head.is_grey for head in heads),
        "coloured images became grey ones": sum(not head.is_grey for head in heads) if grey else 0,
    }
    return tuple(f"{count:,} {what}" for what, count in counts.items() if count)


@contextlib.contextmanager
def _opened(path: Path, name: str) -> Iterator[Any]:
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
        reason = quoted(" ".join(str(error).split()).replace(str(path), "it"), 80)
        raise DataError(f"{quoted(name, 80)}: it is no sound image ({reason}). Replace or remove it.") from None


@functools.cache
def _endings() -> frozenset[str]:
    return frozenset(_library("PIL.Image").registered_extensions())


def _library(name: str) -> Any:
    return load_extra(name, "reading images", "images")
