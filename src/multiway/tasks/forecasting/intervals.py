"""Bands of forecasts, fitted on their errors out of time."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway import ops
from multiway.metrics.quantiles import pinball_errors
from multiway.tasks.forecasting.bands import (
    Bands,
    RecentErrors,
    features_ahead,
    half_life,
    in_widths,
    mean_sizes,
    size_factors,
    widths_by_covariates,
    widths_by_network,
)
from multiway.tasks.forecasting.held_out import Stretch, errors_of
from multiway.tasks.forecasting.windows import inputs_of
from multiway.tasks.protocol import OURS

Errors = NDArray[np.float32]
LEVELS = (20.0, 40.0, 50.0, 60.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.9)
"""Bands in percent that every run fits, between which lie those of any other level."""
OF_TENTHS = (20.0, 40.0, 60.0, 80.0)
"""Those whose edges, with the median, are the tenths that every model is scored by."""
TRIED = (*OF_TENTHS, 95.0)
"""Bands that widths are tried by: what a rare day changes lies in the tails."""
MAX_CELLS = 100_000_000
"""Of errors of all models that are held at once."""
MAX_RANKED, MAX_RANKS = 100, 2_000_000
"""Windows whose errors are ranked for sample paths, and their cells."""
FEWEST = 4
"""Horizons of later windows from which on it is tried whether the two tails differ."""
SURE = 2.0
"""Standard errors that they have to save to be told apart."""


@torch.no_grad()
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
    count = sum(len(part.windows) for part in parts) // stride
    known: list[Tensor] | None = None
    if windows.covariates is not None and (features := windows.covariates.known[0].numel()):
        # features of all are left out where they would not fit into memory
        known = [] if count * windows.horizon * features <= MAX_CELLS else None
    spreads = list[Tensor]()
    for part in parts if known is not None or any(part.spread is not None for part in parts) else ():
        for batch in part.windows.batches(torch.arange(0, len(part.windows), stride)):
            inputs = inputs_of(batch)
            spreads += [] if part.spread is None else [part.spread(*inputs)]
            ahead = features_ahead(inputs, windows.horizon, windows.num_targets)
            if known is not None and ahead is not None:
                known.append(ahead)
    spread = torch.cat(spreads, 1) if spreads else None
    own = ((*LEVELS, *levels), steps, starts, spread, None if known is None else torch.cat(known))
    every = {OURS: own}
    ranks = rank_errors(errors[OURS], windows.all_targets) if OURS in errors else None
    bands = {name: bands_of_errors(errors.pop(name), *every.get(name, (OF_TENTHS, steps))) for name in list(errors)}
    return bands if ranks is None else {**bands, OURS: bands[OURS]._replace(ranks=ranks)}


def rank_errors(errors: Errors, series: int) -> Tensor:
    """Ranks of each cell's errors among some windows, evenly spread, `(windows, horizon, variates)`.

    An error that is not known counts as none.

    Args:
        errors: `(horizon, variates, windows)`.
        series: How many there are in all processes.
    """
    horizon, _, windows = errors.shape
    count = min(windows, MAX_RANKED, max(MAX_RANKS // (horizon * series), 1))
    some = np.nan_to_num(errors[..., np.linspace(0, windows - 1, count).round().astype(int)])
    return torch.from_numpy(some.argsort(-1, kind="stable").argsort(-1).astype(np.int16)).movedim(-1, 0).contiguous()


def bands_of_errors(
    errors: Errors,
    levels: Sequence[float],
    steps: int,
    starts: Sequence[int] = (),
    spread: Tensor | None = None,
    known: Tensor | None = None,
) -> Bands:
    """Bands from errors y - f, `(horizon, variates, windows)`, of windows of which `steps` have a part in common.

    They may follow the size of recent errors where the first rows of the windows are given; the distances of a
    network's quantiles, the `spread` `(2, windows, horizon, variates)`; and what is `known` ahead, `(windows,
    horizon, variates or 1, features)`.
    """
    rising, half = sorted({level / 100 for level in levels}), errors.shape[-1] // 2
    usual_spread = slopes = None
    if spread is not None:
        tried = widths_by_network(spread, spread[:, :half].double().mean((0, 1, 2)))
        usual_spread = spread.double().mean((0, 1, 2)) * _is_gain(errors, tried, steps)
        errors = _over(errors, widths_by_network(spread, usual_spread))
    if known is not None and half:  # the gain is judged on the later half
        tried = widths_by_covariates(known, slopes_of_covariates(errors[..., :half], known[:half], steps))
        slopes = slopes_of_covariates(errors, known, steps) * _is_gain(errors, tried, steps)
        errors = _over(errors, widths_by_covariates(known, slopes))
    usual = _usual_of_following(errors, steps, starts)
    if usual.any():
        errors = errors / _relative(errors, starts, usual.numpy())
    offsets, few = _symmetric(errors, rising, steps), ops.is_too_few(errors, rising)
    apart = _tails_differ(errors, steps)
    if apart.any():
        offsets = np.where(apart, _each_tail(errors, rising, steps, offsets), offsets)
    shares = torch.tensor(_shares(rising), dtype=torch.float64)
    return Bands(shares, torch.from_numpy(offsets), few, usual, usual_spread, slopes)


def no_narrower(bands: Bands, few: Mapping[int, NDArray[np.float64]]) -> Bands:
    r"""Bands of series of which there are n values alone, at least as wide as these suggest.

    $$|o_{ph}| \ge |t_{n-1}(p)| \, \sigma \sqrt{1 + 1/n} \; |o_{ph} / o_{p1}|$$

    σ is the larger one of the deviation of the values and of the size of their steps; growth over the steps is as it
    is in other series.

    few: Values in scaled units, two or more, by the place of their series.
    """
    from scipy.special import stdtrit  # takes longer to import than most of what is here

    offsets, shares = bands.offsets.clone().numpy(), bands.shares.numpy()
    for place, values in few.items():
        spread, size = max(values.std(ddof=1), np.diff(values).std()), np.abs(offsets[..., place])
        growth = np.divide(size, size[:, :1], out=np.ones_like(size), where=size[:, :1] > 0)
        radii = np.abs(stdtrit(len(values) - 1, shares)) * spread * np.sqrt(1 + 1 / len(values))
        offsets[..., place] = np.sign(shares - 0.5)[:, None] * np.maximum(size, radii[:, None] * growth)
    return bands._replace(offsets=torch.from_numpy(offsets))


def slopes_of_covariates(errors: Errors, known: Tensor, steps: int) -> Tensor:
    """Those of `widths_by_covariates`, from errors `(horizon, variates, windows)`.

    known: `(windows, horizon, variates or 1, features)`.
    """
    features = known.permute(1, 2, 0, 3).numpy()
    slopes = ops.size_slopes(errors, features, steps)
    constant = -(features.mean((0, 2), dtype=np.float64) * slopes.T).sum(1)
    return torch.from_numpy(np.stack([constant, *slopes]))


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
    return size_factors(recent.along(starts, mean_sizes(errors).T), usual).T.astype(np.float32)


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
    half, sizes, blocks = errors.shape[-1] // 2, mean_sizes(errors), _blocks(errors, steps)
    # over the windows in which there is an error; 0 without any
    whole, first = (np.nansum(each, -1) / np.maximum((~np.isnan(each)).sum(-1), 1) for each in (sizes, sizes[:, :half]))
    if blocks < FEWEST or not len(starts):
        return torch.zeros(whole.shape, dtype=torch.float64)
    relative = _relative(errors, starts, first)
    past, later, tried = errors[..., :half], errors[..., half + steps :], [level / 100 for level in OF_TENTHS]
    early, late = relative[:, :half], relative[:, half + steps :]
    fixed = _losses(later, _symmetric(past, tried, steps), tried)
    follow = _losses(later / late, _symmetric(past / early, tried, steps), tried) * late
    return torch.from_numpy(np.where(_is_less(follow, fixed, blocks), whole, 0.0))


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
