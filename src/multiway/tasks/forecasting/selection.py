"""Ridge, network or a blend of both: the weight that validation supports, with its uncertainty."""

import dataclasses
import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data import Windows
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.evaluation import batches
from multiway.tasks.forecasting.model import RidgeAndNetwork
from multiway.tasks.protocol import Row

SMALL = 0.05  # a weight this close to an end is that end: one model serves instead of two


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What validation says about mixing two forecasts, `(1 - weight) * floor + weight * network`.

    weight: Share of the network in the forecast; 0 is the floor alone, 1 the network alone.
    optimum: The share that minimises the validation error itself, not limited to [0, 1].
    deviation: Standard error of `optimum`; infinite when one block holds all of validation.
    blocks: Independent stretches of time that the validation windows amount to.
    """

    weight: float
    optimum: float
    deviation: float
    blocks: int
    floor_error: float
    network_error: float
    blend_error: float

    @property
    def choice(self) -> str:
        """The word for the weight: "floor", "network" or "blend"."""
        return {0.0: "floor", 1.0: "network"}.get(self.weight, "blend")


def select_blend(
    floor_squares: NDArray[np.float64],
    products: NDArray[np.float64],
    network_squares: NDArray[np.float64],
    *,
    block: int,
) -> Selection:
    """Choose the network's share from squared errors on validation windows in the order of time.

    The blend's error is a parabola in its weight, with its lowest point at w = sum n / sum d, where window t
    adds n = a - b and d = a - 2b + c. Neighbouring windows share almost all their rows, so the standard error
    of w comes from sums over blocks that do not: s^2 = k/(k-1) * sum (N - w D)^2 / (sum D)^2 over k blocks.
    The network has to earn its share: w is shrunk towards the floor by the factor 1 - (s/w)^2, not below 0,
    which is the positive-part (James-Stein) estimate. Close to w where validation is sure, the floor alone
    where w is within one standard error of it.

    Args:
        floor_squares: a, `(windows,)`: the floor's squared error, averaged over steps and variates.
        products: b, `(windows,)`: floor error times network error, averaged alike.
        network_squares: c, `(windows,)`.
        block: Windows per block; at least lookback + horizon, so that blocks share only their edges.
    """
    gain = floor_squares - products
    spread = floor_squares - 2.0 * products + network_squares
    blocks = max(1, len(gain) // block)
    optimum, deviation = _ratio(_block_sums(gain, blocks), _block_sums(spread, blocks))
    weight = _snap(_shrunk(optimum, deviation))
    a, b, c = (float(np.mean(errors)) for errors in (floor_squares, products, network_squares))
    return Selection(
        weight=weight,
        optimum=optimum,
        deviation=deviation,
        blocks=blocks,
        floor_error=a,
        network_error=c,
        blend_error=(1 - weight) ** 2 * a + 2 * weight * (1 - weight) * b + weight**2 * c,
    )


def _block_sums(values: NDArray[np.float64], blocks: int) -> NDArray[np.float64]:
    return np.array([part.sum() for part in np.array_split(values, blocks)])


def _ratio(gain: NDArray[np.float64], spread: NDArray[np.float64]) -> tuple[float, float]:
    """Find the best weight and its standard error; where the forecasts are equal the floor will do."""
    total, blocks = float(spread.sum()), len(gain)
    if total <= 0.0:
        return 0.0, float("inf")
    weight = float(gain.sum()) / total
    if blocks < 2:
        return weight, float("inf")
    residuals = gain - weight * spread
    return weight, float(np.sqrt(blocks / (blocks - 1) * (residuals**2).sum()) / total)


def _shrunk(optimum: float, deviation: float) -> float:
    if optimum <= deviation:
        return 0.0
    return min(1.0, optimum * (1.0 - (deviation / optimum) ** 2))


def _snap(weight: float) -> float:
    if weight < SMALL or weight > 1 - SMALL:
        return float(round(weight))
    return weight


@torch.no_grad()
def choose(model: RidgeAndNetwork, windows: Windows, config: ForecastConfig) -> Selection:
    """Weigh ridge and network by their squared errors on validation windows, or as the config decides."""
    assert model.network is not None
    parts = [_error_products(model, model.network, batch) for _, batch in batches(windows)]
    a, b, c = torch.cat(parts, 1).numpy()
    selection = select_blend(a, b, c, block=config.lookback + config.horizon)
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


def sentence(selection: Selection | None) -> str:
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


def _evidence(s: Selection) -> str:
    optimum = f"{s.optimum:.2f}" + (f" ± {s.deviation:.2f}" if np.isfinite(s.deviation) else "")
    return (
        f"validation MSE ridge {s.floor_error:.4f}, network {s.network_error:.4f}; best share of the network {optimum} "
        f"over {s.blocks} independent block{'s' if s.blocks != 1 else ''}"
    )


def facts_of(selection: Selection | None) -> Row:
    """A selection with its sentence, for JSON, which has no infinity."""
    fields = {} if selection is None else dataclasses.asdict(selection)
    finite = {name: value if math.isfinite(value) else None for name, value in fields.items()}
    return {"sentence": sentence(selection), **finite}
