"""Patches of images: drawn about the classes for training, laid out as a grid for validation."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from multiway.data.augmentation import AugmentOptions, augment
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
        by_class = self._classes_of(row, example) if float(torch.rand(())) < self.foreground else []
        if not by_class:
            return [_draw(room + 1) for room in _rooms(example, self.patch)]
        chosen = by_class[_draw(len(by_class))]
        voxel = chosen[_draw(len(chosen))]
        starts = [int(at) - _draw(side) for at, side in zip(voxel, self.patch, strict=True)]
        return _inside(starts, example, self.patch)

    def _classes_of(self, row: int, example: Example) -> list[Array]:
        """Voxels of each scored class that the case has, `(voxels, modes)` each, thinned evenly."""
        if row not in self.voxels:
            by_class = [np.argwhere(example.target == label) for label in self.images.scored]
            self.voxels[row] = [
                voxels[:: -(-len(voxels) // MOST_VOXELS)].astype(np.int32) for voxels in by_class if len(voxels)
            ]
        return self.voxels[row]


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
        self.starts = [(row, start) for row in range(len(images)) for start in _grid(images.sizes(row), patch)]

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


def _grid(sizes: Sequence[int], patch: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Starts of patches side by side; the last of a mode ends with it."""
    return itertools.product(
        *([*range(0, max(size - side, 0), side), max(size - side, 0)] for size, side in zip(sizes, patch, strict=True))
    )


def cut(example: Example, start: Sequence[int], patch: Sequence[int], scale: IntensityScale) -> tuple[Tensor, Tensor]:
    """One patch, normalised; where the image is smaller, zeros lie on both sides and do not count."""
    inside = tuple(slice(low, low + side) for low, side in zip(start, patch, strict=True))
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
    starts = [int(at) - side // 2 for at, side in zip(centre, patch, strict=True)]
    return cut(example, _inside(starts, example, patch), patch, scale)[0]


def _inside(starts: Sequence[int], example: Example, patch: Sequence[int]) -> list[int]:
    """The starts nearest to these whose patch lies in the image."""
    rooms = _rooms(example, patch)
    return [min(max(start, 0), room) for start, room in zip(starts, rooms, strict=True)]


def _rooms(example: Example, patch: Sequence[int]) -> list[int]:
    """How far a patch can start from the first voxel along each axis."""
    return [max(size - side, 0) for size, side in zip(example.target.shape, patch, strict=True)]
