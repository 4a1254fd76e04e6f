"""What tasks on classes share: loss, weights of classes, thresholds, metrics, and the table of predictions."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from multiway.metrics import classes
from multiway.metrics.resampling import Metric
from multiway.training import TrainingConfig

Labels = NDArray[Any]
Outputs = Mapping[str, NDArray[np.float64]]
"""Probabilities `(cases, classes)` by model."""
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


def class_weights(labels: Labels, num_classes: int, training: TrainingConfig) -> Tensor | None:
    """Weights that make every class of the training labels count the same, 1 on average over the cases."""
    if training.class_weights == "none":
        return None
    counts = np.bincount(labels, minlength=num_classes)
    present = int((counts > 0).sum())
    return torch.tensor(len(labels) / (present * np.maximum(counts, 1)), dtype=torch.float32)


def youden_thresholds(labels: Labels, outputs: Outputs) -> dict[str, Tensor]:
    """Threshold of the second of two classes by model, where there is one."""
    chosen = {model: classes.youden_threshold(labels, shares) for model, shares in outputs.items()}
    return {model: torch.tensor(value, dtype=torch.float64) for model, value in chosen.items() if value is not None}


def thresholds_of(calibration: Mapping[str, Tensor], models: Sequence[str]) -> dict[str, float | None]:
    """Threshold of every model of a run, chosen on validation; None for more than two classes."""
    return {model: float(calibration[model]) if model in calibration else None for model in models}


def class_metrics(threshold: float | None = None) -> dict[str, Metric]:
    """Every metric; AUC and ACC are MedMNIST's, and the three that weigh errors use the threshold if there is one."""
    at = classes.MIDDLE if threshold is None else threshold
    return {
        "auc": classes.auc,
        "acc": classes.accuracy,
        "balanced_accuracy": partial(classes.balanced_accuracy, threshold=at),
        "sensitivity": partial(classes.sensitivity, threshold=at),
        "specificity": partial(classes.specificity, threshold=at),
        "ece": classes.calibration_error,
    }


def prediction_frame(
    cases: Mapping[str, Sequence[Any]], labels: Labels, outputs: Outputs, split: str, names: Sequence[str]
) -> pd.DataFrame:
    """Columns that name each case, then model, split, label, predicted class and the probability of each class."""
    heads = [
        {
            **cases,
            "model": model,
            "split": split,
            "label": class_values(names)[labels],
            "predicted": class_values(names)[classes.predicted_classes(shares)],
        }
        for model, shares in outputs.items()
    ]
    tails = [probability_frame(shares, names) for shares in outputs.values()]
    frames = [pd.concat([pd.DataFrame(head), tail], axis=1) for head, tail in zip(heads, tails, strict=True)]
    return pd.concat(frames, ignore_index=True)


def class_values(names: Sequence[str]) -> NDArray[Any]:
    """Names of classes as a column of a table holds them: False and True as truth values."""
    if sorted(names) == ["False", "True"]:
        return np.array([name == "True" for name in names])
    return np.array(names, dtype=object)


def probability_frame(shares: NDArray[np.float64], names: Sequence[str]) -> pd.DataFrame:
    """One column `p_CLASS` per class."""
    return pd.DataFrame(shares, columns=[f"p_{name}" for name in names])
