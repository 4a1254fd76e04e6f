"""Cross-entropy as a sum and a count, and the weights that make classes count the same."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.training.config import TrainingConfig
from multiway.training.protocols import Batch

NO_TARGET = -100
"""Label of what is not learned from."""


def class_loss(
    logits: Tensor, labels: Tensor, weights: Tensor | None = None, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Sum of the cross-entropy over the labels that are not `NO_TARGET`, and their number or weight.

    Args:
        logits: `(*, classes)`, such as one row per case, or one per token of each window.
        labels: `(*)`.
        weights: Of the classes.
        smoothing: Share of a label that is spread over all classes.
    """
    logits, labels = logits.flatten(0, -2), labels.flatten()
    weights = None if weights is None else weights.to(labels.device)
    loss = F.cross_entropy(
        logits.float(), labels, weights, ignore_index=NO_TARGET, label_smoothing=smoothing, reduction="sum"
    )
    known = labels != NO_TARGET
    return loss, known.sum().to(loss.dtype) if weights is None else weights[labels[known]].sum()


class ClassLoss:
    """Cross-entropy of the batch's `target`."""

    def __init__(self, weights: Tensor | None = None, smoothing: float = 0.0) -> None:
        self.weights, self.smoothing = weights, smoothing

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum, and number or weight, as `class_loss` says; weights and smoothing are for training alone."""
        outputs, target = model(batch["inputs"]), batch["target"]
        return (
            class_loss(outputs, target, self.weights, self.smoothing) if model.training else class_loss(outputs, target)
        )


def class_weights(labels: NDArray[Any], num_classes: int, training: TrainingConfig) -> Tensor | None:
    """Weights that make every class of the training labels count the same, 1 on average over the cases."""
    if training.class_weights == "none":
        return None
    counts = np.bincount(labels, minlength=num_classes)
    present = int((counts > 0).sum())
    return torch.tensor(len(labels) / (present * np.maximum(counts, 1)), dtype=torch.float32)
