"""What tasks on classes share: thresholds, metrics, and the table of predictions."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.metrics import classes
from multiway.metrics.resampling import Metric
from multiway.training.class_losses import NO_TARGET as NO_TARGET
from multiway.training.class_losses import class_loss as class_loss
from multiway.training.class_losses import class_weights as class_weights

Labels = NDArray[Any]
Outputs = Mapping[str, NDArray[np.float64]]
"""Probabilities `(cases, classes)` by model."""


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


def more_metrics() -> dict[str, Metric]:
    """Those that papers print of other data: both F1, accuracy among the first five, and AUC of hard answers."""
    return {
        "f1": classes.macro_f1,
        "weighted_f1": classes.weighted_f1,
        "top5": classes.top_accuracy,
        "hard_auc": classes.hard_auc,
    }


def prediction_frame(
    cases: Mapping[str, Sequence[Any]], labels: Labels, outputs: Outputs, split: str, names: Sequence[str]
) -> pd.DataFrame:
    """Columns that name each case, then model, split, label, predicted class and the probability of each class."""
    named = class_values(names)
    frames = []
    for model, shares in outputs.items():
        found = named[classes.predicted_classes(shares)]
        head = pd.DataFrame({**cases, "model": model, "split": split, "label": named[labels], "predicted": found})
        frames.append(pd.concat([head, probability_frame(shares, names)], axis=1))
    return pd.concat(frames, ignore_index=True)


def class_values(names: Sequence[str]) -> NDArray[Any]:
    """Names of classes as a column of a table holds them: False and True as truth values."""
    if sorted(names) == ["False", "True"]:
        return np.array([name == "True" for name in names])
    return np.array(names, dtype=object)


def probability_frame(shares: NDArray[np.float64], names: Sequence[str]) -> pd.DataFrame:
    """One column `p_CLASS` per class."""
    return pd.DataFrame(shares, columns=[f"p_{name}" for name in names])
