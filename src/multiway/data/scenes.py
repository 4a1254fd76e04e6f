"""Labelled scenes: one large image of many bands with a class per pixel, cut into blocks that never share a pixel."""

import dataclasses
import hashlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed, quoted
from multiway.data.volumes.arrays import Archive
from multiway.errors import ConfigError, DataError

MAX_BYTES = 2 * 2**30
INDIAN_PINES = "indian-pines"
SPLITS = ("train", "validation", "test")
PINES_SHA256 = "sha256:bfa1a07edcddc376ba76b880c4498ef3052aed3862e07337a6e486fbf407a052"
"""Of the values as float32, bands first, then of the labels as int64."""
PINES_CLASSES = (
    "unlabelled", "alfalfa", "corn, no till", "corn, min till", "corn", "grass and pasture", "grass and trees",
    "mown grass", "hay", "oats", "soybean, no till", "soybean, min till", "soybean, clean", "wheat", "woods",
    "buildings, grass, trees", "stone and steel towers",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """One image.

    values: `(bands, rows, columns)`, in the type of the file.
    labels: `(rows, columns)` whole numbers, or None for an image to predict.
    names: What the labels 0, 1, 2 ... are called, where that is known.
    """

    values: NDArray[Any]
    labels: NDArray[np.int64] | None
    source: str
    names: tuple[str, ...] | None = None


def is_scene(source: str | Path) -> bool:
    """Whether it is a known scene, or a .npz with an array `image` of three axes."""
    if str(source) == INDIAN_PINES:
        return True
    path = Path(source)
    try:
        return path.suffix == ".npz" and path.is_file() and "image" in Archive(path, MAX_BYTES, str(path)).names
    except DataError:
        return False


def read_scene(source: str | Path, max_bytes: int = MAX_BYTES) -> Scene:
    """Read `image` (bands, rows, columns) and `labels` (rows, columns) from a .npz, or a known scene by name.

    Raises:
        DataError: An array is missing, has another form, holds what is not finite, or does not fit the other.
    """
    if str(source) == INDIAN_PINES:
        return _indian_pines()
    path = Path(source)
    where = quoted(path.name, 80)
    archive = Archive(path, max_bytes, where)
    values = archive.read("image")
    if values.ndim != 3 or 0 in values.shape:
        raise DataError(f"{where}: 'image' must be (bands, rows, columns). Got {values.shape}. Add or move an axis.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise DataError(f"{where}: every pixel of 'image' must be a finite number. Replace those that are not.")
    if "labels" not in archive.names:
        return Scene(values=values, labels=None, source=where)
    labels = archive.read("labels")
    _check_labels(labels, values, where)
    return Scene(values=values, labels=labels.astype(np.int64), source=where)


def _check_labels(labels: NDArray[Any], values: NDArray[Any], where: str) -> None:
    if labels.dtype.kind not in "iub" or labels.shape != values.shape[1:]:
        raise DataError(
            f"{where}: 'labels' must hold one whole number per pixel of 'image'. Got {labels.dtype.name} "
            f"{labels.shape} for an image of {values.shape[1:]}. Save one label per pixel."
        )


def _indian_pines() -> Scene:
    """The scene of 145 x 145 pixels, 200 bands and 16 classes that ships in the package tensorly (CC BY 3.0).

    Baumgardner, Biehl and Landgrebe (2015), doi:10.4231/R7RX991C. Label 0 is a pixel that was never labelled.
    """
    try:
        from tensorly.datasets import load_indian_pines
    except ImportError:
        raise ConfigError(f"the scene {INDIAN_PINES} ships in tensorly: pip install 'tensorly>=0.9'.") from None
    bunch = load_indian_pines()
    values = np.ascontiguousarray(np.asarray(bunch["tensor"]).transpose(2, 0, 1)).astype(np.float32)
    labels = np.asarray(bunch["ticks"][0]).astype(np.int64)
    found = hashlib.sha256(values.tobytes() + labels.tobytes()).hexdigest()
    if f"sha256:{found}" != PINES_SHA256:
        raise DataError(f"{INDIAN_PINES}: the copy in tensorly is another scene (sha256:{found}). Install it anew.")
    return Scene(values=values, labels=labels, source=INDIAN_PINES, names=PINES_CLASSES)


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """A rectangle of a scene."""

    rows: slice
    columns: slice

    @property
    def name(self) -> str:
        """First row and column."""
        return f"rows-{self.rows.start:04d}-columns-{self.columns.start:04d}"


def blocks_of(sizes: tuple[int, int], side: int) -> list[Block]:
    """Cut rows and columns into blocks of about a side; every pixel is in exactly one."""
    edges = [np.linspace(0, size, max(round(size / side), 1) + 1).astype(int).tolist() for size in sizes]
    spans = [[slice(low, high) for low, high in itertools.pairwise(edge)] for edge in edges]
    return [Block(rows, columns) for rows in spans[0] for columns in spans[1]]


def split_blocks(
    labels: NDArray[np.int64], blocks: list[Block], shares: tuple[float, float], ignored: int | None, seed: int
) -> dict[str, NDArray[np.int64]]:
    """Give whole blocks to train, validation and test so that each class is in each as far as blocks allow.

    The rarest class that still has free blocks is served first: its largest block goes to the split that is furthest
    below its share of that class. Blocks without a labelled pixel are left out.

    Args:
        labels: `(rows, columns)`.
        blocks: From `blocks_of`.
        shares: Of validation and test.
        ignored: Label that does not count.
        seed: Breaks ties.

    Raises:
        DataError: A split would be empty.
    """
    classes = [int(label) for label in np.unique(labels) if label != ignored]
    counts = np.array([[int((labels[b.rows, b.columns] == label).sum()) for label in classes] for b in blocks])
    counts = counts + np.random.default_rng(seed).uniform(0, 0.5, counts.shape) * (counts > 0)
    wanted = np.outer([1 - sum(shares), *shares], counts.sum(0))  # (splits, classes)
    given = np.zeros_like(wanted)
    free = [index for index in range(len(blocks)) if counts[index].sum() > 0]
    chosen: dict[str, list[int]] = {split: [] for split in SPLITS}
    while free:
        left = counts[free].sum(0)
        rarest = int(np.argmin(np.where(left > 0, left, np.inf)))
        block = max(free, key=lambda index: counts[index, rarest])
        lack = (wanted - given)[:, rarest] / np.maximum(wanted[:, rarest], 1e-9)
        split = int(np.argmax(lack))
        chosen[SPLITS[split]].append(block)
        given[split] += counts[block]
        free.remove(block)
    if not all(chosen.values()):
        empty = [split for split, found in chosen.items() if not found]
        raise DataError(f"{listed(empty)} would have no block. Set a smaller block (--set block=8).")
    return {split: np.array(sorted(found), dtype=np.int64) for split, found in chosen.items()}
