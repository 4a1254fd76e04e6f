"""Fit everything a run consists of: ridge, network, their weight, and the intervals."""

import dataclasses
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multiway.data import Windows
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.conformal import fit_radii, measure_coverage
from multiway.tasks.forecasting.evaluation import Errors, batches, measure, score_rows
from multiway.tasks.forecasting.floor import Floor, fit_floor
from multiway.tasks.forecasting.model import RidgeAndNetwork
from multiway.tasks.forecasting.prepared import Prepared
from multiway.tasks.forecasting.selection import Selection, select_blend
from multiway.training import LOSSES, Batch, History, RunFolder, seed_everything, train


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fitted:
    """A fitted model and what was measured on the way."""

    model: RidgeAndNetwork
    floor: Floor
    selection: Selection | None
    history: History | None
    radii: Tensor
    scores: list[dict[str, Any]]
    errors: dict[str, dict[str, Errors]]
    coverage: list[dict[str, Any]]
    seconds: dict[str, float]


class WindowLoss:
    """Loss of a forecaster on a batch of windows."""

    def __init__(self, name: str) -> None:
        self.loss = LOSSES[name]

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over observed cells, and their number."""
        forecast = model(batch["past"], batch.get("past_observed"))
        return self.loss(forecast, batch["future"], batch.get("future_observed"))


def fit(prepared: Prepared, config: ForecastConfig, *, run: RunFolder | None = None, progress: bool = False) -> Fitted:
    """Fit ridge, train the network, let validation weigh them, calibrate intervals, then read the test rows once."""
    clock, seconds = time.perf_counter(), {}
    windows = prepared.windows
    floor = fit_floor(windows["train"], windows["validation"])
    model = build_model(prepared, config, floor)
    model.floor.set_weight(floor.weight)
    seconds["ridge"], clock = time.perf_counter() - clock, time.perf_counter()
    history = None if model.network is None else _train(model, floor, windows, config, run, progress)
    seconds["network"] = time.perf_counter() - clock
    return _weigh_and_score(prepared, config, model, floor, history, seconds)


def score_again(
    prepared: Prepared, config: ForecastConfig, model: RidgeAndNetwork, seconds: dict[str, float]
) -> Fitted:
    """Weigh, calibrate and score a model whose network was changed after its training, which took `seconds`."""
    floor = fit_floor(prepared.windows["train"], prepared.windows["validation"])
    return _weigh_and_score(prepared, config, model, floor, None, dict(seconds))


def _weigh_and_score(
    prepared: Prepared,
    config: ForecastConfig,
    model: RidgeAndNetwork,
    floor: Floor,
    history: History | None,
    seconds: dict[str, float],
) -> Fitted:
    clock, windows, scaler = time.perf_counter(), prepared.windows, prepared.scaler
    model.eval()
    selection = None if model.network is None else choose(model, windows["validation"], config)
    model.weight.fill_(0.0 if selection is None else selection.weight)
    radii = fit_radii(windows["validation"], model, config.levels)
    errors = {split: measure(windows[split], model.all_forecasts, scaler) for split in ("validation", "test")}
    inside, width = measure_coverage(windows["test"], model, radii)
    seconds["evaluation"] = time.perf_counter() - clock
    return Fitted(
        model=model,
        floor=floor,
        selection=selection,
        history=history,
        radii=radii,
        scores=[row for split in errors for row in score_rows(errors[split], split, scaler, prepared.mase_scale)],
        errors=errors,
        coverage=[
            {
                "level": level,
                "actual": float(inside[i].mean() * 100),
                "width": float(width[i]),
                "by_step": (inside[i] * 100).tolist(),
            }
            for i, level in enumerate(config.levels)
        ],
        seconds=seconds,
    )


def build_model(prepared: Prepared, config: ForecastConfig, floor: Floor) -> RidgeAndNetwork:
    """Draw a model of the right sizes, its network seeded."""
    count = prepared.panel.num_variates
    network = config.network_config(count) if config.network else None
    seed_everything(config.training.seed)
    return RidgeAndNetwork(config.lookback, config.horizon, prepared.season, 1 if floor.shared else count, network)


def _train(
    model: RidgeAndNetwork,
    floor: Floor,
    windows: dict[str, Windows],
    config: ForecastConfig,
    run: RunFolder | None,
    progress: bool,
) -> History:
    network = model.network
    assert network is not None
    if network.floor is not None:
        network.set_floor(floor.weight)
    history = train(
        network,
        WindowLoss(config.training.loss),
        windows["train"],
        windows["validation"],
        config.training,
        validation_objective=WindowLoss(config.training.validation_loss or config.training.loss),
        run=run,
        progress=progress,
    )
    network.to("cpu")
    return history


@torch.no_grad()
def choose(model: RidgeAndNetwork, windows: Windows, config: ForecastConfig) -> Selection:
    """Weigh ridge and network by their squared errors on validation windows, or as the config decides."""
    assert model.network is not None
    parts: list[Tensor] = []
    for _, batch in batches(windows):
        past, seen, target = batch["past"], batch.get("past_observed"), batch["future"]
        keep = batch.get("future_observed", torch.ones_like(target, dtype=torch.bool))
        ridge, network = (
            torch.where(keep, forecast - target, 0).double()
            for forecast in (model.ridge(past, seen), model.network(past, seen))
        )
        count = keep.sum((1, 2))
        sums = torch.stack(
            [(left * right).sum((1, 2)) for left, right in ((ridge, ridge), (ridge, network), (network, network))]
        )
        parts.append((sums / count.clamp_min(1))[:, count > 0])
    a, b, c = torch.cat(parts, 1).numpy()
    selection = select_blend(a, b, c, block=config.lookback + config.horizon)
    if config.selection == "auto":
        return selection
    weight = 1.0 if config.selection == "network" else 0.0
    error = selection.network_error if weight else selection.floor_error
    return dataclasses.replace(selection, weight=weight, blend_error=error)


def sentence(selection: Selection | None) -> str:
    """Which forecast was chosen and by how much, in one sentence."""
    if selection is None:
        return "ridge: no network was trained."
    s = selection
    optimum = f"{s.optimum:.2f}" + (f" ± {s.deviation:.2f}" if np.isfinite(s.deviation) else "")
    evidence = (
        f"validation MSE ridge {s.floor_error:.4f}, network {s.network_error:.4f}; best share of the network {optimum} "
        f"over {s.blocks} independent block{'s' if s.blocks != 1 else ''}"
    )
    if s.choice == "floor":
        return f"ridge: validation does not show that the network adds to it ({evidence})."
    gain = 100 * (1 - s.blend_error / s.floor_error) if s.floor_error > 0 else 0.0
    side = "below" if gain >= 0 else "above"
    what = "the network" if s.choice == "network" else f"a blend of {s.weight:.0%} network and {1 - s.weight:.0%} ridge"
    return f"{what}, {abs(gain):.1f} % {side} ridge on validation ({evidence}, chosen {s.blend_error:.4f})."
