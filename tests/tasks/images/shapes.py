"""Small pictures of a bar or a dot, in memory and as files."""

from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ("bar", "dot")


def make_shapes(count: int, seed: int = 0, size: int = 8):
    """Coloured images `(count, size, size, 3)` and their classes, one after the other."""
    draw = np.random.default_rng(seed)
    pixels = draw.integers(0, 120, (count, size, size, 3), dtype=np.uint8)
    names = [CLASSES[row % 2] for row in range(count)]
    for row, name in enumerate(names):
        at = draw.integers(1, size - 2)
        pixels[row, :, at] += 100 if name == "bar" else 0
        pixels[row, at : at + 2, at : at + 2] += 0 if name == "bar" else 120
    return pixels, np.array(names)


def write_folder(folder: Path, count: int = 44) -> Path:
    """A folder per class."""
    pixels, names = make_shapes(count)
    for row, (image, name) in enumerate(zip(pixels, names, strict=True)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / name / f"{row // 2:02d}.png")
    return folder


def write_picture(path: Path, size: int) -> Path:
    """One image of another size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(make_shapes(1, size=size)[0][0]).save(path)
    return path


def invert(path: Path) -> None:
    """Turn an image into its negative."""
    Image.fromarray(255 - np.asarray(Image.open(path))).save(path)
