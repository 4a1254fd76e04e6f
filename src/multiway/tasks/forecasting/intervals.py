"""Quantiles around a forecast, from its errors out of time: for any level, in either form, and never crossing."""

import bisect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway import ops
from multiway.errors import ConfigError, Fix, end_sentence
from multiway.metrics.quantiles import TENTHS, pinball_errors
from multiway.tasks.forecasting.held_out import Stretch, errors_of
from multiway.tasks.forecasting.widths import (
    RecentErrors,
    features_ahead,
    half_life,
    in_widths,
    mean_sizes,
    of_covariates,
    of_network,
    slopes_of_covariates,
    usual_of_network,
)
from multiway.tasks.forecasting.windows import inputs_of
from multiway.tasks.options import check_percentages
from multiway.tasks.protocol import OURS

Errors = NDArray[np.float32]
LEVELS = (20.0, 40.0, 50.0, 60.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.9)
"""Bands in percent that every run fits, between which lie those of any other level."""
OF_TENTHS = (20.0, 40.0, 60.0, 80.0)
"""Those whose edges, with the median, are the tenths that every model is scored by."""
SHARES, OFFSETS, USUAL, SPREAD, SLOPES = "shares", "offsets", "usual", "spread", "slopes"
"""Of the answer's bands, in a stored run."""
TRIED = (*OF_TENTHS, 95.0)
"""Bands that widths are tried by: what a rare day changes lies in the tails."""
POWER = 0.5
"""Of the size of recent errors: bands go half of the way that it goes, in logarithms."""
CLOSE = 1e-9
"""Probabilities that differ by less are one."""
MAX_CELLS = 100_000_000
"""Of errors of all models that are held at once."""
FEWEST = 4
"""Horizons of later windows from which on it is tried whether the two tails differ."""

SURE = 2.0
"""Standard errors that they have to save to be told apart."""


class Bands(NamedTuple):
    """Quantiles of a model's errors.

    shares: `(quantiles,)` float64, rising: their probabilities.
    offsets: `(quantiles, horizon, variates)`, scaled: each quantile less the forecast; it never falls with the share.
    few: Whether a level has a Student-t tail in a cell, `(levels, horizon, variates)`, where that is known.
    usual: Mean absolute errors that the offsets are for, `(variates,)`, of the series whose bands follow the size of
        recent ones; 0 for the others.
    spread: Mean distance of a network's quantiles from its forecast that the offsets are for, `(variates,)`, of the
        series whose bands are as wide as these say; 0 for the others.
    slopes: Of the logarithm of widths on what is known ahead, as in `of_covariates`, of the series whose bands are as
        wide as that says; 0 for the others.
    """

    shares: Tensor
    offsets: Tensor
    few: NDArray[np.bool_] | None = None
    usual: Tensor | None = None
    spread: Tensor | None = None
    slopes: Tensor | None = None

    @classmethod
    def fit(
        cls,
        errors: Errors,
        levels: Sequence[float],
        steps: int,
        starts: Sequence[int] = (),
        spread: Tensor | None = None,
        known: Tensor | None = None,
    ) -> Self:
        """From errors y - f, `(horizon, variates, windows)`, of windows of which `steps` have a part in common.

        Bands may follow the size of recent errors where the first rows of the windows are given; the distances of a
        network's quantiles, the `spread` `(2, windows, horizon, variates)`; and what is `known` ahead, `(windows,
        horizon, variates or 1, features)`.
        """
        rising, half = sorted({level / 100 for level in levels}), errors.shape[-1] // 2
        usual_spread = slopes = None
        if spread is not None:
            tried = of_network(spread, usual_of_network(spread[:, :half]))
            usual_spread = usual_of_network(spread) * _is_gain(errors, tried, steps)
            errors = _over(errors, of_network(spread, usual_spread))
        if known is not None:
            tried = of_covariates(known, slopes_of_covariates(errors[..., :half], known[:half], steps))
            slopes = slopes_of_covariates(errors, known, steps) * _is_gain(errors, tried, steps)
            errors = _over(errors, of_covariates(known, slopes))
        usual = _usual_of_following(errors, steps, starts)
        if usual.any():
            errors = errors / _relative(errors, starts, usual.numpy())
        offsets, few = _symmetric(errors, rising, steps), ops.is_too_few(errors, rising)
        apart = _tails_differ(errors, steps)
        if apart.any():
            offsets = np.where(apart, _each_tail(errors, rising, steps, offsets), offsets)
        shares = torch.tensor(_shares(rising), dtype=torch.float64)
        return cls(shares, torch.from_numpy(offsets), few, usual, usual_spread, slopes)

    @classmethod
    def stored(cls, calibration: Mapping[str, Tensor]) -> Self:
        """Of the answer of a run."""
        shares, offsets, *others = (calibration.get(name) for name in (SHARES, OFFSETS, USUAL, SPREAD, SLOPES))
        assert shares is not None and offsets is not None
        return cls(shares, offsets, None, *others)

    @property
    def follow(self) -> NDArray[np.bool_]:
        """Whether bands follow the size of recent errors, `(variates,)`."""
        if self.usual is None:
            return np.zeros(self.offsets.shape[-1], bool)
        return np.asarray(self.usual.numpy() > 0)

    @property
    def by_network(self) -> NDArray[np.bool_]:
        """Whether bands are as wide as a network says, `(variates,)`."""
        return np.zeros(self.offsets.shape[-1], bool) if self.spread is None else np.asarray(self.spread.numpy() > 0)

    @property
    def by_covariates(self) -> NDArray[np.bool_]:
        """Whether bands are as wide as covariates say, `(variates,)`."""
        if self.slopes is None:
            return np.zeros(self.offsets.shape[-1], bool)
        return np.asarray((self.slopes.numpy() != 0).any(0))

    @property
    def vary(self) -> bool:
        """Whether the bands of some series differ from window to window."""
        return bool((self.follow | self.by_network | self.by_covariates).any())

    def after(self, late: NDArray[np.int64]) -> Self:
        """Those of forecasts that begin so many steps earlier, `(variates,)`; beyond the last step its own."""
        if not late.any():
            return self
        horizon = self.offsets.shape[1]
        steps = (torch.arange(horizon)[:, None] + torch.from_numpy(late)).clamp_max(horizon - 1)
        return self._replace(offsets=self.offsets.gather(1, steps.expand_as(self.offsets)), few=None)

    def widths(self, spread: Callable[..., Tensor] | None, *inputs: Any) -> Tensor:
        """What offsets below and above forecasts are multiplied by, where a network is called for its `spread`.

        `(2, batch, horizon, variates)`, or 1 for all.
        """
        widths = torch.ones(2, 1, 1, 1)
        if spread is not None and self.spread is not None and self.by_network.any():
            widths = of_network(spread(*inputs), self.spread)
        known = features_ahead(inputs, *self.offsets.shape[1:])
        if self.slopes is not None and known is not None and self.by_covariates.any():
            widths = widths * of_covariates(known, self.slopes)
        return widths

    def recent(self, horizon: int, starts: Sequence[int]) -> RecentErrors:
        """The size of recent errors before any of some windows, by their first rows, has ended."""
        assert self.usual is not None
        return RecentErrors(self.usual.numpy(), horizon, half_life(horizon, starts))

    def factors(self, recent: NDArray[np.float64]) -> Tensor:
        """What the offsets are multiplied by, `(..., variates)`, where recent errors have some size."""
        assert self.usual is not None
        return torch.from_numpy(_factors(recent, self.usual.numpy())).float()

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
        return torch.stack([self._at(share) for share in shares]) if len(shares) else self.offsets[:0]

    def _at(self, share: float) -> Tensor:
        known, place = (list(map(NormalDist().inv_cdf, each)) for each in (self.shares.tolist(), [share]))
        above = min(max(bisect.bisect_left(known, place[0] - CLOSE), 1), len(known) - 1)
        part = (place[0] - known[above - 1]) / (known[above] - known[above - 1])
        return self.offsets[above - 1].lerp(self.offsets[above], min(max(part, 0.0), 1.0))

    def edges(self, levels: Sequence[float]) -> Tensor:
        """Offsets of the lower and upper edges of bands in percent, `(levels, 2, horizon, variates)`."""
        try:
            check_percentages(levels)
        except ValueError as error:
            raise ConfigError(end_sentence(f"predict: {error}")) from None
        shares = [share for level in levels for share in ((1 - level / 100) / 2, (1 + level / 100) / 2)]
        offsets: Tensor = self.at(shares).unflatten(0, (len(levels), 2))
        return offsets


def calibration_of(bands: Mapping[str, Bands]) -> dict[str, Tensor]:
    """What a run stores: the bands of the answer, and tenths of all models, which their scores are of."""
    own, tenths = bands[OURS], {name: each.at(TENTHS) for name, each in bands.items()}
    varying = ((USUAL, own.usual), (SPREAD, own.spread), (SLOPES, own.slopes))
    sizes = {name: each for name, each in varying if each is not None}
    return {SHARES: own.shares, OFFSETS: own.offsets, **sizes, **tenths}


def tenths_of(calibration: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Tenths of every model of a run."""
    others = (SHARES, OFFSETS, USUAL, SPREAD, SLOPES)
    yield from ((name, each) for name, each in calibration.items() if name not in others)


def fit_bands(parts: Sequence[Stretch], levels: Sequence[float], models: int = 1) -> dict[str, Bands]:
    """Bands of every forecast of these stretches, of the answer at more levels than of the others.

    Windows overlap, so those of a horizon count as two, and the future may be harder than what was seen; coverage is
    therefore measured. Where all errors of so many models would not fit into memory, every k-th window is used.
    """
    windows = parts[-1].windows
    cells = sum(len(part.windows) for part in parts) * windows.horizon * windows.all_targets
    stride = math.ceil(cells * models / MAX_CELLS)
    errors, steps = errors_of(parts, stride), math.ceil(windows.horizon / stride)
    starts = np.concatenate([part.windows.start_rows()[::stride] for part in parts]).tolist()
    every = {OURS: ((*LEVELS, *levels), steps, starts, spread_of(parts, stride), features_known(parts, stride))}
    return {name: Bands.fit(errors.pop(name), *every.get(name, (OF_TENTHS, steps))) for name in list(errors)}


@torch.no_grad()
def spread_of(parts: Sequence[Stretch], stride: int = 1) -> Tensor | None:
    """Distances of a network's quantiles of every k-th window, `(2, windows, horizon, variates)`; None without any."""
    found = [
        part.spread(*inputs_of(batch))
        for part in parts
        if part.spread is not None
        for batch in part.windows.batches(torch.arange(0, len(part.windows), stride))
    ]
    return torch.cat(found, 1) if found else None


def features_known(parts: Sequence[Stretch], stride: int = 1) -> Tensor | None:
    """What is known ahead of every k-th window, `(windows, horizon, variates or 1, features)`.

    None where nothing is, or where features of all would not fit into memory.
    """
    last, count = parts[-1].windows, sum(len(part.windows) for part in parts) // stride
    known = None if last.covariates is None else last.covariates.known
    if known is None or not known.shape[-1] or count * last.horizon * known[0].numel() > MAX_CELLS:
        return None
    found = [
        features_ahead(inputs_of(batch), last.horizon, last.num_targets)
        for part in parts
        for batch in part.windows.batches(torch.arange(0, len(part.windows), stride))
    ]
    return torch.cat([each for each in found if each is not None])


def _symmetric(errors: Errors, rising: Sequence[float], steps: int) -> Errors:
    """The forecast, and quantiles of absolute errors on either side of it, `(quantiles, horizon, variates)`.

    A cell with too few errors for the rank of a level has a Student-t tail. See `ops.conformal_radii` and
    `ops.student_radii`.
    """
    sizes = np.abs(errors)
    few, radii = ops.is_too_few(sizes, rising), ops.conformal_radii(sizes, rising, steps)
    if few.any():
        radii = np.where(few, np.maximum.accumulate(np.where(few, ops.student_radii(sizes, rising), radii)), radii)
    return np.concatenate([-radii[::-1], np.zeros_like(radii[:1]), radii])


def _each_tail(errors: Errors, rising: Sequence[float], steps: int, symmetric: Errors) -> Errors:
    """Quantiles of signed errors, each tail ranked for itself; where these are too few, those that are symmetric."""
    shares, count = [0.5, *((1 + level) / 2 for level in rising)], len(rising)
    sides = []
    for signed, other in ((-errors, -symmetric[count::-1]), (errors, symmetric[count:])):
        few = ops.is_too_few(signed, shares)
        sides.append(np.where(few, other, ops.conformal_radii(signed.copy(), shares, steps)))
    (below, *lower), (above, *upper) = sides
    middle = (above - below) / 2
    low, high = (np.maximum.accumulate([start, *side]) for start, side in ((-middle, lower), (middle, upper)))
    return np.concatenate([-low[:0:-1], high])


def _shares(rising: Sequence[float]) -> list[float]:
    """Probabilities of the edges of levels and of the median."""
    return [*((1 - level) / 2 for level in reversed(rising)), 0.5, *((1 + level) / 2 for level in rising)]


def _relative(errors: Errors, starts: Sequence[int], usual: NDArray[np.float64]) -> Errors:
    """Factors of the bands of each window by the size of the errors before it, `(variates, windows)`."""
    recent = RecentErrors(usual, len(errors), half_life(len(errors), starts))
    return _factors(recent.along(starts, mean_sizes(errors).T), usual).T.astype(np.float32)


def _factors(recent: NDArray[np.float64], usual: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for series without a usual size."""
    return np.divide(recent, usual, where=usual > 0, out=np.ones_like(recent)) ** POWER


def _is_gain(errors: Errors, widths: Tensor, steps: int) -> Tensor:
    """Series whose later bands lose less if they are as wide as the earlier windows say, `(variates,)`.

    Tried as in `_tails_differ`.
    """
    half, blocks = errors.shape[-1] // 2, _blocks(errors, steps)
    if blocks < FEWEST:
        return torch.zeros(errors.shape[1], dtype=torch.float64)
    past, later, tried = errors[..., :half], errors[..., half + steps :], [level / 100 for level in TRIED]
    own = _symmetric(_over(past, widths[:, :half]), tried, steps)
    fixed = _losses(later, _symmetric(past, tried, steps), tried)
    varying = _losses(later, own, tried, widths[:, half + steps :].movedim(1, -1).numpy())
    return torch.from_numpy(_is_less(varying, fixed, blocks)).double()


def _blocks(errors: Errors, steps: int) -> int:
    """Stretches of a horizon among the windows that are tried on."""
    return int(errors.shape[-1] - errors.shape[-1] // 2 - steps) // steps


def _over(errors: Errors, widths: Tensor) -> Errors:
    """Errors over widths `(2, windows, horizon, variates)`."""
    return in_widths(torch.from_numpy(errors), widths.movedim(1, -1)).numpy()


def _usual_of_following(errors: Errors, steps: int, starts: Sequence[int]) -> Tensor:
    """Mean absolute errors of the series whose later bands lose less if they follow recent errors; 0 for the others.

    Tried as in `_tails_differ`.
    """
    half, sizes = errors.shape[-1] // 2, mean_sizes(errors)
    whole, blocks = _means(sizes), _blocks(errors, steps)
    if blocks < FEWEST or not len(starts):
        return torch.zeros(whole.shape, dtype=torch.float64)
    relative = _relative(errors, starts, _means(sizes[:, :half]))
    past, later, tried = errors[..., :half], errors[..., half + steps :], [level / 100 for level in OF_TENTHS]
    early, late = relative[:, :half], relative[:, half + steps :]
    fixed = _losses(later, _symmetric(past, tried, steps), tried)
    follow = _losses(later / late, _symmetric(past / early, tried, steps), tried) * late
    return torch.from_numpy(np.where(_is_less(follow, fixed, blocks), whole, 0.0))


def _means(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over the windows in which there is an error; 0 without any."""
    return np.asarray(np.nansum(sizes, -1) / np.maximum((~np.isnan(sizes)).sum(-1), 1))


def _tails_differ(errors: Errors, steps: int) -> NDArray[np.bool_]:
    """Series whose later errors lose less by quantiles of each tail than by symmetric ones, `(variates,)`.

    Both are fitted on the earlier half of the windows, and tried on those of the later half that share no row with it.
    The first have to save two standard errors, over stretches of a horizon: neighbours are not independent.
    """
    half = errors.shape[-1] // 2
    later, blocks = errors[..., half + steps :], _blocks(errors, steps)
    if blocks < FEWEST:
        return np.zeros(errors.shape[1], bool)
    tried = [level / 100 for level in OF_TENTHS]
    both = _symmetric(errors[..., :half], tried, steps)
    forms = (both, _each_tail(errors[..., :half], tried, steps, both))
    losses = [_losses(later, offsets, tried) for offsets in forms]
    return _is_less(losses[1], losses[0], blocks)


def _is_less(one: NDArray[np.float64], other: NDArray[np.float64], blocks: int) -> NDArray[np.bool_]:
    """Series of which one loss is surely below another over so many blocks of windows, `(variates,)`."""
    gains = np.stack([part.mean(1) for part in np.array_split(other - one, blocks, axis=1)])
    return np.asarray(gains.mean(0) > SURE * gains.std(0, ddof=1) / blocks**0.5)


def _losses(
    errors: Errors, offsets: Errors, rising: Sequence[float], widths: Errors | None = None
) -> NDArray[np.float64]:
    """Pinball losses, `(variates, windows)`, summed over steps and quantiles, which `widths` are multiplied by."""
    losses = []
    for each, share in zip(offsets[..., None], _shares(rising), strict=True):
        level = each if widths is None else np.where(each < 0, each * widths[0], each * widths[1])
        losses.append(np.nansum(pinball_errors(errors, level[..., None], [share])[..., 0], 0))
    return np.asarray(np.sum(losses, 0))
