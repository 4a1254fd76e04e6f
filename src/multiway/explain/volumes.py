"""What a network made of one volume: attention per mode, attention and gradients by voxel, and a deletion test."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.explain.gradients import gradients_within, integrated_gradients
from multiway.explain.labels import slice_labels
from multiway.explain.maps import ModeMap, mode_maps
from multiway.explain.voxels import DeletionCurves, deletion_curves, rollout_to_voxels

Floats = NDArray[np.float32]
USUAL_BLOCK = 4
MAX_VOXELS = 2**21
"""Voxels that go through the network at once."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class VolumeExplanation:
    """One volume.

    maps: Attention per block and mode; empty where the network has none.
    attention: Rollout to voxels, 1 is an even look, `(*sizes)`.
    gradients: Integrated gradients of the target's logit, summed over channels, `(*sizes)`.
    sums: Sum of the gradients, and the change of the logit from an empty volume, which it should equal.
    points: Places on the path where gradients were taken.
    deletion: Probability of the target as blocks are hidden.
    """

    maps: list[ModeMap] = dataclasses.field(default_factory=list)
    attention: Floats | None = None
    gradients: Floats | None = None
    sums: tuple[float, float] | None = None
    points: int | None = None
    deletion: DeletionCurves | None = None

    @property
    def overlays(self) -> dict[str, Floats]:
        """What can be laid over the volume, by name."""
        overlays = {"attention": self.attention, "gradients": self.gradients}
        return {name: values for name, values in overlays.items() if values is not None}


def explain_volume(
    model: nn.Module,
    x: Tensor,
    target: int,
    axes: Sequence[str],
    spacing: Sequence[float] | None = None,
    *,
    name: str = "",
    gradients: bool = True,
    deletion: bool = True,
    steps: int = 96,
    tolerance: float | None = None,
    seed: int = 0,
) -> VolumeExplanation:
    """Explain what a classifier says of one volume.

    Args:
        model: Takes volumes to logits; one without attention has gradients alone.
        x: `(1, channels, *sizes)`, as the model takes it; 0 is an empty voxel.
        target: Class whose logit and probability are explained.
        axes: Names of the axes.
        spacing: Millimetres between voxels along each, if known.
        name: Of the volume.
        gradients: Compute integrated gradients.
        deletion: Run the deletion test.
        steps: Points of the integral of gradients.
        tolerance: Take fewer, if their sum misses the change of the logit by no more than this share of it.
        seed: Of the random orders of the deletion test.

    Raises:
        ConfigError: Gradients are wanted at a fixed number of points, and captum is not installed.
    """
    maps = maps_of(model, x)
    combine = getattr(getattr(model, "config", None), "combine", "product")
    attention = rollout_to_voxels(maps, x.shape[2:], combine=combine)[0] if maps else None
    integrated, label = None, torch.tensor([target], device=x.device)
    if gradients and tolerance is None:
        integrated = integrated_gradients(model, x, label, steps=steps, batch_size=_batch(x))
    elif gradients and tolerance is not None:
        integrated = gradients_within(model, x, label, tolerance=tolerance, steps=steps, batch_size=_batch(x))
    values = None if integrated is None else integrated.values[0].sum(0).cpu().float()
    change = 0.0 if integrated is None else float(integrated.change[0])
    marked = {key: item for key, item in (("attention", attention), ("gradients", values)) if item is not None}
    return VolumeExplanation(
        maps=volume_maps(model, maps, x.shape[2:], axes, spacing, name),
        attention=None if attention is None else attention.numpy(),
        gradients=None if values is None else values.numpy(),
        sums=None if integrated is None else (change + float(integrated.gap[0]), change),
        points=None if integrated is None else integrated.points,
        deletion=_deletion(model, x, target, marked, seed) if deletion and marked else None,
    )


@torch.no_grad()
def maps_of(model: Any, x: Tensor) -> list[list[Tensor]]:
    """Maps `(batch, heads, size, size)` by block and mode; none where the network has no map per mode."""
    if not has_maps(model):
        return []
    return [[mode.cpu() for mode in block] for block in model.eval().forward_with_maps(x)[1]]


def has_maps(model: nn.Module) -> bool:
    """Whether a network has a map per mode."""
    config = getattr(model, "config", None)
    return hasattr(model, "forward_with_maps") and getattr(config, "has_maps", True)


def volume_maps(
    model: nn.Module,
    maps: Sequence[Sequence[Tensor]],
    sizes: Sequence[int],
    axes: Sequence[str],
    spacing: Sequence[float] | None = None,
    sample: str = "",
    *,
    first: int = 0,
) -> list[ModeMap]:
    """Label maps by the slices that each token stands for, counted from `first`, and their millimetres."""
    steps = spacing or (None,) * len(sizes)
    block = _block_of(model)
    labels = [slice_labels(size, block, step, first=first) for size, step in zip(sizes, steps, strict=True)]
    return mode_maps(maps, axes, labels, ordered=axes, sample=sample)


def _block_of(model: nn.Module) -> int:
    """Voxels per token, which is also what the deletion test hides at once."""
    return int(getattr(model, "stride", USUAL_BLOCK))


def _deletion(model: nn.Module, x: Tensor, target: int, importance: dict[str, Tensor], seed: int) -> DeletionCurves:
    def score(volumes: Tensor) -> Tensor:
        share: Tensor = model(volumes).double().softmax(-1)[:, target]
        return share

    return deletion_curves(score, x[0], importance, block=_block_of(model), seed=seed, batch_size=_batch(x))


def _batch(x: Tensor) -> int:
    return max(1, min(16, MAX_VOXELS // x[0].numel()))
