"""Images with a class per voxel, read when they are needed: volumes with masks, or blocks of one labelled scene."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed, quoted
from multiway.data.sources.scans.cases import Arrays, Cases
from multiway.data.sources.scans.encoding import Spacings, spacings_of
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.volume import Array
from multiway.data.sources.scenes import Scene, is_scene, read_scene
from multiway.data.splitting import Splits
from multiway.errors import DataError, Fix
from multiway.tasks.segmentation.blocks import Block, blocks_of, split_blocks
from multiway.tasks.segmentation.config import SegmentConfig
from multiway.training.overlap_losses import IGNORED

MEMORY_LIMIT = 2 * 2**30
MOST_CLASSES = 256
Targets = NDArray[np.int16]
Images = str | Arrays | Cases


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """One image, ready but for its intensities.

    values: `(channels, *sizes)`.
    target: `(*sizes)` classes, `IGNORED` where none counts.
    spacing: Millimetres between voxels, or None.
    """

    values: Array
    target: Targets
    spacing: tuple[float, ...] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """All images of a run.

    values: Values of the mask in the order of the classes.
    read: Gives the example of an index; the last ones read are kept.
    spacing: Gives the millimetres per voxel of an index, by the header alone.
    """

    names: tuple[str, ...]
    patients: tuple[str, ...] | None
    splits: Splits
    channels: int
    axes: tuple[str, ...]
    classes: tuple[str, ...]
    values: tuple[int, ...]
    source: str
    notes: tuple[str, ...]
    read: Callable[[int], Example]
    spacing: Callable[[int], tuple[float, ...] | None]

    @property
    def num_modes(self) -> int:
        """Axes of an image."""
        return len(self.axes)

    @property
    def background(self) -> bool:
        """Whether class 0 is what no mask marks."""
        return self.values[0] == 0

    def content(self) -> Iterator[object]:
        """Everything that was read: names, splits, and every image and mask, one at a time."""
        yield self.names, self.patients, self.classes, self.values, sorted(self.splits)
        for _, rows in sorted(self.splits.items()):
            yield rows
            for row in rows.tolist():
                example = self.read(row)
                yield from (example.values, example.target)

    @property
    def spacings(self) -> Spacings | None:
        """Least and greatest millimetres per voxel of the training images."""
        return spacings_of(self.spacing, self.rows("train"))

    @property
    def scored(self) -> range:
        """Classes that have a Dice of their own."""
        return range(int(self.background), len(self.classes))

    def rows(self, split: str) -> list[int]:
        """Indices of a split."""
        return [int(index) for index in self.splits[split]]

    def of(self, split: str) -> Iterator[Example]:
        """Examples of a split, one at a time."""
        return map(self.read, self.rows(split))


def read_examples(
    source: Images, config: SegmentConfig, values: tuple[int, ...] | None = None, *, split: bool = True
) -> Examples:
    """Images with masks of a table or of arrays, or blocks of a scene.

    Args:
        source: A path, the name of a known scene, or volumes in memory.
        config: How to read and split.
        values: Mask values that a trained model knows; those of the training masks if not given.
        split: Split the images; else all of them are in the one split "all".

    Raises:
        DataError: A case has no mask, a mask holds a value that no training mask has, or there is one class only.
    """
    if isinstance(source, str) and is_scene(source):
        return _examples_of_scene(read_scene(source, config.read.max_bytes), config, values, split)
    cases = read_cases(source, config.read, config.split if split else None, same_sizes=False)
    if not cases.has_masks:
        raise DataError(
            f"{cases.source}: segmentation needs a mask for each image. There is no column "
            f"'{quoted(config.read.mask)}'. Add it, or name it (",
            Fix("read.mask", like="COLUMN"),
            ").",
        )
    splits = cases.splits if split else {"all": np.arange(cases.count)}
    rows = splits["train" if split else "all"]
    known = values or _values_of_masks(cases, rows, config.ignore)
    first = cases.prepared(int(rows[0]))
    most = max(MEMORY_LIMIT // max(first.values.nbytes + 2 * first.values[0].size, 1), 1)
    return Examples(
        names=cases.names, patients=cases.patients, splits=splits, channels=first.channels, axes=first.axes,
        classes=_class_names(known, config, cases.mask_names), values=known, source=cases.source, notes=cases.notes,
        read=_Kept(functools.partial(_read_case, cases, known, config.ignore), most), spacing=cases.spacing,
    )  # fmt: skip


def _read_case(cases: Cases, values: tuple[int, ...], ignore: int | None, index: int) -> Example:
    volume = cases.prepared(index)
    target = to_classes(_mask(cases, index), values, ignore, f"mask of {cases.names[index]}")
    return Example(values=volume.values, target=target, spacing=volume.spacing)


def _mask(cases: Cases, index: int) -> Array:
    mask = cases.mask(index)
    if mask is None:
        raise DataError(f"{cases.source}: case {cases.names[index]} has no mask. Give it one, or leave the case out.")
    values: Array = mask.values[0]
    return values


def _values_of_masks(cases: Cases, rows: NDArray[np.int64], ignore: int | None) -> tuple[int, ...]:
    values: set[int] = set()
    for index in rows:
        mask = _mask(cases, int(index))
        present = np.unique(mask)
        if len(present) > MOST_CLASSES or not np.array_equal(present, np.rint(present)):
            raise DataError(
                f"{cases.source}: a mask holds whole numbers, at most {MOST_CLASSES} of them. Got "
                f"{listed(present.tolist(), 4)} in case {cases.names[int(index)]}. Write labels, not probabilities."
            )
        values |= {int(value) for value in present}
    return _usable_values(values, ignore, cases.source)


def _examples_of_scene(scene: Scene, config: SegmentConfig, values: tuple[int, ...] | None, split: bool) -> Examples:
    """Blocks of one labelled scene; no pixel is in two splits, and no patch reaches out of its block."""
    labels = scene.labels
    if labels is None:
        raise DataError(f"{scene.source}: a scene to learn from needs labels. Add an array 'labels' (rows, columns).")
    rows, columns = labels.shape
    blocks = blocks_of((rows, columns), config.block)
    splits = split_blocks(labels, blocks, config.split, config.ignore) if split else {"all": np.arange(len(blocks))}
    known = values or _usable_values({int(value) for value in np.unique(labels)}, config.ignore, scene.source)
    names = _class_names(known, config, scene.names)
    return Examples(
        names=tuple(block.name for block in blocks), patients=None, splits=splits, channels=scene.values.shape[0],
        axes=("row", "column"), classes=names, values=known, source=scene.source,
        notes=tuple(_absent(labels, blocks, splits, dict(zip(known, names, strict=True)))),
        read=functools.partial(_read_block, scene, blocks, known, config.ignore), spacing=_unknown,
    )  # fmt: skip


def _read_block(scene: Scene, blocks: list[Block], values: tuple[int, ...], ignore: int | None, index: int) -> Example:
    assert scene.labels is not None
    block = blocks[index]
    target = to_classes(scene.labels[block.rows, block.columns], values, ignore, scene.source)
    return Example(values=np.ascontiguousarray(scene.values[:, block.rows, block.columns]), target=target)


def _unknown(index: int) -> None:
    """The spacing of a scene's blocks."""


def _absent(labels: NDArray[np.int64], blocks: list[Block], splits: Splits, names: dict[int, str]) -> Iterator[str]:
    for split, rows in splits.items():
        seen = np.unique(np.concatenate([labels[blocks[row].rows, blocks[row].columns].ravel() for row in rows]))
        missing = [name for value, name in names.items() if value not in seen]
        if missing:
            yield f"{split} has no pixel of {listed(missing)}: they lie in too few blocks to be split"


class _Kept:
    """Keep the examples read last, as many as fit the memory limit; a copy of this starts empty."""

    def __init__(self, read: Callable[[int], Example], most: int) -> None:
        self.made = read, most
        self.cached = functools.lru_cache(most)(read)

    def __call__(self, index: int) -> Example:
        return self.cached(index)

    def __reduce__(self) -> tuple[object, ...]:
        return _Kept, self.made


def _usable_values(present: set[int], ignore: int | None, source: str) -> tuple[int, ...]:
    """Values of the training masks that count, in order.

    Raises:
        DataError: There are fewer than two.
    """
    values = tuple(sorted(present - {ignore}))
    if len(values) < 2:
        raise DataError(
            f"{source}: the training masks must hold two values or more. Got {listed(values) or 'none'}. "
            "Check the column of masks and the option ignore."
        )
    return values


def to_classes(mask: Array, values: tuple[int, ...], ignore: int | None, where: str) -> Targets:
    """Positions in `values` of a mask's values, `IGNORED` for the one to ignore.

    Raises:
        DataError: The mask holds another value.
    """
    target = np.full(mask.shape, len(values), dtype=np.int16)
    for position, value in enumerate(values):
        target[mask == value] = position
    if ignore is not None:
        target[mask == ignore] = IGNORED
    if (target == len(values)).any():
        other = np.unique(mask[target == len(values)]).tolist()
        raise DataError(
            f"{where}: a mask may hold the values of the training masks, {listed(values)}. Got {listed(other, 4)}. "
            "Correct it, or move a case that has them into training."
        )
    return target


def _class_names(
    values: tuple[int, ...], config: SegmentConfig, known: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    """What the values are called: by the config, by the data set, or by themselves.

    Raises:
        DataError: The config names another number of classes.
    """
    if config.classes is not None:
        if len(config.classes) != len(values):
            raise DataError(
                f"classes names {len(config.classes)} classes and the masks hold {len(values)}: {listed(values)}. "
                "Name each, in this order."
            )
        return config.classes
    if known is not None and 0 <= min(values) <= max(values) < len(known):
        return tuple(known[value] for value in values)
    return tuple("background" if value == 0 else str(value) for value in values)
