"""Integrated gradients: the change of a class's logit, shared among voxels, pixels or the values of a series."""

import dataclasses
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.explain.planes import overlay
from multiway.files import write_with
from multiway.lazy import load_extra

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # captum's own imports warn of what is not ours to fix
        captum: Any = load_extra("captum", "The map of gradients", "volumes").attr
    method = captum.IntegratedGradients(model)
    empty = torch.full_like(volumes, baseline)
    values = torch.zeros_like(volumes)
    count = max(1, steps // (len(PIECES) - 1))
    with _freeze(model):
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
    with _freeze(model):
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
def _freeze(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation and spare it the gradients of its weights, which cost as much as those wanted."""
    was_training, weights = model.training, [weight for weight in model.parameters() if weight.requires_grad]
    model.eval().requires_grad_(False)
    try:
        yield
    finally:
        model.train(was_training)
        for weight in weights:
            weight.requires_grad_(True)


SERIES_TOLERANCE = 0.1
"""Share of the logit's change that the sum of the gradients may miss."""


class _Observed(nn.Module):
    """A model of series whose missing values stay missing while the others are faded."""

    def __init__(self, model: nn.Module, series: Tensor) -> None:
        super().__init__()
        self.model, self.is_missing = model, series.isnan()

    def forward(self, x: Tensor) -> Tensor:
        """Logits of faded copies of the series."""
        out: Tensor = self.model(torch.where(self.is_missing, torch.nan, x))
        return out


def attribute_series(model: nn.Module, series: Tensor) -> NDArray[np.float64]:
    """Share the logit of the predicted class among the values of each series, from the mean of the training on.

    Args:
        model: Takes `(batch, steps, variates)`, NaN where missing, to logits.
        series: The same, scaled so that 0 is the mean.

    Returns:
        `(batch, steps, variates)`; 0 where a value is missing.
    """
    shares = []
    for sample in series.split(1):
        with torch.no_grad():
            target = model(sample).argmax(1)
        gradients = gradients_within(_Observed(model, sample), sample.nan_to_num(), target, tolerance=SERIES_TOLERANCE)
        shares.append(gradients.values.double().cpu().numpy())
    return np.concatenate(shares)


def mode_shares(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of each step and of each variate in the absolute attribution; every series weighs the same."""
    size = np.abs(values)
    total = size.sum((1, 2), keepdims=True)
    share = (size / np.where(total > 0, total, 1)).mean(0)
    return share.sum(1), share.sum(0)


IMAGE_TOLERANCE, MOST_POINTS, BATCH = 0.05, 513, 64
"""Share of the logit's change that the gradients' sum may miss, points at most, and points at once."""
LEVELS = 15
SIDE = 256
"""Pixels that a picture has along its longer side at least."""

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ImageExplanation:
    """One image.

    method: `gradients`, integrated ones of the logit of the class, or `occlusion`, how far its probability falls
        without the patch of a pixel.
    attribution: Summed over channels, `(height, width)`.
    sums: Sum of the gradients, and the change of the logit from an image of zeros, which it should equal; None of
        occlusion.
    """

    method: str
    attribution: Floats
    sums: tuple[float, float] | None = None


def explain_image(model: nn.Module, x: Tensor, target: int) -> ImageExplanation:
    """Integrated gradients of a class, along the straight way from zeros to the image."""
    label = torch.tensor([target], device=x.device)
    found = gradients_within(model, x, label, tolerance=IMAGE_TOLERANCE, steps=MOST_POINTS, batch_size=BATCH)
    change = float(found.change[0])
    attribution = found.values[0].sum(0).float().cpu().numpy()
    sums = (change + float(found.gap[0]), change)
    return ImageExplanation(method="gradients", attribution=attribution, sums=sums)


def save_image(path: Path, pixels: Pixels, attribution: Floats) -> None:
    """Write an image `(height, width, channels)` and the same in grey under its attribution, side by side, enlarged."""
    library = load_extra("PIL.Image", "drawing images", "images")
    places, colours = overlay("gradients", attribution, LEVELS)
    image = np.broadcast_to(pixels, (*pixels.shape[:2], 3)).astype(np.float32)
    laid = colours[places].astype(np.float32)
    share = laid[..., 3:] / 255
    both = np.concatenate([image, image.mean(2, keepdims=True) * (1 - share) + laid[..., :3] * share], axis=1)
    times = max(1, SIDE // max(pixels.shape[:2]))
    picture = library.fromarray(both.round().astype(np.uint8).repeat(times, 0).repeat(times, 1))
    write_with(path, lambda temporary: picture.save(temporary, format="png"))
