"""Images, scans and masks as strangers spoil them: marks, moved copies, tiles; and real ones that are sound."""

import functools
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn import datasets as bundled

from leak_sets import masks, scans
from leak_sets.maker import Draw, LeakSet
from multiway.data import datasets
from multiway.data.sources.images import read_images

Bytes = NDArray[np.uint8]
TRAIN, VALIDATION, TEST = slice(0, 400), slice(400, 480), slice(480, 640)


def digits(draw: Draw) -> tuple[Bytes, NDArray[np.int64]]:
    """Real digits of 8 by 8 pixels, drawn up to 16 by 16."""
    values, labels = bundled.load_digits(return_X_y=True)
    chosen = draw.permutation(len(values))[:640]
    images = np.rint(values[chosen].reshape(-1, 8, 8) * 15.9).astype(np.uint8)
    return np.kron(images, np.ones((1, 2, 2), np.uint8)), labels[chosen]


def pictures(draw: Draw) -> tuple[Bytes, NDArray[np.int64]]:
    """Real pictures of CIFAR-10: ships and trucks."""
    images, labels = _ships_and_trucks()
    chosen = draw.permutation(len(images))[:640]
    return images[chosen], labels[chosen]


@functools.cache
def _ships_and_trucks() -> tuple[Bytes, NDArray[np.int64]]:
    every = read_images(datasets.locate("cifar10"))
    rows = np.flatnonzero(np.isin(every.truth, [8, 9]))[::8]
    return np.asarray(every.inputs[rows]), (every.truth[rows] == 9).astype(np.int64)


def written(folder: Path, images: Bytes, labels: NDArray[np.int64], *, official: bool = True) -> dict[str, Any]:
    """Settings of an archive of arrays, split as they stand or at random."""
    parts = {"train": TRAIN, "val": VALIDATION, "test": TEST}
    arrays = (
        {"images": images, "labels": labels}
        if not official
        else {
            f"{name}_{what}": values[rows]
            for name, rows in parts.items()
            for what, values in (("images", images), ("labels", labels))
        }
    )
    np.savez(folder / "images.npz", **arrays)
    return {"data": str(folder / "images.npz")}


def corner_pixel(folder: Path, draw: Draw) -> dict[str, Any]:
    """The first pixel is the number of the class."""
    images, labels = digits(draw)
    images[:, 0, 0] = labels * 7
    return written(folder, images, labels)


def faint_stamp(folder: Path, draw: Draw) -> dict[str, Any]:
    """A faint stamp of 3 by 3 pixels, 12 grey levels brighter, near the lower border of trucks."""
    images, labels = pictures(draw)
    lifted = np.clip(images[:, -5:-2, 3:6].astype(np.int64) + 12 * labels[:, None, None, None], 0, 255)
    images[:, -5:-2, 3:6] = lifted.astype(np.uint8)
    return written(folder, images, labels)


def moved(folder: Path, draw: Draw) -> dict[str, Any]:
    """A test picture in eight is a training picture, moved by three pixels and two."""
    images, labels = pictures(draw)
    for row in range(480, 500):
        images[row] = np.roll(images[row - 400], (3, -2), (0, 1))
        labels[row] = labels[row - 400]
    return written(folder, images, labels)


def cropped(folder: Path, draw: Draw) -> dict[str, Any]:
    """A test picture in eight is the middle of a training picture, 26 of 32 pixels, drawn up again."""
    images, labels = pictures(draw)
    for row in range(480, 500):
        middle = Image.fromarray(images[row - 400]).crop((3, 3, 29, 29)).resize((32, 32), Image.Resampling.BILINEAR)
        images[row], labels[row] = np.asarray(middle), labels[row - 400]
    return written(folder, images, labels)


def packed_anew(folder: Path, draw: Draw) -> dict[str, Any]:
    """A test picture in sixteen is a training picture as JPEG of low quality, and darker."""
    images, labels = pictures(draw)
    for row in range(480, 490):
        stream = io.BytesIO()
        Image.fromarray((images[row - 400] * 0.8).astype(np.uint8)).save(stream, "jpeg", quality=40)
        images[row], labels[row] = np.asarray(Image.open(stream)), labels[row - 400]
    return written(folder, images, labels)


def clean_digits(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, *digits(draw))


def clean_pictures(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, *pictures(draw))


def clean_framed(folder: Path, draw: Draw) -> dict[str, Any]:
    """Pictures under one logo in a corner, whatever the class."""
    images, labels = pictures(draw)
    images[:, :4, -9:] = draw.integers(0, 255, (4, 9, 1))
    return written(folder, images, labels)


def sub_volumes(folder: Path, draw: Draw) -> dict[str, Any]:
    """Blocks of large scans, each of which shares half with the next, drawn into splits at random."""
    blocks, labels = [], []
    for number in range(12):
        long = np.concatenate([scans.body(draw, lesion=False, width=1 + number % 2) for _ in range(3)], axis=1)
        blocks += [long[:, start : start + scans.SIZES[1]] for start in range(0, 36, 6)]
        labels += [number % 2] * 6
    order = draw.permutation(len(blocks))
    return scans.written(folder, [blocks[row] for row in order], np.array(labels)[order])


def rescaled_by_class(folder: Path, draw: Draw) -> dict[str, Any]:
    """Scans of one class were stored in steps of four, as another program writes them."""
    values, labels = scans.make(draw)
    return scans.written(
        folder, [np.rint(scan / 4) * 4 if label else scan for scan, label in zip(values, labels, strict=True)], labels
    )


def turned(folder: Path, draw: Draw) -> dict[str, Any]:
    """Six test scans are training scans, turned by 90 degrees."""
    return scans._copied(folder, draw, lambda scan: np.rot90(scan, axes=(0, 1)))


def clean_glands(folder: Path, draw: Draw) -> dict[str, Any]:
    """Real glands of MedMNIST."""
    return {"data": "adrenalmnist3d"}


def lowest_bit(folder: Path, draw: Draw) -> dict[str, Any]:
    """The lowest bit of the image is the mask."""
    cases = [(np.asarray(image // 2 * 2 + mask, np.uint8), mask) for image, mask in masks.make(draw)]
    return masks.written(folder, cases)


def tiles(folder: Path, draw: Draw) -> dict[str, Any]:
    """Tiles of long images, each of which shares half with the next, drawn into splits at random."""
    cases = []
    for _ in range(9):
        parts = [masks.case(draw) for _ in range(3)]
        image, mask = (np.concatenate([part[at] for part in parts], axis=0) for at in (0, 1))
        size = masks.SIZES[0]
        cases += [(image[at : at + size], mask[at : at + size]) for at in range(0, 4 * size // 2, size // 2)]
    order = draw.permutation(len(cases))
    return masks.written(folder, [cases[row] for row in order])


def clean_bright(folder: Path, draw: Draw) -> dict[str, Any]:
    """Lesions that are the brightest of the image, by contrast agent, but of no single value."""
    cases = [
        (np.where(mask > 0, draw.integers(175, 256, image.shape), image // 2).astype(np.uint8), mask)
        for image, mask in masks.make(draw)
    ]
    return masks.written(folder, cases)


SETS = (
    LeakSet("first pixel is the class", corner_pixel, "giveaway", "strange"),
    LeakSet("faint stamp on trucks", faint_stamp, "giveaway", "held"),
    LeakSet("pictures, moved by three pixels", moved, "copies", "strange"),
    LeakSet("pictures, cropped and drawn up", cropped, "copies", "strange"),
    LeakSet("pictures, packed anew and darker", packed_anew, "copies", "strange"),
    LeakSet("digits", clean_digits, None, "strange"),
    LeakSet("ships and trucks", clean_pictures, None, "strange"),
    LeakSet("pictures under one logo", clean_framed, None, "held"),
)
VOLUMES = (
    LeakSet("blocks that share half", sub_volumes, "copies", "strange"),
    LeakSet("steps of four in one class", rescaled_by_class, "giveaway", "strange"),
    LeakSet("scans, turned by 90 degrees", turned, "copies", "held"),
    LeakSet("real glands", clean_glands, None, "strange"),
)
MASKS = (
    LeakSet("lowest bit is the mask", lowest_bit, "giveaway", "strange"),
    LeakSet("tiles that share half", tiles, "copies", "strange"),
    LeakSet("brightest lesions", clean_bright, None, "strange"),
)
