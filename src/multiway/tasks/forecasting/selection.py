"""Ridge, network or a blend of both: the weight that validation supports, with its uncertainty."""

import dataclasses
import math

import torch
from torch import Tensor, nn

from multiway import ops
from multiway.data import Windows
from multiway.models.ridge_and_network import RidgeAndNetwork
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.protocol import Row


@torch.no_grad()
def choose(model: RidgeAndNetwork, windows: Windows, config: ForecastConfig) -> ops.Selection:
    """Weigh ridge and network by their squared errors on validation windows, or as the config decides."""
    assert model.network is not None
    parts = [_error_products(model, model.network, batch) for _, batch in windows.batches()]
    a, b, c = torch.cat(parts, 1).numpy()
    selection = ops.select_blend(a, b, c, block=config.lookback + config.horizon)
    if config.selection == "auto":
        return selection
    weight = 1.0 if config.selection == "network" else 0.0
    error = selection.network_error if weight else selection.floor_error
    return dataclasses.replace(selection, weight=weight, blend_error=error)


def _error_products(model: RidgeAndNetwork, network: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """Mean products a, b, c of the two errors, `(3, windows)`, of the windows that have a value to compare with."""
    past, seen, target = batch["past"], batch.get("past_observed"), batch["future"]
    keep = batch.get("future_observed", torch.ones_like(target, dtype=torch.bool))
    forecasts = (model.ridge(past, seen), network(past, seen))
    floor, other = (torch.where(keep, forecast - target, 0).double() for forecast in forecasts)
    count = keep.sum((1, 2))
    sums = torch.stack([(x * y).sum((1, 2)) for x, y in ((floor, floor), (floor, other), (other, other))])
    return (sums / count.clamp_min(1))[:, count > 0]


def sentence(selection: ops.Selection | None) -> str:
    """Which forecast was chosen and by how much, in one sentence."""
    if selection is None:
        return "ridge: no network was trained."
    s = selection
    if s.choice == "floor":
        return f"ridge: validation does not show that the network adds to it ({_evidence(s)})."
    gain = 100 * (1 - s.blend_error / s.floor_error) if s.floor_error > 0 else 0.0
    side = "below" if gain >= 0 else "above"
    what = "the network" if s.choice == "network" else f"a blend of {s.weight:.0%} network and {1 - s.weight:.0%} ridge"
    return f"{what}, {abs(gain):.1f} % {side} ridge on validation ({_evidence(s)}, chosen {s.blend_error:.4f})."


def _evidence(s: ops.Selection) -> str:
    optimum = f"{s.optimum:.2f}" + (f" ± {s.deviation:.2f}" if math.isfinite(s.deviation) else "")
    return (
        f"validation MSE ridge {s.floor_error:.4f}, network {s.network_error:.4f}; best share of the network {optimum} "
        f"over {s.blocks} independent block{'s' if s.blocks != 1 else ''}"
    )


def facts_of(selection: ops.Selection | None) -> Row:
    """A selection with its sentence, for JSON, which has no infinity."""
    fields = {} if selection is None else dataclasses.asdict(selection)
    finite = {name: value if math.isfinite(value) else None for name, value in fields.items()}
    return {"sentence": sentence(selection), **finite}
