"""A target that is a class or a number: the loss, outputs and scores of every task that has one."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.series.scaling import Scaler
from multiway.metrics import resampling
from multiway.metrics.classes import predicted_classes
from multiway.tasks import classes, regression
from multiway.tasks.protocol import Metric, Row
from multiway.training import LOSSES, Batch, TrainingConfig
from multiway.training.class_losses import ClassLoss

WORDS = {"logistic": "logistic regression", "ridge": "ridge regression", "trees": "boosted trees"}
CLASSES = (
    Metric(name="acc", title="ACC", spread=True),
    Metric(name="auc", title="AUC", spread=True),
    Metric(name="balanced_accuracy", title="Balanced accuracy"),
    Metric(name="ece", title="ECE", higher=False),
)
MORE = {
    "f1": Metric(name="f1", title="F1 (macro)", spread=True),
    "weighted_f1": Metric(name="weighted_f1", title="F1 (weighted)", spread=True),
    "top5": Metric(name="top5", title="ACC of five", spread=True),
    "hard_auc": Metric(name="hard_auc", title="AUC of hard answers", spread=True),
}
"""Metrics of classes that some tasks have beside the usual ones."""
METRICS = (*CLASSES, *regression.METRICS)
"""Of classes, then of numbers; a run has those of its target."""

Outputs = Mapping[str, NDArray[np.float64]]
"""By model: class probabilities `(samples, classes)`, or numbers `(samples,)`."""
Names = Sequence[str] | None
"""Of the classes; None where the target is a number."""


class TargetLoss:
    """Cross-entropy of the batch's `target`, or the training's loss of scaled numbers."""

    def __init__(self, training: TrainingConfig, names: Names, labels: NDArray[Any]) -> None:
        self.training = training
        weights = None if names is None else classes.class_weights(labels, len(names), training)
        self.of_classes = None if names is None else ClassLoss(weights, training.label_smoothing)

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the samples, and their number; weights and smoothing are for training alone."""
        if self.of_classes is not None:
            return self.of_classes(model, batch)
        return LOSSES[self.training.loss](model(batch["inputs"])[:, 0], batch["target"], None)


def decoded(raw: Tensor, scaler: Scaler | None) -> NDArray[np.float64]:
    """Probabilities of classes by their logits, one of which stands for two classes; scaled numbers in their units."""
    if scaler is not None:
        return scaler.inverse(raw.numpy())[:, 0]
    logits = torch.cat([torch.zeros_like(raw), raw], dim=1) if raw.shape[1] == 1 else raw
    return np.asarray(logits.softmax(1).numpy())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predictions:
    """What the models say of samples.

    samples: Columns that name each sample: {"row": ...}.
    names: Of the classes; None where the target is a number.
    truth: Positions of classes, or numbers.
    outputs: By model.
    groups: Group of each sample, such as a patient, where they are known.
    metrics: Of classes.
    """

    samples: Mapping[str, Sequence[Any]]
    names: Names
    truth: NDArray[Any]
    outputs: Outputs
    groups: Sequence[str] | None = None
    metrics: Sequence[Metric] = CLASSES

    def scores(self, split: str, draws: int) -> list[Row]:
        """A row per model and metric: value, and its 95 % interval over samples, or over groups."""
        units = None if self.groups is None else np.array(self.groups, dtype=str)
        functions = metrics_of(self.names, self.metrics)
        return resampling.model_rows(functions, self.truth, self.outputs, split, units=units, draws=draws)

    def frame(self, split: str) -> pd.DataFrame:
        """Sample, model, split, label or number, and the answer."""
        if self.names is not None:
            return classes.prediction_frame(self.samples, self.truth, self.outputs, split, self.names)
        return regression.prediction_frame(self.samples, self.truth, self.outputs, split)


def metrics_of(names: Names, chosen: Sequence[Metric] = CLASSES) -> dict[str, resampling.Metric]:
    """Functions of the chosen metrics of classes, or errors of numbers."""
    if names is None:
        return regression.NUMBERS
    known = {**classes.class_metrics(), **classes.more_metrics()}
    return {metric.name: known[metric.name] for metric in chosen}


def answers(predicted: NDArray[np.float64], names: Names) -> pd.DataFrame:
    """Class and probability of each, or the number."""
    if names is None:
        return pd.DataFrame({"predicted": predicted})
    named = classes.class_values(names)[predicted_classes(predicted)]
    return pd.concat([pd.DataFrame({"predicted": named}), classes.probability_frame(predicted, names)], axis=1)
