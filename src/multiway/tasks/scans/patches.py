"""Patches of images: drawn about the classes for training, laid out as a grid for validation."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from multiway.data.augmentation import augment
from multiway.data.options import AugmentOptions
from multiway.data.scaling import evenly
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.volume import Array
from multiway.tasks.scans.encode import Example, Examples
from multiway.training.losses import IGNORED

MOST_VOXELS = 4096
"""Voxels of each class of a case that patches are drawn about."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TrainingPatches:
    """Random patches of the training cases: a `Source` whose every draw comes from torch's global generator.

    So a resumed training draws what the uninterrupted one would have drawn.

    images: To draw from.
    scale: Intensities.
    patch: Sizes of a patch.
    per_case: Patches of each case in an epoch.
    foreground: Share of patches drawn about a voxel of a scored class.
    options: Random changes.
    """

    images: Examples
    scale: IntensityScale
    patch: tuple[int, ...]
    per_case: int
    foreground: float
    options: AugmentOptions
    voxels: dict[int, list[Array]] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        """Patches in an epoch."""
        return len(self.images) * self.per_case

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """`inputs` `(batch, channels, *patch)` and `target` `(batch, *patch)`."""
        rows = [number // self.per_case for number in index.tolist()]
        examples = ((row, self.images.read(row)) for row in rows)
        patches = stack_patches(
            cut(example, self._draw_start(row, example), self.patch, self.scale) for row, example in examples
        )
        if self.options != AugmentOptions():
            patches["inputs"], patches["target"] = augment(patches["inputs"], self.options, patches["target"])
        return patches

    def _draw_start(self, row: int, example: Example) -> list[int]:
        """Where a patch starts: anywhere, or so that it holds a voxel of a class, each as often as the others."""
        by_class: list[Array] = []
        if float(torch.rand(())) < self.foreground:
            if row not in self.voxels:  # those of each scored class that the case has, thinned evenly
                marked = [np.argwhere(example.target == label) for label in self.images.dice_classes]
                self.voxels[row] = [
                    voxels[:: -(-len(voxels) // MOST_VOXELS)].astype(np.int32) for voxels in marked if len(voxels)
                ]
            by_class = self.voxels[row]
        if not by_class:
            rooms = (size - side for size, side in zip(example.target.shape, self.patch, strict=True))
            return [_draw(max(room, 0) + 1) for room in rooms]
        chosen = by_class[_draw(len(by_class))]
        voxel = chosen[_draw(len(chosen))]
        return [int(at) - _draw(side) for at, side in zip(voxel, self.patch, strict=True)]


def _draw(count: int) -> int:
    return int(torch.randint(count, ()))


def stack_patches(patches: Iterable[tuple[Tensor, Tensor]]) -> dict[str, Tensor]:
    """A batch of pairs of values and classes."""
    volumes, masks = zip(*patches, strict=True)
    return {"inputs": torch.stack(volumes), "target": torch.stack(masks)}


class GridPatches:
    """Patches that cover each image once, the same at every validation."""

    def __init__(self, images: Examples, scale: IntensityScale, patch: tuple[int, ...]) -> None:
        self.images, self.scale, self.patch = images, scale, patch
        self.starts = list[tuple[int, tuple[int, ...]]]()
        for row in range(len(images)):  # side by side; the last of a mode ends with it
            rooms = [(max(size - side, 0), side) for size, side in zip(images.sizes(row), patch, strict=True)]
            grid = itertools.product(*([*range(0, room, side), room] for room, side in rooms))
            self.starts += [(row, start) for start in grid]

    def __len__(self) -> int:
        """Patches of all images."""
        return len(self.starts)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """`inputs` `(batch, channels, *patch)` and `target` `(batch, *patch)`."""
        chosen = (self.starts[number] for number in index.tolist())
        return stack_patches(cut(self.images.read(row), start, self.patch, self.scale) for row, start in chosen)

    def some(self, most: int) -> Tensor:
        """Indices of so many patches at most, evenly spread."""
        return torch.from_numpy(evenly(len(self), most))


def cut(example: Example, start: Sequence[int], patch: Sequence[int], scale: IntensityScale) -> tuple[Tensor, Tensor]:
    """One patch, normalised, from the start nearest to this one at which it lies in the image.

    Where the image is smaller, zeros lie on both sides and do not count.
    """
    inside = tuple(
        slice(max(min(low, size - side), 0), max(min(low, size - side), 0) + side)
        for low, side, size in zip(start, patch, example.target.shape, strict=True)
    )
    if scale.per_volume:
        values = scale.apply_to(example.values)[(slice(None), *inside)]
    else:
        values = scale.apply_to(example.values[(slice(None), *inside)])
    target = torch.from_numpy(example.target[inside].astype(np.int64))
    if tuple(target.shape) == tuple(patch):
        return values, target
    sizes = target.shape
    before = [(side - size) // 2 for side, size in zip(patch, sizes, strict=True)]
    middle = tuple(slice(low, low + size) for low, size in zip(before, sizes, strict=True))
    whole, labels = values.new_zeros(len(values), *patch), target.new_full(tuple(patch), IGNORED)
    whole[(slice(None), *middle)], labels[middle] = values, target
    return whole, labels


def cut_middle(example: Example, patch: Sequence[int], scale: IntensityScale, first: int) -> Tensor:
    """The patch about the middle of classes from `first` on, or of the image where it has none."""
    marked = np.argwhere(example.target >= first)
    centre = marked.mean(0) if len(marked) else np.array(example.target.shape) / 2
    return cut(example, [int(at) - side // 2 for at, side in zip(centre, patch, strict=True)], patch, scale)[0]
