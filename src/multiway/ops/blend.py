"""Share of a second forecast in a blend with the first: what validation supports, with its uncertainty."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

SMALL = 0.05  # a weight this close to an end is that end: one model serves instead of two

FEW = 3
"""Blocks of which Student's t has no variance."""

EVEN = 0.5
"""The best share of one of two forecasts whose errors are alike."""

SKILL = 0.25
"""What the floor saves of the last value's error where the prior reaches `EVEN`."""

CLIMATES = 0.125
"""Variance of the best share from one stretch of time to the next."""

PREMIUM = 0.02
"""What a blend may cost on validation, as a part of the error of the better of the two."""

BANDS = 4
"""Parts of a horizon: its last half, the quarter before it, the eighth before that, and the first eighth."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """What validation says about mixing two forecasts of some steps, `(1 - weight) * floor + weight * network`.

    stop: The steps end before this one, and begin where those of the share before it end.
    weight: Share of the network in the forecast; 0 is the floor alone, 1 the network alone.
    prior: The share before validation compares the two.
    optimum: The share that minimises the validation error itself, not limited to [0, 1].
    deviation: Standard error of `optimum`; infinite when validation holds three independent blocks or fewer.
    blocks: Independent stretches of time that the validation windows amount to.
    """

    stop: int
    weight: float
    prior: float
    optimum: float
    deviation: float
    blocks: int


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Shares of the network, band by band of the horizon, and the errors over all steps."""

    shares: tuple[Share, ...]
    floor_error: float
    network_error: float
    blend_error: float

    @property
    def weights(self) -> NDArray[np.float64]:
        """The network's share in each step."""
        return np.repeat([share.weight for share in self.shares], np.diff([0, *(share.stop for share in self.shares)]))

    @property
    def weight(self) -> float:
        """The network's share, averaged over steps."""
        return float(self.weights.mean())

    @property
    def choice(self) -> str:
        """The word for the weights: "floor", "network" or "blend"."""
        return {0.0: "floor", 1.0: "network"}.get(self.weight, "blend")


def horizon_bands(horizon: int) -> tuple[int, ...]:
    """Where the bands of a horizon end: horizon / 8, / 4, / 2 and itself, rounded up; fewer where steps are."""
    return tuple(sorted({-(-horizon // 2**power) for power in range(BANDS)}))


def select_blend(
    floor_squares: NDArray[np.float64],
    products: NDArray[np.float64],
    network_squares: NDArray[np.float64],
    last_squares: NDArray[np.float64],
    counts: NDArray[np.float64],
    *,
    stops: tuple[int, ...],
    lookback: int,
) -> Selection:
    r"""Choose the network's share in each band of steps from squared errors on validation windows in the order of time.

    The blend's error is a parabola in its weight, with its lowest point at w* = sum n / sum d, where window t
    adds n = a - b and d = a - 2b + c. Neighbouring windows share almost all their rows, so the standard error
    of w* comes from sums over blocks that do not: s^2 = k/(k-1) * sum (N - w* D)^2 / (sum D)^2 over k blocks, times
    (k-1)/(k-3), the variance of Student's t, as few blocks also know little of s. Three or fewer tell nothing.

    Validation is one stretch of time, whose best share is not that of the next. So the share starts at a prior m and
    goes part of the way to w*:

    $$m = \min\left(\tfrac12, 2 - 2 \frac{\sum a}{\sum z}\right)_+, \qquad
      w = m + (w^* - m) \frac{m^2}{m^2 + s^2 + \tfrac18}$$

    Two forecasts of like errors are best halved; but where not even the floor beats the last value, the series wanders
    and what the network adds is noise. Last, w is moved as near to w* as it takes for a validation error that exceeds
    the floor's by two per cent at most; and the network's, but for two standard errors of w*.

    A network's gain fades with the step, and the first steps of a long forecast are tried on many more blocks than
    the last: the windows of a band that ends at step h share no row from block to block where a block is as long as
    the look-back and h. So every band has its own share.

    Args:
        floor_squares: a, `(windows, bands)`: the floor's squared errors, summed over observed cells.
        products: b, `(windows, bands)`: floor error times network error, summed alike.
        network_squares: c, `(windows, bands)`.
        last_squares: z, `(windows, bands)`: those of the last value, carried on.
        counts: Cells in each sum.
        stops: Where each band ends, in steps.
        lookback: Steps that a window sees.
    """
    squares = np.stack([floor_squares, products, network_squares, last_squares])
    shares = tuple(_share(squares[..., band], stop, lookback + stop) for band, stop in enumerate(stops))
    weights, cells = np.array([share.weight for share in shares]), max(1.0, float(counts.sum()))
    a, b, c, _ = squares.sum(1)
    blend = (1 - weights) ** 2 * a + 2 * weights * (1 - weights) * b + weights**2 * c
    floor_error, network_error, blend_error = (float(band.sum()) / cells for band in (a, c, blend))
    return Selection(shares=shares, floor_error=floor_error, network_error=network_error, blend_error=blend_error)


def _share(squares: NDArray[np.float64], stop: int, block: int) -> Share:
    """Find that of one band from a, b, c and z of its windows."""
    blocks = max(1, squares.shape[1] // block)
    a, b, c, _ = squares
    optimum, deviation = _ratio(_block_sums(a - b, blocks), _block_sums(a - 2.0 * b + c, blocks))
    floor, product, network, last = squares.sum(1).tolist()
    prior = EVEN * max(0.0, min(1.0, (1.0 - floor / last) / SKILL)) if last > 0.0 else 0.0
    reach = _reach(optimum, floor, network, floor - 2.0 * product + network)
    nearer = max(optimum - reach - 2.0 * deviation, min(optimum + reach, _drawn(prior, optimum, deviation)))
    weight = _snap(max(0.0, min(1.0, nearer)))
    return Share(stop=stop, weight=weight, prior=prior, optimum=optimum, deviation=deviation, blocks=blocks)


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


def _drawn(prior: float, optimum: float, deviation: float) -> float:
    """Part of the way from the prior to the optimum, the less the larger its deviation and the smaller the prior."""
    return prior + (optimum - prior) * prior**2 / (prior**2 + CLIMATES + deviation**2)


def _reach(optimum: float, floor: float, network: float, spread: float) -> float:
    """How far from the optimum the error, floor + spread (w^2 - 2 w optimum), is still within the premium."""
    if spread <= 0.0:
        return 0.0
    lowest = floor - spread * optimum**2
    return float(np.sqrt(max(0.0, (1.0 + PREMIUM) * min(floor, network) - lowest) / spread))


def _snap(weight: float) -> float:
    if weight < SMALL or weight > 1 - SMALL:
        return float(round(weight))
    return weight
