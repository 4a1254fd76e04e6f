"""Ridge, network or a blend of both: the weights that validation supports, with their uncertainty."""

import dataclasses
import math

import torch
from torch import Tensor

from multiway import ops
from multiway.data import Windows
from multiway.models.ridge_and_network import RidgeAndNetwork
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.protocol import Row


@torch.no_grad()
def choose(model: RidgeAndNetwork, windows: Windows, config: ForecastConfig) -> ops.Selection:
    """Weigh ridge and network by their squared errors on validation windows, or as the config decides."""
    stops = ops.horizon_bands(config.horizon)
    parts = [_error_sums(model, batch, stops) for _, batch in windows.batches()]
    selection = ops.select_blend(*torch.cat(parts, 1).numpy(), stops=stops, lookback=config.lookback)
    return selection if config.selection == "auto" else _decided(selection, config.selection == "network")


def _decided(selection: ops.Selection, network: bool) -> ops.Selection:
    """All steps from one of the two."""
    shares = tuple(dataclasses.replace(share, weight=float(network)) for share in selection.shares)
    error = selection.network_error if network else selection.floor_error
    return dataclasses.replace(selection, shares=shares, blend_error=error)


def _error_sums(model: RidgeAndNetwork, batch: dict[str, Tensor], stops: tuple[int, ...]) -> Tensor:
    """Products a, b, c and z of the errors, summed over a window's observed cells, and cells: `(5, windows, bands)`."""
    target = batch["future"]
    keep = batch.get("future_observed", torch.ones_like(target, dtype=torch.bool))
    forecasts = model.all_forecasts(batch["past"], batch.get("past_observed"))
    floor, network, last = (
        torch.where(keep, forecasts[name] - target, 0).double() for name in ("ridge", "network", "naive")
    )
    products = [x * y for x, y in ((floor, floor), (floor, network), (network, network), (last, last))]
    by_step = torch.stack([each.sum(2) for each in (*products, keep.double())])
    return torch.stack([band.sum(2) for band in by_step.tensor_split(stops[:-1], 2)], 2)


def sentence(selection: ops.Selection | None) -> str:
    """Which forecast was chosen and by how much, in one sentence."""
    if selection is None:
        return "ridge: no network was trained."
    s = selection
    if s.choice == "floor":
        return f"ridge: validation does not show that the network adds to it ({_evidence(s)})."
    gain = 100 * (1 - s.blend_error / s.floor_error) if s.floor_error > 0 else 0.0
    side = "below" if gain >= 0 else "above"
    what = "the network" if s.choice == "network" else f"a blend (network {_mixture(s)})"
    return f"{what}, {abs(gain):.1f} % {side} ridge on validation ({_evidence(s)}, chosen {s.blend_error:.4f})."


def _mixture(s: ops.Selection) -> str:
    """The network's share: one, or from the first steps to the last."""
    if len({share.weight for share in s.shares}) == 1:
        return f"{s.weight:.0%}"
    return ", ".join(f"{share.weight:.0%} to step {share.stop}" for share in s.shares)


def _evidence(s: ops.Selection) -> str:
    blocks = s.shares[-1].blocks
    errors = f"validation MSE ridge {s.floor_error:.4f}, network {s.network_error:.4f}"
    return f"{errors}; {blocks} independent block{'s' if blocks != 1 else ''}"


def facts_of(selection: ops.Selection | None) -> Row:
    """A selection with its sentence, for JSON, which has no infinity."""
    if selection is None:
        return {"sentence": sentence(None)}
    fields = dataclasses.asdict(selection)
    shares = [{**share, "deviation": _finite(share["deviation"])} for share in fields.pop("shares")]
    return {"sentence": sentence(selection), "weight": selection.weight, "shares": shares, **fields}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
