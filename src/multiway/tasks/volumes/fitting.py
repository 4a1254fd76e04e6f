"""How classifiers of volumes are built and fitted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multiway.data.volumes import PreparedVolumes, VolumeBatches, VolumeState, augment, shape_transform
from multiway.metrics.classes import auc
from multiway.models import create_model
from multiway.models.baselines import Majority
from multiway.models.pooled_logistic import PooledLogistic
from multiway.tasks.classes import class_loss, class_weights
from multiway.tasks.fitting import announce
from multiway.tasks.protocol import OURS, Context
from multiway.tasks.run import Run
from multiway.tasks.volumes.baselines import fit_pooled
from multiway.tasks.volumes.config import NETWORKS, VolumeConfig
from multiway.tasks.volumes.evaluation import all_probabilities, evaluated
from multiway.training import Batch, History, TrainingConfig, train


class ClassLoss:
    """Cross-entropy of a batch of volumes; varied at random in training, plain and unweighted outside of it."""

    def __init__(self, config: VolumeConfig, training: TrainingConfig | None, weights: Tensor | None = None) -> None:
        self.config, self.training, self.weights = config, training, weights

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the cases, and their number or weight."""
        x, labels = batch["volume"], batch["label"]
        if self.training is None:
            return class_loss(model(evaluated(x, self.config)), labels)
        x = augment(x, self.config.augment)
        if self.config.read.shape_transform:
            x = shape_transform(x, training=True)
        return class_loss(model(x), labels, self.weights, self.training.label_smoothing)


def build_model(config: VolumeConfig, state: VolumeState, name: str) -> nn.Module:
    """Draw the network, or a baseline, by its name in a run.

    Raises:
        ConfigError: It does not fit the data, or needs a package that is not installed.
    """
    num_classes = len(state.classes)
    if name == "majority":
        return Majority(num_classes)
    if name == "logistic":
        return PooledLogistic(state.sizes, state.channels, num_classes)
    if name == OURS:
        return create_model(config.model_name, **config.network_fields(state.sizes, state.channels, num_classes))
    return create_model(NETWORKS[name], sizes=state.sizes, in_channels=state.channels, num_classes=num_classes)


def fit_model(run: Run, name: str, prepared: PreparedVolumes, context: Context) -> History | dict[str, Any] | None:
    """Fit a model of a run: a network by steps, a baseline in closed form."""
    model, config = run.models[name], run.config
    labels = prepared.labels[prepared.cases.indices("train")]
    if isinstance(model, Majority):
        model.fit(torch.from_numpy(labels))
        return None
    training, validation = prepared.batches("train"), prepared.batches("validation")
    if isinstance(model, PooledLogistic):
        return fit_pooled(model, training, validation, config)
    announce(name, context)
    settings = config.training if name == OURS else config.network_training
    return train(
        model,
        ClassLoss(config, settings, class_weights(labels, len(run.state.classes), settings)),
        training,
        validation,
        settings,
        validation_objective=ClassLoss(config, None),
        validation_score=_auc_of(prepared, validation, config),
        run=context.folder,
        progress=context.progress,
    )


def _auc_of(
    prepared: PreparedVolumes, validation: VolumeBatches, config: VolumeConfig
) -> Callable[[nn.Module], float] | None:
    """The score that chooses the epoch, without reflections; None where validation lacks a class."""
    labels = prepared.labels[prepared.cases.indices("validation")]
    if len(np.unique(labels)) < len(prepared.cases.classes):
        return None
    plain = config.replace(evaluate_flips=False)

    def score(model: nn.Module) -> float:
        outputs = all_probabilities(model, validation, plain)
        value = auc(labels, outputs) if np.isfinite(outputs).all() else None
        return float("nan") if value is None else value

    return score
