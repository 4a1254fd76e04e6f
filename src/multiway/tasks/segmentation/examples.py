"""Examples of a segmentation: images with a class per voxel, read when they are asked for."""

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed, quoted
from multiway.data.scenes import Block, Scene, blocks_of, split_blocks
from multiway.data.volumes import Cases
from multiway.errors import DataError
from multiway.tasks.segmentation.config import SegmentConfig
from multiway.training.overlap_losses import IGNORED

MEMORY_LIMIT = 2 * 2**30
MOST_CLASSES = 256
Array = NDArray[Any]
Targets = NDArray[np.int16]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """One image, ready but for its intensities.

    values: `(channels, *sizes)`.
    target: `(*sizes)` classes, `IGNORED` where none counts.
    affine: From voxels to millimetres, or None.
    spacing: Millimetres between voxels, or None.
    """

    values: Array
    target: Targets
    affine: NDArray[np.float64] | None = None
    spacing: tuple[float, ...] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """All images of a run.

    values: Values of the mask in the order of the classes.
    background: Whether class 0 is what no mask marks.
    read: Gives the example of an index; the last ones read are kept.
    """

    names: tuple[str, ...]
    patients: tuple[str, ...] | None
    splits: dict[str, NDArray[np.int64]]
    channels: int
    axes: tuple[str, ...]
    classes: tuple[str, ...]
    values: tuple[int, ...]
    background: bool
    source: str
    notes: tuple[str, ...]
    read: Callable[[int], Example]

    @property
    def num_modes(self) -> int:
        """Axes of an image."""
        return len(self.axes)

    def content(self) -> Iterator[object]:
        """Everything that was read: names, splits, and every image and mask, one at a time."""
        yield self.names, self.patients, self.classes, self.values, sorted(self.splits)
        for _, rows in sorted(self.splits.items()):
            yield rows
            for row in rows.tolist():
                example = self.read(row)
                yield from (example.values, example.target)

    @property
    def scored(self) -> range:
        """Classes that have a Dice of their own."""
        return range(int(self.background), len(self.classes))

    def rows(self, split: str) -> list[int]:
        """Indices of a split."""
        return [int(index) for index in self.splits[split]]


def examples_of_cases(
    cases: Cases, config: SegmentConfig, values: tuple[int, ...] | None = None, *, split: bool = True
) -> Examples:
    """Volumes with masks; `values` are those of a trained model, else they are found in the training masks.

    Raises:
        DataError: A case has no mask, a mask holds a value that no training mask has, or there is one class only.
    """
    if not cases.has_masks:
        raise DataError(
            f"{cases.source}: segmentation needs a mask for each image. There is no column "
            f"'{quoted(cases.options.mask)}'. Add it, or name it (--mask COLUMN)."
        )
    splits = cases.splits if split else {"all": np.arange(cases.count)}
    rows = splits["train" if split else "all"]
    known = values or _values_of_masks(cases, rows, config.ignore)
    first = cases.prepared(int(rows[0]))
    return Examples(
        names=cases.names, patients=cases.patients, splits=splits, channels=first.channels, axes=first.axes,
        classes=class_names(known, config, cases.mask_names), values=known, background=known[0] == 0,
        source=cases.source, notes=cases.notes,
        read=_kept(functools.partial(_read_case, cases, known, config.ignore), first.values),
    )  # fmt: skip


def _read_case(cases: Cases, values: tuple[int, ...], ignore: int | None, index: int) -> Example:
    volume = cases.prepared(index)
    target = to_classes(_mask(cases, index), values, ignore, f"mask of {cases.names[index]}")
    return Example(values=volume.values, target=target, affine=volume.affine, spacing=volume.spacing)


def _mask(cases: Cases, index: int) -> Array:
    mask = cases.mask(index)
    if mask is None:
        raise DataError(f"{cases.source}: case {cases.names[index]} has no mask. Give it one, or leave the case out.")
    values: Array = mask.values[0]
    return values


def _values_of_masks(cases: Cases, rows: NDArray[np.int64], ignore: int | None) -> tuple[int, ...]:
    found: set[int] = set()
    for index in rows:
        mask = _mask(cases, int(index))
        present = np.unique(mask)
        if len(present) > MOST_CLASSES or not np.array_equal(present, np.rint(present)):
            raise DataError(
                f"{cases.source}: a mask holds whole numbers, at most {MOST_CLASSES} of them. Got "
                f"{listed(present.tolist(), 4)} in case {cases.names[int(index)]}. Write labels, not probabilities."
            )
        found |= {int(value) for value in present}
    return _usable(found, ignore, cases.source)


def _usable(found: set[int], ignore: int | None, source: str) -> tuple[int, ...]:
    values = tuple(sorted(found - {ignore}))
    if len(values) < 2:
        raise DataError(
            f"{source}: the training masks must hold two values or more. Got {listed(values) or 'none'}. "
            "Check the column of masks and the option ignore."
        )
    return values


def examples_of_scene(
    scene: Scene, config: SegmentConfig, values: tuple[int, ...] | None = None, *, split: bool = True
) -> Examples:
    """Blocks of one labelled scene; no pixel is in two splits, and no patch reaches out of its block.

    Raises:
        DataError: The scene has no labels, one class only, or too few blocks.
    """
    labels = scene.labels
    if labels is None:
        raise DataError(f"{scene.source}: a scene to learn from needs labels. Add an array 'labels' (rows, columns).")
    rows, columns = labels.shape
    blocks = blocks_of((rows, columns), config.block)
    splits = {"all": np.arange(len(blocks))}
    if split:
        shares = (config.split.validation, config.split.test)
        splits = split_blocks(labels, blocks, shares, config.ignore, config.split.seed)
    known = values or _usable({int(value) for value in np.unique(labels)}, config.ignore, scene.source)
    names = class_names(known, config, scene.names)
    return Examples(
        names=tuple(block.name for block in blocks), patients=None, splits=splits, channels=scene.values.shape[0],
        axes=("row", "column"), classes=names, values=known, background=known[0] == 0, source=scene.source,
        notes=_absent(labels, blocks, splits, dict(zip(known, names, strict=True))),
        read=functools.partial(_read_block, scene, blocks, known, config.ignore),
    )  # fmt: skip


def _read_block(scene: Scene, blocks: list[Block], values: tuple[int, ...], ignore: int | None, index: int) -> Example:
    assert scene.labels is not None
    block = blocks[index]
    target = to_classes(scene.labels[block.rows, block.columns], values, ignore, scene.source)
    return Example(values=np.ascontiguousarray(scene.values[:, block.rows, block.columns]), target=target)


def _absent(
    labels: NDArray[np.int64], blocks: list[Block], splits: dict[str, NDArray[np.int64]], names: dict[int, str]
) -> tuple[str, ...]:
    notes = []
    for split, rows in splits.items():
        seen = np.unique(np.concatenate([labels[blocks[i].rows, blocks[i].columns].ravel() for i in rows]))
        missing = [name for value, name in names.items() if value not in seen]
        if missing:
            notes.append(f"{split} has no pixel of {listed(missing)}: they lie in too few blocks to be split")
    return tuple(notes)


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


def class_names(
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


class _kept:
    """Keep as many examples as fit the memory limit, those read last; a copy of this starts empty."""

    def __init__(self, read: Callable[[int], Example], first: Array) -> None:
        self.read, self.most = read, max(MEMORY_LIMIT // max(first.nbytes + 2 * first[0].size, 1), 1)
        self.examples: collections.OrderedDict[int, Example] = collections.OrderedDict()

    def __call__(self, index: int) -> Example:
        if index not in self.examples:
            self.examples[index] = self.read(index)
            if len(self.examples) > self.most:
                self.examples.popitem(last=False)
        self.examples.move_to_end(index)
        return self.examples[index]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "examples": collections.OrderedDict()}
