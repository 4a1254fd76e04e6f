"""Random changes of training volumes; each sample has draws of its own, from torch's global generator."""

import math
from typing import overload

import torch
import torch.nn.functional as F
from torch import Tensor

from multiway.data.options import AugmentOptions

SHAPE_EVALUATION = 0.5


@overload
def augment(batch: Tensor, options: AugmentOptions) -> Tensor: ...
@overload
def augment(batch: Tensor, options: AugmentOptions, mask: Tensor) -> tuple[Tensor, Tensor]: ...
def augment(batch: Tensor, options: AugmentOptions, mask: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """Change each volume of a batch at random.

    `batch` is `(batch, channels, *sizes)`, normalised, of three sizes, or two where no option names axis 2. The labels
    of `mask`, `(batch, *sizes)`, move with the voxels to the nearest, and its intensities stay. The mask follows if
    given.
    """
    parts = [batch] if mask is None else [batch, mask.unsqueeze(1)]
    for axis in options.flips:
        parts = _where(torch.rand(len(batch)) < 0.5, parts, [part.flip(axis + 2) for part in parts])
    for plane in options.rotate90:
        first, second = (axis + 2 for axis in plane)
        turns = torch.randint(0, 4, (len(batch),))
        if batch.shape[first] != batch.shape[second]:
            turns = turns // 2 * 2  # no quarter fits
        for count in (1, 2, 3):
            if (turns == count).any():
                parts = _where(turns == count, parts, [torch.rot90(part, count, (first, second)) for part in parts])
    if options.shift:
        parts = _shift(parts, options.shift)
    if options.crop:
        parts = _shift(parts, options.crop, mirrored=True)
    if options.rotate or options.zoom:
        parts = _turn(parts, options)
    changed = parts[0]
    if options.scale:
        changed = changed * (1 + (2 * _draws(changed) - 1) * options.scale)
    if options.offset:
        changed = changed + (2 * _draws(changed) - 1) * options.offset
    if options.noise:
        changed = changed + torch.randn(changed.shape).to(changed.device, changed.dtype) * options.noise
    return changed if mask is None else (changed, parts[1].squeeze(1))


def shape_transform(batch: Tensor, *, training: bool) -> Tensor:
    """Multiply volumes that are shapes by U(0, 1), one draw per sample, in training and by 0.5 in evaluation.

    MedMNIST's transform of its mask sets: without it the voxels of a shape are always 0 or 1.
    """
    return batch * (_draws(batch) if training else SHAPE_EVALUATION)


def _draws(batch: Tensor) -> Tensor:
    """One number in [0, 1) per sample, drawn on the CPU so that every device sees the same."""
    return torch.rand(len(batch)).to(batch.device, batch.dtype).view(-1, *[1] * (batch.ndim - 1))


def _where(chosen: Tensor, parts: list[Tensor], changed: list[Tensor]) -> list[Tensor]:
    """The changed volumes of the chosen samples, and the others as they were."""
    return [
        torch.where(chosen.to(old.device).view(-1, *[1] * (old.ndim - 1)), new, old)
        for old, new in zip(parts, changed, strict=True)
    ]


def _shift(parts: list[Tensor], largest: int, *, mirrored: bool = False) -> list[Tensor]:
    for axis in range(2, parts[0].ndim):
        last = parts[0].shape[axis] - 1
        moves = torch.randint(-largest, largest + 1, (len(parts[0]), 1))
        positions = torch.arange(last + 1) + moves  # (batch, size)
        if mirrored:
            positions = last - (last - positions.abs()).abs()
        positions = positions.clamp(0, last)
        shape = [1] * parts[0].ndim
        shape[0], shape[axis] = positions.shape
        parts = [part.gather(axis, positions.to(part.device).view(shape).expand(part.shape)) for part in parts]
    return parts


def _turn(parts: list[Tensor], options: AugmentOptions) -> list[Tensor]:
    """Turn and stretch about the centre, in voxels, so that unequal sizes do not shear; a mask to the nearest."""
    batch = parts[0]
    sizes, modes = torch.tensor(batch.shape[2:], dtype=torch.float32), batch.ndim - 2
    # affine_grid counts each axis from -1 to 1, and the axes from the last to the first
    matrix = _matrices(len(batch), modes, options) * sizes.view(1, 1, -1) / sizes.view(1, -1, 1)
    theta = torch.cat([matrix.flip(1, 2), torch.zeros(len(batch), modes, 1)], 2).to(batch.device, batch.dtype)
    grid = F.affine_grid(theta, [len(batch), 1, *batch.shape[2:]], align_corners=False)
    moved = F.grid_sample(batch, grid, mode="bilinear", padding_mode="border", align_corners=False)
    masks = [
        F.grid_sample(part.to(grid.dtype), grid, mode="nearest", padding_mode="border", align_corners=False).to(
            part.dtype
        )
        for part in parts[1:]
    ]
    return [moved, *masks]


def _matrices(count: int, modes: int, options: AugmentOptions) -> Tensor:
    """Rotations about every axis times a zoom, `(batch, modes, modes)`."""
    planes = [(0, 1)] if modes == 2 else [(0, 1), (0, 2), (1, 2)]
    result = torch.eye(modes).repeat(count, 1, 1)
    for first, second in planes:
        angle = (2 * torch.rand(count) - 1) * math.radians(options.rotate)
        turn = torch.eye(modes).repeat(count, 1, 1)
        turn[:, first, first] = turn[:, second, second] = angle.cos()
        turn[:, first, second], turn[:, second, first] = -angle.sin(), angle.sin()
        result = result @ turn
    zoom = 1 + (2 * torch.rand(count) - 1) * options.zoom
    return result / zoom.view(-1, 1, 1)
