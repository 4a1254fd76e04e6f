"""How the network and the baselines of a run of stocks are built and fitted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multiway.data.stocks.flat import num_inputs
from multiway.data.stocks.prepared import PreparedStocks, StockState
from multiway.data.stocks.scale import StockScale
from multiway.models import create_model
from multiway.tasks.classes import NO_TARGET, class_loss, class_weights
from multiway.tasks.protocol import OURS, Context
from multiway.tasks.stocks.arima import PriceArima
from multiway.tasks.stocks.baselines import Calendar, Majority, Previous, Random, TrainingQuantiles
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.evaluation import metrics_of, outputs_of, predicted
from multiway.tasks.stocks.logistic import Logistic
from multiway.training import Batch, History, TrainingConfig, train
from multiway.training.losses import pinball_terms

QUANTILES = "training_quantiles"
SIMPLE: dict[str, type[nn.Module]] = {"majority": Majority, "previous": Previous, "calendar": Calendar}


class MovementLoss:
    """Cross-entropy, or the pinball of quantiles, of the targets; smoothed and weighted in training only."""

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
        """Sum over the target movements, and their number or weight."""
        outputs, mask = outputs_of(model, batch), batch["target_mask"]
        if self.config.target == "quantiles":
            returns = torch.where(mask, batch["returns"], 0)
            terms = pinball_terms(self.scale.levels(outputs), returns, self.config.quantiles)
            return torch.where(mask, terms, 0).sum() / self.scale.movement_spread, mask.sum()
        labels = batch["label"].masked_fill(~mask, NO_TARGET)
        return class_loss(outputs, labels, self.weights, self.smoothing)


def build_model(config: StockConfig, state: StockState, name: str) -> nn.Module:
    """Draw the network, or a baseline, by its name in a run.

    Raises:
        ConfigError: It does not fit the data.
    """
    if name == OURS:
        return create_model(config.model_name, **config.network_fields(**state.sizes))
    if name == QUANTILES:
        return TrainingQuantiles(len(config.quantiles))
    if name == "random":
        return Random(config.training.seed)
    if name == "arima":
        return PriceArima(len(state.tickers))
    if name == "logistic":
        sizes = state.sizes
        return Logistic(num_inputs(sizes["slots"], sizes["price_features"], sizes["text_features"]))
    return SIMPLE[name]()


def fit_model(
    model: Any, name: str, prepared: PreparedStocks, config: StockConfig, context: Context
) -> History | dict[str, Any]:
    """Train the network, or fit a baseline on the training days."""
    if name != OURS:
        facts: dict[str, Any] = model.fit(prepared)
        return facts
    rows = prepared.samples.splits["train"]
    labels = prepared.samples.labels[rows][prepared.target_mask[rows]]
    return train(
        model,
        MovementLoss(config, prepared.scale, config.training, class_weights(labels, 2, config.training)),
        prepared.batches("train"),
        prepared.batches("validation"),
        config.training,
        validation_objective=MovementLoss(config, prepared.scale),
        validation_score=validation_score(prepared, config),
        run=context.folder,
        progress=context.progress,
    )


def validation_score(prepared: PreparedStocks, config: StockConfig) -> Callable[[nn.Module], float] | None:
    """The score that chooses the epoch, 0 where it is undefined; None where the loss chooses."""
    if config.select == "loss" or config.target == "quantiles":
        return None
    metric, rows = metrics_of(config)[config.select], prepared.samples.splits["validation"]
    inputs, mask = prepared.inputs(rows), prepared.target_mask[rows]
    labels = prepared.samples.labels[rows][mask].astype(np.int64)

    def score(model: nn.Module) -> float:
        rises = predicted(model, inputs, config, prepared.scale)
        return (metric(labels, rises[mask]) or 0.0) if np.isfinite(rises).all() else float("nan")

    return score
