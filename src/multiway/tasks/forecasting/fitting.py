"""Fit ridge and network, then let validation decide their weight and the radii of the intervals."""

from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data import Windows
from multiway.models import HOTForecaster, OLinear, create_model
from multiway.models.mean_of_networks import MeanOfNetworks, members_of
from multiway.models.ridge_and_network import RidgeAndNetwork
from multiway.models.window_baselines import Baseline as WindowBaselineName
from multiway.models.window_baselines import WindowBaseline
from multiway.ops import Selection
from multiway.tasks.forecasting.bases import step_bases
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.conformal import fit_radii
from multiway.tasks.forecasting.out_of_time import out_of_time_errors
from multiway.tasks.forecasting.prepared import Prepared
from multiway.tasks.forecasting.selection import choose, facts_of
from multiway.tasks.protocol import Context, Row
from multiway.training import LOSSES, Batch, History, TrainingConfig, train


class WindowLoss:
    """Loss of a forecaster on a batch of windows: the mean over horizons of the mean error of their first steps.

    A forecaster may answer several times, one batch after another; the loss is the mean over its answers.

    horizons: Whose errors weigh alike; all steps if not given.
    """

    def __init__(self, name: str, horizons: Sequence[int] = ()) -> None:
        self.loss = LOSSES[name]
        self.horizons = horizons

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over observed cells, and their number."""
        forecast = model(batch["past"], batch.get("past_observed"))
        target, seen = (_for_each_answer(batch.get(name), forecast) for name in ("future", "future_observed"))
        assert target is not None
        if not self.horizons:
            return self.loss(forecast, target, seen)
        shares = [target.shape[1] / (steps * len(self.horizons)) for steps in self.horizons]
        parts = [
            self.loss(forecast[:, :steps], target[:, :steps], None if seen is None else seen[:, :steps])
            for steps in self.horizons
        ]
        total, count = (
            torch.stack([share * part for share, part in zip(shares, each, strict=True)]).sum()
            for each in zip(*parts, strict=True)
        )
        return total, count


def _for_each_answer(cells: Tensor | None, forecast: Tensor) -> Tensor | None:
    """The cells of a batch, as often as it was answered."""
    if cells is None or len(cells) == len(forecast):
        return cells
    return cells.repeat(len(forecast) // len(cells), 1, 1)


def fit(model: RidgeAndNetwork, prepared: Prepared, config: ForecastConfig, context: Context) -> History | None:
    """Take over ridge in closed form and train the network, where there is one."""
    model.floor.set_weight(prepared.floor.weight)
    if model.network is None:
        return None
    history = train_on_windows(model.network, prepared, config.training, context, config.horizons)
    for member in members_of(model.network):
        _place_young(member, prepared.windows["train"].never_observed)
    return history


def build_baseline(name: str, config: ForecastConfig, num_variates: int) -> nn.Module:
    """A baseline of the config by its name."""
    sizes = {"num_variates": num_variates, "lookback": config.lookback, "horizon": config.horizon}
    if name in get_args(WindowBaselineName):
        return WindowBaseline(name, num_targets=config.num_targets, **sizes)  # type: ignore[arg-type]
    return create_model(name, **sizes)


def build_network(config: ForecastConfig, num_variates: int) -> Any:
    """The network of the config, or several that start apart and forecast by their mean: one kind, then its partner."""
    kinds = [kind for kind in config.kinds(num_variates) for _ in range(config.members)]
    networks = [create_model(name, **fields) for name, fields in kinds]
    return networks[0] if len(networks) == 1 else MeanOfNetworks(networks)


def fit_baseline(
    model: nn.Module, prepared: Prepared, config: ForecastConfig, context: Context
) -> History | Row | None:
    """Train a baseline, or fit it in closed form."""
    if not isinstance(model, WindowBaseline):
        return train_on_windows(model, prepared, config.peer_training, context, config.horizons)
    return model.fit(*_examples(model, prepared.windows["train"]), *_examples(model, prepared.windows["validation"]))


def _examples(model: WindowBaseline, windows: Windows) -> tuple[Tensor, Tensor]:
    """Features and flat targets of all windows whose targets are there."""
    batch = windows.gather(torch.arange(len(windows)))
    future, seen = batch["future"].flatten(1), batch.get("future_observed")
    keep = torch.ones(len(future), dtype=torch.bool) if seen is None else seen.flatten(1).all(1)
    return model.features(batch["past"], batch.get("past_observed"))[keep], future[keep]


def train_on_windows(
    model: nn.Module,
    prepared: Prepared,
    training: TrainingConfig,
    context: Context,
    horizons: Sequence[int] = (),
    watch: Callable[[nn.Module], dict[str, list[float]]] | None = None,
) -> History:
    """Train a forecaster; validation keeps its best weights. `horizons` and `watch` as of `WindowLoss` and `train`."""
    for member in members_of(model):
        _set_from_training(member, prepared)
    return train(
        model,
        WindowLoss(training.loss, horizons),
        prepared.windows["train"],
        prepared.windows["validation"],
        training,
        validation_objective=WindowLoss(training.validation_loss or training.loss, horizons),
        watch=watch,
        run=context.folder,
        progress=context.progress,
    )


def _set_from_training(model: nn.Module, prepared: Prepared) -> None:
    """What a forecaster takes from the training windows in closed form, before any step."""
    if isinstance(model, HOTForecaster) and model.floor is not None:
        model.set_floor(prepared.floor.weight)
    if isinstance(model, OLinear):
        model.set_bases(step_bases(prepared.windows["train"]))


def _place_young(model: nn.Module, young: Tensor) -> None:
    """Give variates that were never seen in training a place among the others."""
    if isinstance(model, HOTForecaster):
        _place_among_others(model.variates, young)
    if isinstance(model, OLinear):
        model.set_apart(young)


@torch.no_grad()
def _place_among_others(vectors: Tensor | None, young: Tensor) -> None:
    """Variates that were never seen in training get the mean of the vectors that were learnt."""
    if vectors is not None and young.any():
        vectors[young] = vectors[~young].mean(0)


def calibrate(model: RidgeAndNetwork, prepared: Prepared, config: ForecastConfig) -> tuple[Tensor, Row]:
    """Set the network's weight in each step; radii of the intervals, and what was chosen and on how much."""
    training, validation = prepared.windows["train"].of_targets(), prepared.windows["validation"]
    selection = None if model.network is None else choose(model, validation, config)
    model.weight.copy_(torch.zeros(config.horizon) if selection is None else torch.from_numpy(selection.weights))

    def earlier() -> NDArray[np.float32]:
        """Errors of ridge, as much larger as ours are on validation; none that are smaller."""
        errors = out_of_time_errors(training, prepared.floor)
        return errors if selection is None else errors * np.float32(_excess(selection))

    radii = fit_radii(validation, model, config.levels, earlier if training.chosen is None else None)
    facts = {**facts_of(selection), "ridge": prepared.floor.facts()}
    learnt = ~training.never_observed
    few = radii.by_student[..., learnt].double().mean((1, 2)).tolist()
    return radii.values, {"selection": facts, "intervals": {"windows": len(validation), "by_student": few}}


def _excess(selection: Selection) -> float:
    return max(1.0, selection.blend_error / selection.floor_error) ** 0.5 if selection.floor_error > 0 else 1.0
