"""How well a predicted mask fits: Dice, clDice, the 95th percentile of surface distances; empty masks have a rule."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway.errors import ShapeError

BLOCK = 4_000_000
"""Distances held at once by `hd95`."""
POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


class Overlap(NamedTuple):
    """Voxels of one class: in both masks, in the prediction alone, in the target alone."""

    both: int
    predicted: int
    missed: int

    def dice(self) -> float | None:
        """Dice coefficient, 2 both / (2 both + predicted + missed): 0 where one mask of the two is empty.

        Undefined (None) where both are: a case with nothing to find and nothing found says nothing of overlap, and
        counting it as 1 would raise a mean by empty cases alone.
        """
        total = 2 * self.both + self.predicted + self.missed
        return 2 * self.both / total if total else None


def overlap(predicted: Tensor, target: Tensor) -> Overlap:
    """Count the voxels of two masks of the same sizes."""
    _check(predicted, target, "overlap")
    both = int((predicted & target).sum())
    return Overlap(both, int(predicted.sum()) - both, int(target.sum()) - both)


def dice(predicted: Tensor, target: Tensor) -> float | None:
    """Dice coefficient of two masks; see `Overlap.dice`."""
    return overlap(predicted, target).dice()


def cl_dice(predicted: Tensor, target: Tensor) -> float | None:
    """Centre-line Dice: how well each mask holds the other's skeleton (Shit et al. 2021, eqs. 1 and 2).

    The harmonic mean of |S(P) ∩ T| / |S(P)| and |S(T) ∩ P| / |S(T)|. Differs from the paper's evaluation, which
    thins with another library: S is the paper's own `soft_skeleton`, run until nothing is left to erode.
    Undefined (None) where both masks are empty; 0 where one is.
    """
    _check(predicted, target, "cl_dice")
    if not predicted.any() or not target.any():
        return None if not predicted.any() and not target.any() else 0.0
    predicted, target = _crop(predicted, target)
    precision, sensitivity = _share_inside(predicted, target), _share_inside(target, predicted)
    return 2 * precision * sensitivity / (precision + sensitivity) if precision + sensitivity else 0.0


def _crop(predicted: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest box that holds both masks: what lies outside changes no skeleton and no distance."""
    places = (predicted | target).nonzero()
    box = tuple(
        slice(low, high + 1) for low, high in zip(places.amin(0).tolist(), places.amax(0).tolist(), strict=True)
    )
    return predicted[box], target[box]


def _share_inside(mask: Tensor, other: Tensor) -> float:
    """Share of a mask's skeleton that lies in another mask."""
    padded = F.pad(mask[None, None].float(), [1, 1] * mask.ndim)  # the array's edge is the mask's edge
    skeleton = soft_skeleton(padded, max(mask.shape))[0, 0] > 0
    return float((skeleton & F.pad(other, [1, 1] * other.ndim)).sum() / skeleton.sum())


def soft_skeleton(x: Tensor, iterations: int) -> Tensor:
    """Skeleton of a soft mask by repeated erosion and opening, differentiable (Shit et al. 2021, algorithm 1).

    Erosion takes the least of the two neighbours along each mode, dilation the greatest of the whole 3^k cube; what
    lies outside the array neither erodes nor dilates. Stops early where erosion has left nothing.

    Args:
        x: `(batch, channels, *sizes)` with values in [0, 1].
        iterations: Erosions; as many as half the thickness of the thickest part give the whole skeleton.
    """
    if x.ndim - 2 not in POOLS:
        raise ShapeError(f"soft_skeleton: x is (batch, channels, *sizes) of 1 to 3 modes. Got {tuple(x.shape)}.")
    skeleton = F.relu(x - _dilate(_erode(x)))
    for _ in range(iterations):
        x = _erode(x)
        if not x.any():
            break
        rest = F.relu(x - _dilate(_erode(x)))
        skeleton = skeleton + F.relu(rest - skeleton * rest)
    return skeleton


def _erode(x: Tensor) -> Tensor:
    modes = x.ndim - 2
    windows = [[3 if mode == other else 1 for other in range(modes)] for mode in range(modes)]
    pooled = [-POOLS[modes](-x, window, 1, [side // 2 for side in window]) for window in windows]
    return torch.stack(pooled).amin(0)


def _dilate(x: Tensor) -> Tensor:
    widest: Tensor = POOLS[x.ndim - 2](x, 3, 1, 1)
    return widest


def hd95(predicted: Tensor, target: Tensor, spacing: Sequence[float] | None = None) -> float | None:
    """95th percentile of the distances between two masks' surfaces, the greater of the two directions.

    A mask's surface are its voxels with a neighbour along a mode outside it, the array's edge included. Undefined
    (None) where either mask is empty: no distance to nothing is finite, and none is made up.

    Args:
        predicted: Boolean mask.
        target: Boolean mask of the same sizes.
        spacing: Distance of neighbours along each mode, in millimetres; voxels if not given.
    """
    _check(predicted, target, "hd95")
    steps = torch.tensor([1.0] * target.ndim if spacing is None else list(spacing), dtype=torch.float64)
    if len(steps) != target.ndim or not bool((steps > 0).all()):
        raise ShapeError(f"hd95: spacing needs one positive value per mode. Got {spacing} for {tuple(target.shape)}.")
    if not predicted.any() or not target.any():
        return None
    points, furthest, exact = [], [], "donot_use_mm_for_euclid_dist"
    for mask in _crop(predicted, target):
        inside = F.pad(mask, [1, 1] * mask.ndim)
        kept = inside.clone()
        for mode in range(mask.ndim):
            kept &= inside.roll(1, mode) & inside.roll(-1, mode)
        surface = mask & ~kept[tuple(slice(1, -1) for _ in range(mask.ndim))]
        points.append(surface.nonzero().double() * steps)
    for start, end in itertools.permutations(points):  # the distance of each point to the nearest, a block at a time
        blocks = start.split(max(BLOCK // len(end), 1))
        nearest = torch.cat([torch.cdist(block, end, compute_mode=exact).amin(1) for block in blocks])
        furthest.append(float(torch.quantile(nearest, 0.95)))
    return max(furthest)


def _check(predicted: Tensor, target: Tensor, where: str) -> None:
    if predicted.shape != target.shape or predicted.dtype != torch.bool or target.dtype != torch.bool:
        raise ShapeError(
            f"{where}: both masks must be boolean and of the same sizes. Got predicted {tuple(predicted.shape)} "
            f"{predicted.dtype}, target {tuple(target.shape)} {target.dtype}."
        )
