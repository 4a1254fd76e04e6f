"""Share of a second forecast in a blend with the first: what validation supports, with its uncertainty."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

SMALL = 0.05  # a weight this close to an end is that end: one model serves instead of two

FEW = 3
"""Blocks of which Student's t has no variance."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What validation says about mixing two forecasts, `(1 - weight) * floor + weight * network`.

    weight: Share of the network in the forecast; 0 is the floor alone, 1 the network alone.
    optimum: The share that minimises the validation error itself, not limited to [0, 1].
    deviation: Standard error of `optimum`; infinite when validation holds three independent blocks or fewer.
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
    of w comes from sums over blocks that do not: s^2 = k/(k-1) * sum (N - w D)^2 / (sum D)^2 over k blocks, times
    (k-1)/(k-3), the variance of Student's t, as few blocks also know little of s. Three or fewer tell nothing.
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
    if blocks <= FEW:
        return weight, float("inf")
    residuals = gain - weight * spread
    return weight, float(np.sqrt(blocks / (blocks - FEW) * (residuals**2).sum()) / total)


def _shrunk(optimum: float, deviation: float) -> float:
    if optimum <= deviation:
        return 0.0
    return min(1.0, optimum * (1.0 - (deviation / optimum) ** 2))


def _snap(weight: float) -> float:
    if weight < SMALL or weight > 1 - SMALL:
        return float(round(weight))
    return weight
