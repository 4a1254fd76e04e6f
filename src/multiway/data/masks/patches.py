"""Patches of images: drawn about the classes for training, laid out as a grid for validation."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.masks.examples import Example, Examples
from multiway.data.masks.labels import IGNORED
from multiway.data.volumes import AugmentOptions, IntensityScale, VolumeOptions, augment

MOST_PLACES = 4096
"""Voxels of each class of a case that patches are drawn about."""


class TrainingPatches:
    """Random patches of the training cases: a `Source` whose every draw comes from torch's global generator.

    So a resumed training draws what the uninterrupted one would have drawn.

    Args:
        examples: Images.
        rows: Which of them.
        scale: Intensities.
        patch: Sizes of a patch.
        per_case: Patches of each case in an epoch.
        foreground: Share of patches drawn about a voxel of a scored class.
        options: Random changes.
    """

    def __init__(
        self,
        examples: Examples,
        rows: Sequence[int],
        scale: IntensityScale,
        patch: tuple[int, ...],
        *,
        per_case: int,
        foreground: float,
        options: AugmentOptions,
    ) -> None:
        self.examples, self.rows, self.scale, self.patch = examples, list(rows), scale, patch
        self.per_case, self.foreground, self.options = per_case, foreground, options
        self._places: dict[int, list[NDArray[Any]]] = {}

    def __len__(self) -> int:
        """Patches in an epoch."""
        return len(self.rows) * self.per_case

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """`volume` `(batch, channels, *patch)` and `mask` `(batch, *patch)`."""
        cuts = []
        for number in index.tolist():
            row = self.rows[number // self.per_case]
            example = self.examples.read(row)
            cuts.append(cut(example, self._start(row, example), self.patch, self.scale))
        volume, mask = (torch.stack(parts) for parts in zip(*cuts, strict=True))
        if self.options != AugmentOptions():
            volume, mask = augment(volume, self.options, mask)
        return {"volume": volume, "mask": mask}

    def _start(self, row: int, example: Example) -> list[int]:
        places = self._classes_of(row, example) if float(torch.rand(())) < self.foreground else []
        if not places:
            return [_draw(room + 1) for room in _rooms(example, self.patch)]
        chosen = places[_draw(len(places))]
        voxel = chosen[_draw(len(chosen))]
        starts = [int(at) - _draw(side) for at, side in zip(voxel, self.patch, strict=True)]
        return _inside(starts, example, self.patch)

    def _classes_of(self, row: int, example: Example) -> list[NDArray[Any]]:
        """Voxels of each scored class that the case has, `(voxels, modes)` each, thinned evenly."""
        if row not in self._places:
            found = [np.argwhere(example.target == label) for label in self.examples.scored]
            self._places[row] = [
                places[:: -(-len(places) // MOST_PLACES)].astype(np.int32) for places in found if len(places)
            ]
        return self._places[row]


def _draw(count: int) -> int:
    return int(torch.randint(count, ()))


class GridPatches:
    """Patches that cover each case once, the same at every validation."""

    def __init__(self, examples: Examples, rows: Sequence[int], scale: IntensityScale, patch: tuple[int, ...]) -> None:
        self.examples, self.scale, self.patch = examples, scale, patch
        self.places = [(row, list(start)) for row in rows for start in _grid(examples.read(row).target.shape, patch)]

    def __len__(self) -> int:
        """Patches of all cases."""
        return len(self.places)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """`volume` `(batch, channels, *patch)` and `mask` `(batch, *patch)`."""
        cuts = [
            cut(self.examples.read(row), start, self.patch, self.scale)
            for row, start in (self.places[number] for number in index.tolist())
        ]
        volume, mask = (torch.stack(parts) for parts in zip(*cuts, strict=True))
        return {"volume": volume, "mask": mask}


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
    place = tuple(slice(low, low + size) for low, size in zip(before, sizes, strict=True))
    whole, labels = values.new_zeros(len(values), *patch), target.new_full(tuple(patch), IGNORED)
    whole[(slice(None), *place)], labels[place] = values, target
    return whole, labels


def cut_middle(examples: Examples, row: int, patch: Sequence[int], scale: IntensityScale) -> Tensor:
    """The patch about the middle of what the mask marks, or of the image where it marks nothing."""
    example = examples.read(row)
    marked = np.argwhere(example.target >= int(examples.background))
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


def fit_scale(examples: Examples, options: VolumeOptions) -> IntensityScale:
    """Learn intensities from the training images alone, one at a time."""
    return IntensityScale.fit(_Rows(examples), examples.rows("train"), options)  # type: ignore[arg-type]


class _Rows:
    """What `IntensityScale.fit` asks of an array of images, without holding them."""

    def __init__(self, examples: Examples) -> None:
        first = examples.read(examples.rows("train")[0]).values
        self.shape = (len(examples.names), *first.shape)
        self.dtype, self.ndim = first.dtype, first.ndim + 1
        self._examples = examples

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self._examples.read(int(row)).values
