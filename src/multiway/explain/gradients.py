"""Integrated gradients: the change of a class's logit, shared among the voxels."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from multiway.extras import load_extra

PIECES = (0.0, *(8.0**-power for power in range(5, 0, -1)), 1.0)
"""Parts of the path that get as many points each: behind a normalisation, most of the change is near the start."""
FIRST_CUTS = 8
"""Cuts of the path that `gradients_within` begins with."""
FAINT, FAINTEST, UNMOVED = 1e-4, 1e-12, 0.05
"""Where the cuts begin: the contrast, within these two, at which so little of the change has been made."""


class Gradients(NamedTuple):
    """Integrated gradients `(batch, channels, *sizes)`, and by how much each sample's sum misses the output's change.

    change: Output at the volume minus output at the baseline, `(batch,)`; the sum should equal it.
    gap: The sum minus that change, `(batch,)`.
    points: Places on the path where gradients were taken.
    """

    values: Tensor
    change: Tensor
    gap: Tensor
    points: int


def integrated_gradients(
    model: nn.Module,
    volumes: Tensor,
    target: Tensor,
    *,
    baseline: float = 0.0,
    steps: int = 96,
    batch_size: int = 8,
) -> Gradients:
    """Share the change of a class's logit, from an empty volume to this one, among the voxels.

    Sundararajan, Taly & Yan (2017), by captum, along the straight line from the baseline. The line is taken in
    pieces that shorten towards the baseline: a network that normalises does not care how faint a volume is, and
    makes most of its change within the first thousandth, which points evenly spread would miss.

    Args:
        model: Takes volumes to logits `(batch, classes)`; put into evaluation for the call.
        volumes: `(batch, channels, *sizes)`, as the model takes them.
        target: Class per sample, `(batch,)`.
        baseline: Value of an empty voxel, in the model's own units.
        steps: Points of the integral, in all; six pieces share them.
        batch_size: Points that are computed at once; memory grows with it.

    Raises:
        ConfigError: captum is not installed.
    """
    method = _captum().IntegratedGradients(model)
    empty = torch.full_like(volumes, baseline)
    values = torch.zeros_like(volumes)
    count = max(1, steps // (len(PIECES) - 1))
    with _frozen(model):
        for start, end in pairwise(PIECES):
            values += method.attribute(
                torch.lerp(empty, volumes.detach(), end),
                torch.lerp(empty, volumes.detach(), start),
                target=target,
                n_steps=count,
                internal_batch_size=max(batch_size, len(volumes)),
            ).detach()
        change = _change(model, empty, volumes, target)
    return Gradients(values, change, values.flatten(1).sum(1) - change, count * (len(PIECES) - 1))


def gradients_within(
    model: nn.Module, volume: Tensor, target: Tensor, *, tolerance: float, steps: int = 33, batch_size: int = 8
) -> Gradients:
    """Integrated gradients of one volume, from 0, at as few points as their sum allows.

    The path is cut evenly in the logarithm of the contrast, by the trapezoidal rule. The cuts are halved, and the
    gradients at hand kept, until the sum misses the change of the logit by `tolerance` of that change or less.

    Args:
        model: Takes volumes to logits `(batch, classes)`; put into evaluation for the call.
        volume: `(1, channels, *sizes)`, as the model takes it.
        target: Its class, `(1,)`.
        tolerance: Share of the change that the sum may miss.
        steps: Points at most; 9, 17, 33 and so on are taken.
        batch_size: Points that are computed at once; memory grows with it.
    """
    cuts = FIRST_CUTS
    places = torch.arange(1, cuts) / cuts
    with _frozen(model):
        change = _change(model, torch.zeros_like(volume), volume, target)
        reach = -math.log(_start(model, volume, target, change))
        faint, full = (_along(model, volume, target, torch.tensor([at]).exp(), 1) for at in (-reach, 0.0))
        total = (faint + full) / 2
        while True:
            total = total + _along(model, volume, target, torch.exp(reach * (places - 1)), batch_size)
            values = faint + reach / cuts * total
            gap = values.flatten(1).sum(1) - change
            if gap.abs() <= tolerance * change.abs() or 2 * cuts >= steps:
                return Gradients(values, change, gap, cuts + 1)
            cuts *= 2
            places = torch.arange(1, cuts, 2) / cuts


def _start(model: nn.Module, volume: Tensor, target: Tensor, change: Tensor) -> float:
    """Contrast up to which the logit hardly moves, and in a straight line; behind normalisations it is tiny."""
    share, empty = FAINT, torch.zeros_like(volume)
    while share > FAINTEST and _change(model, empty, share * volume, target).abs() > UNMOVED * change.abs():
        share /= 10
    return share


def _along(model: nn.Module, volume: Tensor, target: Tensor, shares: Tensor, batch_size: int) -> Tensor:
    """Voxels times their gradients, summed over a volume at some shares of its contrast."""
    total = torch.zeros_like(volume)
    for some in shares.to(volume).split(batch_size):
        x = (some.view(-1, *[1] * (volume.ndim - 1)) * volume).requires_grad_()
        (slopes,) = torch.autograd.grad(model(x)[:, target].sum(), x)
        total += (slopes * x.detach()).sum(0, keepdim=True)
    return total


def _change(model: nn.Module, empty: Tensor, volumes: Tensor, target: Tensor) -> Tensor:
    """How far the target's logit moves from an empty volume to this one."""
    rows = torch.arange(len(volumes))
    with torch.no_grad():
        change: Tensor = model(volumes)[rows, target] - model(empty)[rows, target]
    return change


@contextmanager
def _frozen(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation and spare it the gradients of its weights, which cost as much as those wanted."""
    was_training, weights = model.training, [weight for weight in model.parameters() if weight.requires_grad]
    model.eval().requires_grad_(False)
    try:
        yield
    finally:
        model.train(was_training)
        for weight in weights:
            weight.requires_grad_(True)


def _captum() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # captum's own imports warn of what is not ours to fix
        return load_extra("captum", "The map of gradients", "volumes").attr
