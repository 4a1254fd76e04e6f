"""Losses of segmentation: cross-entropy, soft Dice and soft clDice, as a sum over samples and their number."""

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway.errors import ShapeError
from multiway.metrics.overlap import soft_skeleton

IGNORED = -1
"""Class of voxels that are neither learned from nor scored."""
SMOOTH = 1.0
"""Added above and below in a soft Dice, so that a sample without a class still has a gradient."""


def segmentation_loss(
    logits: Tensor,
    target: Tensor,
    *,
    background: bool = True,
    dice_weight: float = 1.0,
    cl_dice_weight: float = 0.0,
    skeleton_iterations: int = 5,
    class_weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Cross-entropy, plus one minus the soft Dice, plus one minus the soft clDice, summed over samples.

    A sample's loss depends on that sample alone.

    Args:
        logits: `(batch, classes, *sizes)`.
        target: `(batch, *sizes)` int64 classes; `IGNORED` marks voxels that do not count.
        background: Class 0 is background and has no Dice of its own.
        dice_weight: Weight of the Dice term.
        cl_dice_weight: Weight of the clDice term, for thin connected structures (Shit et al. 2021).
        skeleton_iterations: Erosions of the soft skeleton.
        class_weights: `(classes,)` weights of the cross-entropy.

    Returns:
        The sum over samples, and the number of samples.
    """
    if logits.shape[:1] + logits.shape[2:] != target.shape:
        raise ShapeError(
            f"segmentation_loss: logits are (batch, classes, *sizes) and target (batch, *sizes). Got "
            f"{tuple(logits.shape)} and {tuple(target.shape)}."
        )
    logits = logits.float()
    total = _cross_entropy(logits, target, class_weights)
    if dice_weight or cl_dice_weight:
        predicted, expected = _masks(logits, target, first=int(background))
        total = total + dice_weight * (1 - soft_dice(predicted, expected).mean(1))
        if cl_dice_weight:
            total = total + cl_dice_weight * (1 - soft_cl_dice(predicted, expected, skeleton_iterations).mean(1))
    return total.sum(), torch.tensor(float(len(target)), device=logits.device)


def soft_dice(predicted: Tensor, target: Tensor) -> Tensor:
    """Dice of probabilities, `(batch, classes, *sizes)` to `(batch, classes)`."""
    both, sizes = (predicted * target).flatten(2).sum(2), (predicted + target).flatten(2).sum(2)
    return (2 * both + SMOOTH) / (sizes + SMOOTH)


def soft_cl_dice(predicted: Tensor, target: Tensor, iterations: int) -> Tensor:
    """Centre-line Dice of probabilities, `(batch, classes, *sizes)` to `(batch, classes)` (Shit et al. 2021)."""
    precision = _share(soft_skeleton(predicted, iterations), target)
    sensitivity = _share(soft_skeleton(target, iterations), predicted)
    return 2 * precision * sensitivity / (precision + sensitivity)


def _share(skeleton: Tensor, mask: Tensor) -> Tensor:
    return ((skeleton * mask).flatten(2).sum(2) + SMOOTH) / (skeleton.flatten(2).sum(2) + SMOOTH)


def _cross_entropy(logits: Tensor, target: Tensor, class_weights: Tensor | None) -> Tensor:
    """Mean over the voxels that count, per sample; zero where none does."""
    losses = F.cross_entropy(logits, target, weight=class_weights, ignore_index=IGNORED, reduction="none").flatten(1)
    seen = target.flatten(1) != IGNORED
    weight = seen.to(losses.dtype) if class_weights is None else class_weights[target.flatten(1).clamp_min(0)] * seen
    mean: Tensor = losses.sum(1) / weight.sum(1).clamp_min(torch.finfo(losses.dtype).tiny)
    return mean


def _masks(logits: Tensor, target: Tensor, first: int) -> tuple[Tensor, Tensor]:
    """Probabilities and one-hot targets of the classes from `first` on, zero where a voxel does not count."""
    seen = (target != IGNORED).unsqueeze(1)
    classes = F.one_hot(target.clamp_min(0), logits.shape[1]).movedim(-1, 1)
    return (logits.softmax(1) * seen)[:, first:], (classes * seen)[:, first:].to(logits.dtype)
