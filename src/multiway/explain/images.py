"""What spoke for the class that a network named, pixel by pixel, and the picture of it."""

import dataclasses
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.explain.gradients import gradients_within
from multiway.explain.planes import overlay
from multiway.extras import load_extra
from multiway.files import write_with

TOLERANCE, MOST_POINTS, BATCH = 0.05, 513, 64
"""Share of the logit's change that the gradients' sum may miss, points at most, and points at once."""
LEVELS = 15
SIDE = 256
"""Pixels that a picture has along its longer side at least."""

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ImageExplanation:
    """One image.

    gradients: Integrated gradients of the class, summed over channels, `(height, width)`.
    sums: Sum of the gradients, and the change of the logit from an image of zeros, which it should equal.
    """

    gradients: Floats
    sums: tuple[float, float]


def explain_image(model: nn.Module, x: Tensor, target: int) -> ImageExplanation:
    """Integrated gradients of a class, along the straight way from zeros to the image.

    Args:
        model: Takes images to logits.
        x: `(1, channels, height, width)`, as the model takes it.
        target: The class.
    """
    label = torch.tensor([target], device=x.device)
    found = gradients_within(model, x, label, tolerance=TOLERANCE, steps=MOST_POINTS, batch_size=BATCH)
    change = float(found.change[0])
    gradients = found.values[0].sum(0).float().cpu().numpy()
    return ImageExplanation(gradients=gradients, sums=(change + float(found.gap[0]), change))


def save_image(path: Path, pixels: Pixels, gradients: Floats) -> None:
    """Write an image `(height, width, channels)` and the same in grey under its gradients, side by side, enlarged."""
    library = load_extra("PIL.Image", "drawing images", "images")
    places, colours = overlay("gradients", gradients, LEVELS)
    image = np.broadcast_to(pixels, (*pixels.shape[:2], 3)).astype(np.float32)
    laid = colours[places].astype(np.float32)
    share = laid[..., 3:] / 255
    both = np.concatenate([image, image.mean(2, keepdims=True) * (1 - share) + laid[..., :3] * share], axis=1)
    times = max(1, SIDE // max(pixels.shape[:2]))
    picture = library.fromarray(both.round().astype(np.uint8).repeat(times, 0).repeat(times, 1))
    write_with(path, lambda temporary: picture.save(temporary, format="png"))
