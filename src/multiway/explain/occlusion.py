"""What hiding a part of an input does to an answer, whoever gives it: occlusion (Zeiler & Fergus, 2014, sec. 4)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Score = Callable[[Tensor], Floats]
"""From inputs `(inputs, *sizes)` to class probabilities `(inputs, classes)`."""
SPANS, SIDE = 32, 14
"""Spans of a series, and patches along the longer side of an image, that are hidden in turn at most."""


class Effects(NamedTuple):
    """The predicted class with its probability, and how far that falls without each part, `(parts,)`."""

    predicted: int
    probability: float
    falls: Floats


def effects_of(shares: Floats) -> Effects:
    """Effects by class probabilities of the whole, then without each part, `(1 + parts, classes)`."""
    predicted = int(shares[0].argmax())
    whole = float(shares[0, predicted])
    return Effects(predicted, whole, whole - shares[1:, predicted])


def occlude(score: Score, x: Tensor, parts: Tensor) -> Effects:
    """Effects of the parts of one input, each set to 0, the mean of the training; what is missing stays missing.

    Args:
        score: Of the answer.
        x: `(*sizes)`, scaled.
        parts: `(parts, *sizes)`, true where a part is; sizes of one broadcast.
    """
    hidden = torch.where(parts & ~x.isnan(), torch.zeros((), dtype=x.dtype), x)
    return effects_of(score(torch.cat([x[None], hidden])))


def spans(size: int, most: int = SPANS) -> Tensor:
    """Positions of an axis in neighbouring spans of like length, `(spans, size)`."""
    count = min(size, most)
    return torch.arange(count)[:, None] == torch.arange(size) * count // size


def occlude_series(score: Score, series: Tensor) -> tuple[Floats, Floats]:
    """Share of each step and of each variate in how far hiding moves the probability of the predicted class.

    Args:
        score: Of the answer.
        series: `(series, steps, variates)`, NaN where missing; every one of them weighs the same.
    """
    steps, variates = spans(series.shape[1])[:, :, None], torch.eye(series.shape[2], dtype=torch.bool)[:, None]
    of_steps = [_shared(occlude(score, x, steps).falls, steps.flatten(1)) for x in series]
    of_variates = [_shared(occlude(score, x, variates).falls, variates.flatten(1)) for x in series]
    return np.mean(of_steps, axis=0), np.mean(of_variates, axis=0)


def _shared(falls: Floats, parts: Tensor) -> Floats:
    """Share of each position in the absolute falls, where a part shares its own evenly; 0 where nothing falls."""
    moved, members = np.abs(falls), parts.double().numpy()
    return np.asarray(moved / members.sum(1) @ members / (moved.sum() or 1.0))


def occlude_image(score: Score, image: Tensor) -> Floats:
    """How far the probability of the predicted class falls without the patch of each pixel, `(height, width)`.

    Args:
        score: Of the answer.
        image: `(channels, height, width)`.
    """
    height, width = image.shape[1:]
    side = -(-max(height, width) // SIDE)
    rows, columns = spans(height, -(-height // side)), spans(width, -(-width // side))
    patches = (rows[:, None, :, None] & columns[None, :, None, :]).flatten(0, 1)
    falls = occlude(score, image, patches[:, None]).falls
    return np.asarray(falls.reshape(len(rows), len(columns))[rows.int().argmax(0)][:, columns.int().argmax(0)])
