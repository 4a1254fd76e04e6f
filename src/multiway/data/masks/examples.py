"""Examples: images with a class per voxel, read when they are asked for."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed, quoted
from multiway.data.masks.labels import Targets, class_names, to_classes, usable_values
from multiway.data.masks.options import MaskOptions
from multiway.data.scenes import Block, Scene, blocks_of, is_scene, read_scene, split_blocks
from multiway.data.volumes import Cases, read_cases
from multiway.data.volumes.spacing import Spacings, spacings_of, spread_evenly
from multiway.errors import DataError

MEMORY_LIMIT = 2 * 2**30
MOST_CLASSES = 256
Array = NDArray[Any]


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
    background: Whether class 0 is what no mask marks.
    read: Gives the example of an index; the last ones read are kept.
    spacing: Gives the millimetres per voxel of an index, by the header alone.
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
    spacing: Callable[[int], tuple[float, ...] | None]

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
    def spacings(self) -> Spacings | None:
        """Least and greatest millimetres per voxel of the training images."""
        return spacings_of(self.spacing(row) for row in spread_evenly(self.rows("train")))

    @property
    def scored(self) -> range:
        """Classes that have a Dice of their own."""
        return range(int(self.background), len(self.classes))

    def rows(self, split: str) -> list[int]:
        """Indices of a split."""
        return [int(index) for index in self.splits[split]]

    def each(self, split: str) -> Iterator[Example]:
        """Examples of a split, one at a time."""
        return map(self.read, self.rows(split))


def read_examples(
    source: str, options: MaskOptions, values: tuple[int, ...] | None = None, *, split: bool = True
) -> Examples:
    """Read a table of images and masks, or a scene.

    Args:
        source: A path or the name of a known scene.
        options: How to read and split.
        values: Mask values that a trained model knows; found in the training masks if not given.
        split: Split the images; else all of them are in the one split "all".
    """
    if is_scene(source):
        return examples_of_scene(read_scene(source, options.read.max_bytes), options, values, split=split)
    cases = read_cases(source, options.read, options.split if split else None, same_sizes=False)
    return examples_of_cases(cases, options, values, split=split)


def examples_of_cases(
    cases: Cases, options: MaskOptions, values: tuple[int, ...] | None = None, *, split: bool = True
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
    known = values or _values_of_masks(cases, rows, options.ignore)
    first = cases.prepared(int(rows[0]))
    most = max(MEMORY_LIMIT // max(first.values.nbytes + 2 * first.values[0].size, 1), 1)
    return Examples(
        names=cases.names, patients=cases.patients, splits=splits, channels=first.channels, axes=first.axes,
        classes=class_names(known, options, cases.mask_names), values=known, background=known[0] == 0,
        source=cases.source, notes=cases.notes,
        read=_kept(functools.partial(_read_case, cases, known, options.ignore), most), spacing=cases.spacing,
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
    return usable_values(found, ignore, cases.source)


def examples_of_scene(
    scene: Scene, options: MaskOptions, values: tuple[int, ...] | None = None, *, split: bool = True
) -> Examples:
    """Blocks of one labelled scene; no pixel is in two splits, and no patch reaches out of its block.

    Raises:
        DataError: The scene has no labels, one class only, or too few blocks.
    """
    labels = scene.labels
    if labels is None:
        raise DataError(f"{scene.source}: a scene to learn from needs labels. Add an array 'labels' (rows, columns).")
    rows, columns = labels.shape
    blocks = blocks_of((rows, columns), options.block)
    splits = {"all": np.arange(len(blocks))}
    if split:
        shares = (options.split.validation, options.split.test)
        splits = split_blocks(labels, blocks, shares, options.ignore, options.split.seed)
    known = values or usable_values({int(value) for value in np.unique(labels)}, options.ignore, scene.source)
    names = class_names(known, options, scene.names)
    return Examples(
        names=tuple(block.name for block in blocks), patients=None, splits=splits, channels=scene.values.shape[0],
        axes=("row", "column"), classes=names, values=known, background=known[0] == 0, source=scene.source,
        notes=_absent(labels, blocks, splits, dict(zip(known, names, strict=True))),
        read=functools.partial(_read_block, scene, blocks, known, options.ignore), spacing=_unknown,
    )  # fmt: skip


def _read_block(scene: Scene, blocks: list[Block], values: tuple[int, ...], ignore: int | None, index: int) -> Example:
    assert scene.labels is not None
    block = blocks[index]
    target = to_classes(scene.labels[block.rows, block.columns], values, ignore, scene.source)
    return Example(values=np.ascontiguousarray(scene.values[:, block.rows, block.columns]), target=target)


def _unknown(index: int) -> None:
    """The spacing of a scene's blocks."""


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


class _kept:
    """Keep the examples read last, as many as fit the memory limit; a copy of this starts empty."""

    def __init__(self, read: Callable[[int], Example], most: int) -> None:
        self.made = read, most
        self.cached = functools.lru_cache(most)(read)

    def __call__(self, index: int) -> Example:
        return self.cached(index)

    def __reduce__(self) -> tuple[Any, ...]:
        return _kept, self.made
