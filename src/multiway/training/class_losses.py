"""Cross-entropy as a sum and a count, and the weights that make classes count the same."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from multiway.training.config import TrainingConfig

NO_TARGET = -100
"""Label of what is not learned from."""


def class_loss(
    logits: Tensor, labels: Tensor, weights: Tensor | None = None, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Sum of the cross-entropy over the labels that are not `NO_TARGET`, and their number or weight.

    Args:
        logits: `(cases, classes)`.
        labels: `(cases,)`.
        weights: Of the classes.
        smoothing: Share of a label that is spread over all classes.
    """
    weights = None if weights is None else weights.to(labels.device)
    loss = F.cross_entropy(
        logits.float(), labels, weights, ignore_index=NO_TARGET, label_smoothing=smoothing, reduction="sum"
    )
    known = labels != NO_TARGET
    return loss, known.sum().to(loss.dtype) if weights is None else weights[labels[known]].sum()


def class_weights(labels: NDArray[Any], num_classes: int, training: TrainingConfig) -> Tensor | None:
    """Weights that make every class of the training labels count the same, 1 on average over the cases."""
    if training.class_weights == "none":
        return None
    counts = np.bincount(labels, minlength=num_classes)
    present = int((counts > 0).sum())
    return torch.tensor(len(labels) / (present * np.maximum(counts, 1)), dtype=torch.float32)
