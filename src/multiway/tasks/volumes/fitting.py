"""Fit everything a run consists of: the network, the baselines beside it, thresholds; then read the test cases once."""

import dataclasses
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.data.volumes import VolumeBatches, augment, shape_transform
from multiway.metrics.classes import auc, youden_threshold
from multiway.models import create_model
from multiway.tasks.volumes.baselines import Logistic, Majority, fit_logistic, fit_majority
from multiway.tasks.volumes.config import NETWORKS, VolumeConfig
from multiway.tasks.volumes.evaluation import (
    all_probabilities,
    cases_of,
    evaluated,
    prediction_frame,
    score_rows,
)
from multiway.tasks.volumes.prepared import Prepared
from multiway.training import Batch, History, RunFolder, TrainingConfig, seed_everything, train

OURS = "multiway"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fitted:
    """Fitted models and what was measured on the way.

    models: The network under "multiway", then the baselines.
    thresholds: By model, of the positive one of two classes, chosen on validation.
    histories: By model, for those that are trained.
    facts: What is to be known of a baseline: its penalty.
    """

    models: dict[str, nn.Module]
    thresholds: dict[str, float | None]
    histories: dict[str, History]
    scores: list[dict[str, Any]]
    predictions: pd.DataFrame
    seconds: dict[str, float]
    facts: dict[str, Any]


class ClassLoss:
    """Cross-entropy of a batch of volumes; varied at random in training, plain and unweighted outside of it."""

    def __init__(self, config: VolumeConfig, training: TrainingConfig | None, weights: Tensor | None = None) -> None:
        self.config, self.training, self.weights = config, training, weights

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the cases, and their number or weight."""
        x, labels = batch["volume"], batch["label"]
        if self.training is None:
            loss = F.cross_entropy(model(evaluated(x, self.config)).float(), labels, reduction="sum")
            return loss, torch.tensor(float(len(labels)))
        x = augment(x, self.config.augment)
        if self.config.read.shape_transform:
            x = shape_transform(x, training=True)
        weights = None if self.weights is None else self.weights.to(labels.device)
        loss = F.cross_entropy(
            model(x).float(), labels, weights, label_smoothing=self.training.label_smoothing, reduction="sum"
        )
        return loss, torch.tensor(float(len(labels))) if weights is None else weights[labels].sum()


def fit(prepared: Prepared, config: VolumeConfig, *, run: RunFolder | None = None, progress: bool = False) -> Fitted:
    """Train, fit the baselines, choose thresholds on validation, then score validation and test."""
    models: dict[str, nn.Module] = {}
    histories: dict[str, History] = {}
    facts: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for name in (OURS, *config.baselines):
        clock = time.perf_counter()
        models[name] = _build(name, prepared, config)
        if name in (OURS, *NETWORKS):
            folder = run if run is None or name == OURS else run.part(name)
            if progress and name != OURS:
                print(f"training the baseline {name}", file=sys.stderr, flush=True)
            histories[name] = _train(models[name], prepared, config, name, folder, progress)
        elif name == "majority":
            models[name] = fit_majority(prepared.batches("train"), len(prepared.cases.classes))
        else:
            logistic = models[name]
            assert isinstance(logistic, Logistic)
            _, facts["logistic_penalty"] = fit_logistic(
                prepared.batches("train"), prepared.batches("validation"), logistic, config
            )
        seconds[name] = time.perf_counter() - clock
    return _scored(prepared, config, models, histories, seconds, facts)


def _scored(
    prepared: Prepared,
    config: VolumeConfig,
    models: dict[str, nn.Module],
    histories: dict[str, History],
    seconds: dict[str, float],
    facts: dict[str, Any],
) -> Fitted:
    clock, cases = time.perf_counter(), prepared.cases
    thresholds: dict[str, float | None] = {}
    scores, frames = [], []
    for split in ("validation", "test"):
        source, rows = prepared.batches(split), cases.indices(split)
        found = {name: all_probabilities(model, source, config) for name, model in models.items()}
        if split == "validation":
            thresholds = {name: youden_threshold(prepared.labels[rows], each) for name, each in found.items()}
        scored = cases_of(cases, rows, found)
        scores += score_rows(scored, split, thresholds, config.draws)
        frames.append(prediction_frame(scored, split, cases.classes))
    seconds["evaluation"] = time.perf_counter() - clock
    return Fitted(
        models={name: model.to("cpu") for name, model in models.items()},
        thresholds=thresholds,
        histories=histories,
        scores=scores,
        predictions=pd.concat(frames, ignore_index=True),
        seconds=seconds,
        facts=facts,
    )


def _build(name: str, prepared: Prepared, config: VolumeConfig) -> nn.Module:
    return build_model(name, config, prepared.sizes, prepared.channels, len(prepared.cases.classes))


def build_model(name: str, config: VolumeConfig, sizes: tuple[int, ...], channels: int, num_classes: int) -> nn.Module:
    """Draw the network, or a baseline, by its name in a run; seeded.

    Raises:
        ConfigError: It does not fit the data, or needs a package that is not installed.
    """
    if name == "majority":
        return Majority(num_classes)
    if name == "logistic":
        return Logistic(sizes, channels, num_classes)
    seed_everything(config.training.seed)
    if name == OURS:
        return create_model(config.model_name, **config.network_fields(sizes, channels, num_classes))
    return create_model(NETWORKS[name], sizes=sizes, in_channels=channels, num_classes=num_classes)


def check_models(prepared: Prepared, config: VolumeConfig) -> None:
    """Whether every model can be built on this data; nothing is allocated.

    Raises:
        ConfigError: One cannot.
    """
    with torch.device("meta"):
        for name in (OURS, *config.baselines):
            _build(name, prepared, config)


def _train(
    model: nn.Module, prepared: Prepared, config: VolumeConfig, name: str, run: RunFolder | None, progress: bool
) -> History:
    training = config.training if name == OURS else config.network_training
    source, validation = prepared.batches("train"), prepared.batches("validation")
    return train(
        model,
        ClassLoss(config, training, class_weights(prepared, training)),
        source,
        validation,
        training,
        validation_objective=ClassLoss(config, None),
        validation_score=validation_auc(prepared, validation, config),
        run=run,
        progress=progress,
    )


def class_weights(prepared: Prepared, training: TrainingConfig) -> Tensor | None:
    """Weights that make every class of the training cases count the same, 1 on average over the cases."""
    if training.class_weights == "none":
        return None
    labels = prepared.labels[prepared.cases.indices("train")]
    counts = np.bincount(labels, minlength=len(prepared.cases.classes))
    present = int((counts > 0).sum())
    return torch.tensor(len(labels) / (present * np.maximum(counts, 1)), dtype=torch.float32)


def validation_auc(
    prepared: Prepared, validation: VolumeBatches, config: VolumeConfig
) -> Callable[[nn.Module], float] | None:
    """The score that chooses the epoch, without reflections; None where validation lacks a class."""
    labels = prepared.labels[prepared.cases.indices("validation")]
    if len(np.unique(labels)) < len(prepared.cases.classes):
        return None
    plain = config.replace(evaluate_flips=False)

    def score(model: nn.Module) -> float:
        found = all_probabilities(model, validation, plain)
        value = auc(labels, found) if np.isfinite(found).all() else None
        return float("nan") if value is None else value

    return score
