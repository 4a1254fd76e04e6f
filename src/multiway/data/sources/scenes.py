"""Labelled scenes: one large image of many bands with a class per pixel, and the blocks that it is cut into."""

import dataclasses
import hashlib
import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiway.data.catalogue import entries
from multiway.data.findings import list_some, quote
from multiway.data.options import MAX_BYTES, SplitShares, VolumeOptions
from multiway.data.samples import SPLITS
from multiway.data.sources.arrays import Archive
from multiway.data.sources.scans.cases import Cases, ScanFiles, Scans, scan_cases
from multiway.data.sources.scans.volume import Array, Volume
from multiway.data.splitting import Splits
from multiway.errors import ConfigError, DataError, Fix

INDIAN_PINES = "indian-pines"
AXES = ("row", "column")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """One image.

    values: `(bands, rows, columns)`, in the type of the file.
    labels: `(rows, columns)` whole numbers, or None for an image to predict.
    names: What the labels 0, 1, 2 ... are called, where that is known.
    """

    values: Array
    labels: NDArray[np.int64] | None
    source: str
    names: tuple[str, ...] | None = None

    @property
    def image(self) -> Volume:
        """All bands as a volume of two axes."""
        return Volume(values=self.values, affine=None, axes=AXES, source=self.source)


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
    """Read `image` (bands, rows, columns) and `labels` (rows, columns) from a .npz, or a known scene by name."""
    if str(source) == INDIAN_PINES:
        return _indian_pines()
    path = Path(source)
    where = quote(path.name, 80)
    archive = Archive(path, max_bytes, where)
    values = archive.read("image")
    if values.ndim != 3 or 0 in values.shape:
        raise DataError(f"{where}: 'image' must be (bands, rows, columns). Got {values.shape}. Add or move an axis.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise DataError(f"{where}: every pixel of 'image' must be a finite number. Replace those that are not.")
    if "labels" not in archive.names:
        return Scene(values=values, labels=None, source=where)
    labels = archive.read("labels")
    if labels.dtype.kind not in "iub" or labels.shape != values.shape[1:]:
        raise DataError(
            f"{where}: 'labels' must hold one whole number per pixel of 'image'. Got {labels.dtype.name} "
            f"{labels.shape} for an image of {values.shape[1:]}. Save one label per pixel."
        )
    return Scene(values=values, labels=labels.astype(np.int64), source=where)


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
    known, digest = entries()[INDIAN_PINES], hashlib.sha256(values.tobytes() + labels.tobytes()).hexdigest()
    if f"sha256:{digest}" != known.known_hash:  # of the values as float32, bands first, then of the labels as int64
        raise DataError(f"{INDIAN_PINES}: the copy in tensorly is another scene (sha256:{digest}). Install it anew.")
    return Scene(values=values, labels=labels, source=INDIAN_PINES, names=known.classes)


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


def split_blocks(labels: NDArray[np.int64], blocks: list[Block], shares: SplitShares, ignored: int | None) -> Splits:
    """Give whole blocks to train, validation and test so that each class is in each as far as blocks allow.

    The rarest class that still has free blocks is served first: its largest block goes to the split that is furthest
    below its share of that class. Blocks without a labelled pixel are left out.

    `labels` are `(rows, columns)`; the seed of `shares` breaks ties.
    """
    classes = [int(label) for label in np.unique(labels) if label != ignored]
    counts = np.array([[int((labels[b.rows, b.columns] == label).sum()) for label in classes] for b in blocks])
    counts = counts + np.random.default_rng(shares.seed).uniform(0, 0.5, counts.shape) * (counts > 0)
    parts = [1 - sum((shares.validation, shares.test)), shares.validation, shares.test]
    owed = np.outer(parts, counts.sum(0))  # (splits, classes)
    given = np.zeros_like(owed)
    free = [index for index in range(len(blocks)) if counts[index].sum() > 0]
    chosen: dict[str, list[int]] = {split: [] for split in SPLITS}
    while free:
        left = counts[free].sum(0)
        rarest = int(np.argmin(np.where(left > 0, left, np.inf)))
        block = max(free, key=lambda index: counts[index, rarest])
        lack = (owed - given)[:, rarest] / np.maximum(owed[:, rarest], 1e-9)
        split = int(np.argmax(lack))
        chosen[SPLITS[split]].append(block)
        given[split] += counts[block]
        free.remove(block)
    if not all(chosen.values()):
        empty = [split for split, members in chosen.items() if not members]
        raise DataError(f"{list_some(empty)} would have no block. Set a smaller block (", Fix("block", 8), ").")
    return {split: np.array(sorted(members), dtype=np.int64) for split, members in chosen.items()}


class SceneFiles(ScanFiles):
    """Blocks of a scene as volumes of two axes, and their labels as masks."""

    def __init__(self, scene: Scene, blocks: list[Block]) -> None:
        self.scene, self.blocks = scene, blocks

    def volume(self, index: int) -> Volume:
        """All bands of a block."""
        block = self.blocks[index]
        values = self.scene.values[:, block.rows, block.columns]
        return Volume(values=values, affine=None, axes=AXES, source=self.place(index))

    def mask(self, index: int) -> Volume | None:
        """Labels of a block."""
        if self.scene.labels is None:
            return None
        block = self.blocks[index]
        values = self.scene.labels[None, block.rows, block.columns]
        return Volume(values=values, affine=None, axes=AXES, source=self.place(index))

    def place(self, index: int) -> str:
        """Where it lies."""
        return f"{self.scene.source}, {self.blocks[index].name}"


def scene_cases(scene: Scene, side: int, shares: SplitShares | None, ignored: int | None) -> Cases:
    """Blocks of a labelled scene; no pixel is in two splits, and no patch reaches out of its block.

    Blocks have about `side` pixels on a side; without `shares` none is given to a split.
    """
    labels = scene.labels
    if labels is None:
        raise DataError(f"{scene.source}: a scene to learn from needs labels. Add an array 'labels' (rows, columns).")
    rows, columns = labels.shape
    blocks = blocks_of((rows, columns), side)
    official = [""] * len(blocks)
    for name, members in ({} if shares is None else split_blocks(labels, blocks, shares, ignored)).items():
        for row in members.tolist():
            official[row] = name
    files = SceneFiles(scene, blocks)
    scans = Scans(
        files=files,
        options=VolumeOptions(),
        rows=np.arange(len(blocks)),
        source=scene.source,
        header=files.header(0),
        has_masks=True,
        mask_names=scene.names,
    )
    return scan_cases(
        scans, tuple(block.name for block in blocks), official=None if shares is None else tuple(official)
    )
