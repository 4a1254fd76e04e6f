"""Fit ridge and network, then let validation decide their weight and the radii of the intervals."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.models.ridge_and_network import RidgeAndNetwork
from multiway.ops import Selection
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.conformal import fit_radii
from multiway.tasks.forecasting.out_of_time import out_of_time_errors
from multiway.tasks.forecasting.prepared import Prepared
from multiway.tasks.forecasting.selection import choose, facts_of
from multiway.tasks.protocol import Context, Row
from multiway.training import LOSSES, Batch, History, TrainingConfig, train


class WindowLoss:
    """Loss of a forecaster on a batch of windows."""

    def __init__(self, name: str) -> None:
        self.loss = LOSSES[name]

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over observed cells, and their number."""
        forecast = model(batch["past"], batch.get("past_observed"))
        return self.loss(forecast, batch["future"], batch.get("future_observed"))


def fit(model: RidgeAndNetwork, prepared: Prepared, config: ForecastConfig, context: Context) -> History | None:
    """Take over ridge in closed form and train the network, where there is one."""
    model.floor.set_weight(prepared.floor.weight)
    if model.network is None:
        return None
    if model.network.floor is not None:
        model.network.set_floor(prepared.floor.weight)
    history = train_on_windows(model.network, prepared, config.training, context)
    _place_among_others(model.network.variates, prepared.windows["train"].never_observed)
    return history


def train_on_windows(model: nn.Module, prepared: Prepared, training: TrainingConfig, context: Context) -> History:
    """Train a forecaster; validation keeps its best weights."""
    return train(
        model,
        WindowLoss(training.loss),
        prepared.windows["train"],
        prepared.windows["validation"],
        training,
        validation_objective=WindowLoss(training.validation_loss or training.loss),
        run=context.folder,
        progress=context.progress,
    )


@torch.no_grad()
def _place_among_others(vectors: Tensor | None, young: Tensor) -> None:
    """Variates that were never seen in training get the mean of the vectors that were learnt."""
    if vectors is not None and young.any():
        vectors[young] = vectors[~young].mean(0)


def calibrate(model: RidgeAndNetwork, prepared: Prepared, config: ForecastConfig) -> tuple[Tensor, Row]:
    """Set the network's weight in the forecast; radii of the intervals, and what was chosen and on how much."""
    validation = prepared.windows["validation"]
    selection = None if model.network is None else choose(model, validation, config)
    model.weight.fill_(0.0 if selection is None else selection.weight)

    def earlier() -> NDArray[np.float32]:
        """Errors of ridge, as much larger as ours are on validation; none that are smaller."""
        errors = out_of_time_errors(prepared.windows["train"], prepared.floor)
        return errors if selection is None else errors * np.float32(_excess(selection))

    radii = fit_radii(validation, model, config.levels, earlier)
    facts = {**facts_of(selection), "ridge": prepared.floor.facts()}
    learnt = ~prepared.windows["train"].never_observed
    few = radii.by_student[..., learnt].double().mean((1, 2)).tolist()
    return radii.values, {"selection": facts, "intervals": {"windows": len(validation), "by_student": few}}


def _excess(selection: Selection) -> float:
    return max(1.0, selection.blend_error / selection.floor_error) ** 0.5 if selection.floor_error > 0 else 1.0
