"""Fit everything a run consists of: the network and the baselines beside it; then read the test days once."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.models import create_model
from multiway.tasks.stocks.beside import Baseline, fit_baselines
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.evaluation import metrics_of, predicted, prediction_frame, score_rows, scored
from multiway.tasks.stocks.inputs import NOT_ASKED, StockInputs, outputs_of
from multiway.tasks.stocks.prepared import Prepared
from multiway.tasks.stocks.quantiles import levels_of, pinball_terms
from multiway.tasks.stocks.scale import StockScale
from multiway.training import Batch, History, RunFolder, TrainingConfig, seed_everything, train

OURS = "multiway"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fitted:
    """A fitted network, the baselines, and what was measured on the way."""

    model: nn.Module
    history: History
    scores: list[dict[str, Any]]
    predictions: pd.DataFrame
    seconds: dict[str, float]
    facts: dict[str, Any]


class MovementLoss:
    """Cross-entropy, or the pinball of quantiles, of what is asked about; smoothed and weighted in training only."""

    def __init__(
        self,
        config: StockConfig,
        scale: StockScale,
        training: TrainingConfig | None = None,
        weights: Tensor | None = None,
    ) -> None:
        self.config, self.scale, self.weights = config, scale, weights
        self.smoothing = 0.0 if training is None else training.label_smoothing

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the movements asked about, and their number or weight."""
        outputs, asked = outputs_of(model, batch), batch["asked"]
        if self.config.target == "quantiles":
            returns = torch.where(asked, batch["returns"], 0)
            terms = pinball_terms(levels_of(outputs, self.scale), returns, self.config.quantiles)
            return torch.where(asked, terms, 0).sum() / self.scale.movement_spread, asked.sum()
        labels = batch["label"]
        weights = None if self.weights is None else self.weights.to(labels.device)
        loss = F.cross_entropy(
            outputs.flatten(0, 1),
            labels.flatten(),
            weights,
            ignore_index=NOT_ASKED,
            label_smoothing=self.smoothing,
            reduction="sum",
        )
        return loss, asked.sum() if weights is None else weights[labels[asked]].sum()


def fit(prepared: Prepared, config: StockConfig, *, run: RunFolder | None = None, progress: bool = False) -> Fitted:
    """Train, fit the baselines on the training days, then score validation and test."""
    clock = time.perf_counter()
    model = build_model(config, prepared)
    history = _train(model, prepared, config, run, progress)
    seconds = {OURS: time.perf_counter() - clock}
    clock = time.perf_counter()
    others, facts = fit_baselines(prepared, config)
    seconds["baselines"] = time.perf_counter() - clock
    return _scored(prepared, config, model, history, others, seconds, facts)


def _scored(
    prepared: Prepared,
    config: StockConfig,
    model: nn.Module,
    history: History,
    others: dict[str, Baseline],
    seconds: dict[str, float],
    facts: dict[str, Any],
) -> Fitted:
    clock, scores, frames = time.perf_counter(), [], []
    for split in ("validation", "test"):
        rows = prepared.samples.splits[split]
        found = {OURS: predicted(model, prepared.batches(split), config, prepared.scale)}
        found |= {name: other(prepared, rows) for name, other in others.items()}
        these = scored(prepared.samples, rows, prepared.asked, found)
        scores += score_rows(these, split, config)
        frames.append(prediction_frame(these, split, config))
    seconds["evaluation"] = time.perf_counter() - clock
    return Fitted(
        model=model.to("cpu"),
        history=history,
        scores=scores,
        predictions=pd.concat(frames, ignore_index=True),
        seconds=seconds,
        facts=facts,
    )


def build_model(config: StockConfig, prepared: Prepared) -> nn.Module:
    """Draw the network for this data; seeded.

    Raises:
        ConfigError: It does not fit the data.
    """
    return build_network(config, network_sizes(prepared))


def network_sizes(prepared: Prepared) -> dict[str, int | None]:
    """Arguments of `StockConfig.network_fields`."""
    samples = prepared.samples
    return {
        "stocks": len(samples.tickers),
        "slots": int(samples.slots.shape[1]),
        "price_features": len(samples.feature_names),
        "text_features": prepared.text_features,
    }


def build_network(config: StockConfig, sizes: dict[str, Any]) -> nn.Module:
    """Draw the network of these sizes; seeded."""
    seed_everything(config.training.seed)
    return create_model(config.model_name, **config.network_fields(**sizes))


def check_model(prepared: Prepared, config: StockConfig) -> None:
    """Whether the network can be built on this data; nothing is allocated.

    Raises:
        ConfigError: It cannot.
    """
    with torch.device("meta"):
        build_model(config, prepared)


def _train(model: nn.Module, prepared: Prepared, config: StockConfig, run: RunFolder | None, progress: bool) -> History:
    validation = prepared.batches("validation")
    return train(
        model,
        MovementLoss(config, prepared.scale, config.training, class_weights(prepared, config.training)),
        prepared.batches("train"),
        validation,
        config.training,
        validation_objective=MovementLoss(config, prepared.scale),
        validation_score=validation_score(prepared, validation, config),
        run=run,
        progress=progress,
    )


def class_weights(prepared: Prepared, training: TrainingConfig) -> Tensor | None:
    """Weights that make rises and falls of the training days count the same, 1 on average."""
    if training.class_weights == "none":
        return None
    rows = prepared.samples.splits["train"]
    counts = np.bincount(prepared.samples.labels[rows][prepared.asked[rows]], minlength=2)
    return torch.tensor(counts.sum() / (2 * np.maximum(counts, 1)), dtype=torch.float32)


def validation_score(
    prepared: Prepared, validation: StockInputs, config: StockConfig
) -> Callable[[nn.Module], float] | None:
    """The score that chooses the epoch, 0 where it is undefined; None where the loss chooses."""
    if config.select == "loss" or config.target == "quantiles":
        return None
    metric, rows = metrics_of(config)[config.select], prepared.samples.splits["validation"]

    def score(model: nn.Module) -> float:
        found = predicted(model, validation, config, prepared.scale)
        these = scored(prepared.samples, rows, prepared.asked, {OURS: found})
        return (metric(these.labels, these.found[OURS]) or 0.0) if np.isfinite(found).all() else float("nan")

    return score
