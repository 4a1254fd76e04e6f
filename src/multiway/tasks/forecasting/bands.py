"""Bands around a forecast, of any level or quantile, and how wide they are from window to window."""

import bisect
import collections
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.errors import ConfigError, Fix
from multiway.metrics.quantiles import TENTHS
from multiway.tasks.options import hold_levels
from multiway.tasks.protocol import OURS

Floats = NDArray[np.float64]
SHARES, OFFSETS, USUAL, SPREAD, SLOPES, RANKS = PARTS = ("shares", "offsets", "usual", "spread", "slopes", "ranks")
"""Of the answer's bands, in a stored run."""
POWER = 0.5
"""Of the size of recent errors: bands go half of the way that it goes, in logarithms."""
CLOSE = 1e-9
"""Probabilities that differ by less are one."""
HORIZONS, LEAST = 2, 24
"""After so many horizons, and at least so many rows, an error counts half."""
FLOOR = 0.2
"""The least of a size relative to the usual one."""
PRIOR, NARROW = 10.0, 0.9
"""Blocks of windows that the width counts for which classical models expect, and the part of it that is left."""
TAILS = 5.0
NARROWEST, WIDEST = 0.2, 20.0
"""Of widths relative to the usual one."""


def size_factors(recent: Floats, usual: Floats) -> Floats:
    """What bands are multiplied by where recent errors have some size; 1 for series without a usual size."""
    return np.divide(recent, usual, where=usual > 0, out=np.ones_like(recent)) ** POWER


def widths_by_network(spread: Tensor, usual: Tensor) -> Tensor:
    """Distances of quantiles below and above a forecast `(2, ..., variates)`, over the usual one; 1 where that is 0."""
    return torch.where(usual > 0, spread / usual, 1).clamp(NARROWEST, WIDEST).float()


def widths_by_covariates(known: Tensor, slopes: Tensor) -> Tensor:
    """Widths by what is known ahead of a step, `(..., variates or 1, features)`, on both sides, `(2, ..., variates)`.

    slopes: `(1 + features, variates)`, of the logarithm of a width; the first is its constant. Zeros are a width of 1.
    """
    start, rest = slopes[0], slopes[1:].to(known.dtype)
    alike = known.shape[-2] == 1
    logs: Tensor = start + (known.squeeze(-2) @ rest if alike else (known * rest.T).sum(-1))
    return logs.exp().clamp(NARROWEST, WIDEST).float().expand(2, *logs.shape)


def stretch(offsets: Tensor, widths: Tensor) -> Tensor:
    """Offsets times the width of their side, the first of which is that below."""
    low, high = widths
    return torch.where(offsets < 0, offsets * low, offsets * high)


def in_widths(errors: Tensor, widths: Tensor) -> Tensor:
    """Errors over the width of their side."""
    low, high = widths
    return errors / torch.where(errors < 0, low, high)


def features_ahead(inputs: tuple[Any, ...], horizon: int, variates: int) -> Tensor | None:
    """Features of the steps to forecast, of what a forecast is called with, `(batch, horizon, variates or 1, …)`."""
    covariates = inputs[2] if len(inputs) > 2 else None
    known = None if covariates is None else covariates.of_last(variates).known[:, -horizon:]
    return known if known is not None and known.shape[-1] else None


class RecentErrors:
    r"""Mean absolute errors of the windows that had ended before another starts, the later the heavier.

    $$s \leftarrow s + (1 - 2^{-1/h}) (|e| - s)$$

    usual: `(series,)`, the size before any window has ended.
    half_life: Windows after which an error counts half.
    """

    def __init__(self, usual: Floats, horizon: int, half_life: float) -> None:
        self.size, self.least = usual, FLOOR * usual
        self.horizon, self.rate = horizon, 1 - 0.5 ** (1 / half_life)
        self.open = collections.deque[tuple[int, Floats]]()

    def before(self, start: int) -> Floats:
        """Of the windows that had ended when one starts at a row, `(series,)`."""
        while self.open and self.open[0][0] + self.horizon <= start:
            ended = self.open.popleft()[1]
            self.size = self.size + self.rate * np.where(np.isnan(ended), 0.0, ended - self.size)
        return np.maximum(self.size, self.least)

    def add(self, starts: Sequence[int], errors: Floats) -> None:
        """Windows that come next in the order of time, `(windows, series)`; NaN is no error."""
        self.open.extend(zip(starts, errors, strict=True))

    def along(self, starts: Sequence[int], errors: Floats) -> Floats:
        """Before each of the next windows, `(windows, series)`, as they are added."""
        self.add(starts, errors)
        return np.stack([self.before(start) for start in starts])


def half_life(horizon: int, starts: Sequence[int]) -> float:
    """Windows, of which the first rows are given, after which an error counts half."""
    gap = (starts[-1] - starts[0]) / (len(starts) - 1) if len(starts) > 1 else 1
    return max(HORIZONS * horizon, LEAST) / max(gap, 1)


def mean_sizes(errors: NDArray[np.floating]) -> Floats:
    """Mean absolute errors over the steps, which are the first axis; NaN where none was observed."""
    total, count = np.zeros(errors.shape[1:]), np.zeros(errors.shape[1:], np.int64)
    for step in errors:  # one at a time, as there are many windows
        there = ~np.isnan(step)
        total, count = total + np.where(there, np.abs(step), 0), count + there
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


class Bands(NamedTuple):
    """Quantiles of a model's errors.

    shares: `(quantiles,)` float64, rising: their probabilities.
    offsets: `(quantiles, horizon, variates)`, scaled: each quantile less the forecast; it never falls with the share.
    few: Whether a level has a Student-t tail in a cell, `(levels, horizon, variates)`, where that is known.
    usual: Mean absolute errors that the offsets are for, `(variates,)`, of the series whose bands follow the size of
        recent ones; 0 for the others.
    spread: Mean distance of a network's quantiles from its forecast that the offsets are for, `(variates,)`, of the
        series whose bands are as wide as these say; 0 for the others.
    slopes: Of the logarithm of widths on what is known ahead, as in `widths_by_covariates`, of the series whose bands
        are as wide as that says; 0 for the others.
    ranks: Of the errors of each cell among some windows, `(windows, horizon, variates)`: how the errors of steps and of
        series go together.
    """

    shares: Tensor
    offsets: Tensor
    few: NDArray[np.bool_] | None = None
    usual: Tensor | None = None
    spread: Tensor | None = None
    slopes: Tensor | None = None
    ranks: Tensor | None = None

    @classmethod
    def read(cls, calibration: Mapping[str, Tensor]) -> Self:
        """Of the answer of a run."""
        shares, offsets, *others = map(calibration.get, PARTS)
        assert shares is not None and offsets is not None
        return cls(shares, offsets, None, *others)

    @property
    def causes(self) -> dict[str, NDArray[np.bool_]]:
        """Series whose bands differ from window to window, `(variates,)`, by what they follow."""
        none = np.zeros(self.offsets.shape[-1], bool)
        return {
            "following": none if self.usual is None else np.asarray(self.usual.numpy() > 0),
            "by_network": none if self.spread is None else np.asarray(self.spread.numpy() > 0),
            "by_covariates": none if self.slopes is None else np.asarray((self.slopes.numpy() != 0).any(0)),
        }

    @property
    def vary(self) -> bool:
        """Whether the bands of some series differ from window to window."""
        return any(series.any() for series in self.causes.values())

    def after(self, late: NDArray[np.int64]) -> Self:
        """Those of forecasts that begin so many steps earlier, `(variates,)`; beyond the last step its own."""
        if not late.any():
            return self
        horizon = self.offsets.shape[1]
        steps = (torch.arange(horizon)[:, None] + torch.from_numpy(late)).clamp_max(horizon - 1)
        return self._replace(offsets=self.offsets.gather(1, steps.expand_as(self.offsets)), few=None)

    def with_spread(self, spread: Tensor | None, blocks: float) -> Self:
        r"""Those of an answer whose models expect errors of some deviation, `(horizon, variates)`; 0 is not known.

        $$|o_p' - o_{1/2}| = |o_p - o_{1/2}|^{1 - w} \, (|z_p| \, \sigma)^w, \qquad w = \frac{P}{B + P}$$

        Errors of B blocks out of time know what the models leave out; the models know how errors grow with the step and
        how large they are by now, and count for P blocks. No band is less than `NARROW` w of the second. z are
        quantiles of Student's t, of `TAILS` degrees of freedom, in units in which those of 80 % are the normal's: the
        deviation itself changes.
        """
        if spread is None:
            return self
        from scipy.special import stdtrit  # takes longer to import than most of what is here

        share = PRIOR / (blocks + PRIOR)
        unit = NormalDist().inv_cdf(0.9) / stdtrit(TAILS, 0.9)
        z = torch.from_numpy(unit * stdtrit(TAILS, self.shares.numpy()))[:, None, None]
        middle, expected = self.offsets[len(self.shares) // 2].double(), z.abs() * spread
        sizes = (self.offsets - middle).abs() ** (1 - share) * expected**share
        mixed = middle + z.sign() * sizes.maximum(NARROW * share * expected)
        return self._replace(offsets=torch.where(spread > 0, mixed, self.offsets).to(self.offsets.dtype))

    def widths(self, spread: Callable[..., Tensor] | None, *inputs: Any) -> Tensor:
        """What offsets below and above forecasts are multiplied by, where a network is called for its `spread`.

        `(2, batch, horizon, variates)`, or 1 for all.
        """
        widths, causes = torch.ones(2, 1, 1, 1), self.causes
        if spread is not None and self.spread is not None and causes["by_network"].any():
            widths = widths_by_network(spread(*inputs), self.spread)
        known = features_ahead(inputs, *self.offsets.shape[1:])
        if self.slopes is not None and known is not None and causes["by_covariates"].any():
            widths = widths * widths_by_covariates(known, self.slopes)
        return widths

    def recent(self, horizon: int, starts: Sequence[int]) -> RecentErrors:
        """The size of recent errors before any of some windows, by their first rows, has ended."""
        assert self.usual is not None
        return RecentErrors(self.usual.numpy(), horizon, half_life(horizon, starts))

    def factors(self, recent: NDArray[np.float64]) -> Tensor:
        """What the offsets are multiplied by, `(..., variates)`, where recent errors have some size."""
        assert self.usual is not None
        return torch.from_numpy(size_factors(recent, self.usual.numpy())).float()

    def by_student(self, levels: Sequence[float], learnt: NDArray[np.bool_]) -> list[float]:
        """Share of the cells of some series whose bands of each level are Student's t."""
        assert self.few is not None
        upper = self.shares[len(self.few) + 1 :]
        places = [int((upper - (1 + level / 100) / 2).abs().argmin()) for level in levels]
        return [float(self.few[place][..., learnt].mean()) for place in places]

    def at(self, shares: Sequence[float]) -> Tensor:
        """Offsets at any probabilities, `(probabilities, horizon, variates)`, by lines in the normal quantile."""
        low, high = float(self.shares[0]), float(self.shares[-1])
        for share in shares:
            if not low - CLOSE <= share <= high + CLOSE:
                raise ConfigError(
                    f"predict: bands end at the level {100 * (high - low):g}, from quantile {low:g} to {high:g}. "
                    f"Got the quantile {share:g}. Choose others (",
                    Fix("levels", [80, 95]),
                    ").",
                )
        known, offsets = list(map(NormalDist().inv_cdf, self.shares.tolist())), []
        for share in shares:
            place = NormalDist().inv_cdf(share)
            above = min(max(bisect.bisect_left(known, place - CLOSE), 1), len(known) - 1)
            part = (place - known[above - 1]) / (known[above] - known[above - 1])
            offsets.append(self.offsets[above - 1].lerp(self.offsets[above], min(max(part, 0.0), 1.0)))
        return torch.stack(offsets) if offsets else self.offsets[:0]

    def draw(self, count: int, seed: int) -> Tensor:
        r"""Offsets of sample paths, `(count, horizon, variates)`.

        $$x_{hv} = Q_{hv}\left(\frac{r_{whv} + u}{W}\right)$$

        Q are the quantiles, r the ranks of one of W windows, and u is uniform, one number for a path. So each cell has
        the distribution of its bands, and steps and series go together as in the window (the Schaake shuffle of Clark
        et al. 2004).
        """
        assert self.ranks is not None
        generator, windows = torch.Generator().manual_seed(seed), len(self.ranks)
        rounds = [torch.randperm(windows, generator=generator) for _ in range(-(-count // windows))]
        within = torch.rand(count, 1, 1, generator=generator, dtype=torch.float64)
        places = torch.special.ndtri((self.ranks[torch.cat(rounds)[:count]] + within) / windows)
        known = torch.special.ndtri(self.shares)
        above = torch.searchsorted(known, places).clamp(1, len(known) - 1)
        part = ((places - known[above - 1]) / (known[above] - known[above - 1])).clamp(0, 1)
        low, high = (self.offsets.double().gather(0, place) for place in (above - 1, above))
        return low.lerp(high, part)

    def edges(self, levels: Sequence[float]) -> Tensor:
        """Offsets of the lower and upper edges of bands in percent, `(levels, 2, horizon, variates)`."""
        hold_levels("predict", levels)
        shares = [share for level in levels for share in ((1 - level / 100) / 2, (1 + level / 100) / 2)]
        offsets: Tensor = self.at(shares).unflatten(0, (len(levels), 2))
        return offsets


def calibration_of(bands: Mapping[str, Bands]) -> dict[str, Tensor]:
    """What a run stores: the bands of the answer, and tenths of all models, which their scores are of."""
    own, tenths = bands[OURS], {name: each.at(TENTHS) for name, each in bands.items()}
    varying = ((USUAL, own.usual), (SPREAD, own.spread), (SLOPES, own.slopes), (RANKS, own.ranks))
    sizes = {name: each for name, each in varying if each is not None}
    return {SHARES: own.shares, OFFSETS: own.offsets, **sizes, **tenths}
