"""The closed-form answer: ridge regression from each window to its future, penalty chosen on validation."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from multiway import ops
from multiway.models.windows import fill_gaps
from multiway.ops.linear_models import CELLS_PER_CHUNK
from multiway.tasks.forecasting.windows import Windows, complete_stretches

PENALTIES = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7)
"""The largest leave little but the last value: for series that wander. The smallest are for series so smooth that their
windows hardly move, as a population."""
TOGETHER = 32
"""Variates whose matrices one thread finds."""
MOST_KEPT = 1_000
"""Series whose moments are kept from one comparison to the next."""
MOST_OWN = 5_000
"""Series up to which each may have a matrix of its own; of more, only sums over all series are ever held."""
AT_ONCE = 500
"""Series whose moments are held at once, where they are only added up."""
STANDARD_ERRORS = 1.0
EARLIER = (0.4, 0.6, 0.8, 1.0)
"""Where stretches of the training windows begin and end that a fit on what lies before them is tried on."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Floor:
    """A fitted ridge forecast.

    weight: `(variates or 1, horizon, lookback)`, acting on windows with their last value subtracted.
    common: The best one that all variates share.
    shared: One matrix for all variates.
    penalty: λ, as added to the moments of all training windows; of own matrices that on their distance from the shared.
    shared_penalty: That of the shared matrix.
    windows: Training windows that the penalties are meant for.
    validation_mse: Of the winner; `candidates` holds every one tried.
    gain_of_own: Share of the error that one matrix per variate saves against a shared one, each at its best penalty.
    gain_deviation: Standard error of that share; None when all stretches are too short to tell.
    """

    weight: Tensor
    shared: bool
    penalty: float
    shared_penalty: float
    windows: int
    validation_mse: float
    gain_of_own: float
    gain_deviation: float | None
    candidates: list[dict[str, float]]
    common: Tensor

    def facts(self) -> dict[str, object]:
        """Everything but the weight, for JSON."""
        names = [field.name for field in dataclasses.fields(self) if field.name not in ("weight", "common")]
        return {name: getattr(self, name) for name in names}


class _Fold(NamedTuple):
    """Moments of the windows to fit on, their share of all, and the windows after them to try the fit on.

    kept: Moments of these by their first and last, once they are known, where series are few.
    """

    gram: Tensor
    cross: Tensor
    share: float
    windows: Windows
    start: int
    stop: int
    weight: float
    kept: dict[tuple[int, int], ops.Moments] | None

    @property
    def blocks(self) -> int:
        """Stretches of time that share no rows."""
        return (self.stop - self.start) // (self.windows.lookback + self.windows.horizon)


class _Best(NamedTuple):
    """The best penalty of one kind: its weights and error on every fold, the last being validation."""

    weights: list[Tensor]
    penalty: float
    errors: Tensor
    tried: list[dict[str, float]]


def fit_floor(training: Windows, validation: Windows, *, own: bool = True) -> Floor:
    """Fit a shared ridge forecast and one per variate, and let several stretches of time choose penalty and kind.

    Each of three later stretches of the training windows is forecast by a fit on what lies before it, and validation
    by the fit on all of them. The penalty with the smallest error is taken, relative to the best of each stretch;
    validation counts for one half. One stretch alone is one climate, and a bare comparison on it takes noise for news.

    Own matrices are drawn towards the shared one S: W = S + (Y - S X) Xᵀ (X Xᵀ + λI)⁻¹. They replace it where they
    save more than one standard error, counted over blocks that share no rows. A variate without a training value takes
    the shared one. Without `own` there are none.

    Without missing cells this is exact in float64 and needs no prediction: errors follow from second moments too. With
    missing cells see `normal_equations`; errors then count observed cells.
    """
    folds = list(_folds(training, validation))
    shared = _best_penalty(folds, None)
    apart = _best_penalty(folds, shared.weights) if own and 1 < training.all_targets <= MOST_OWN else shared
    gain, deviation = _gain(shared, apart, folds)
    is_shared = deviation is None or gain <= STANDARD_ERRORS * deviation
    best = shared if is_shared else apart
    young = training.never_observed[:, None, None]
    return Floor(
        weight=shared.weights[-1] if is_shared else torch.where(young, shared.weights[-1], apart.weights[-1]),
        shared=is_shared,
        penalty=best.penalty,
        shared_penalty=shared.penalty,
        windows=len(training),
        validation_mse=float(best.errors[-1]),
        gain_of_own=gain,
        gain_deviation=deviation,
        candidates=shared.tried + (apart.tried if apart is not shared else []),
        common=shared.weights[-1],
    )


def refit_floor(floor: Floor, windows: Windows) -> Tensor:
    """The matrices of other windows, of the same kind, under the same penalties for each window."""
    own = None if floor.shared else floor.penalty
    return fit_under(floor.shared_penalty, own, windows, floor.windows)


def fit_under(penalty: float, own: float | None, windows: Windows, fitted: int) -> Tensor:
    """The matrices of windows under penalties that were chosen for so many; one for all variates without `own`."""
    gram, cross = normal_equations(windows)
    share = len(windows) / fitted
    [shared] = _fit_shared(gram, cross, windows, [penalty * share])
    if own is None:
        return shared
    [apart] = _own_weights(gram, cross, [own * share], shared)
    return torch.where(windows.never_observed[:, None, None], shared, apart)


def _folds(training: Windows, validation: Windows) -> Iterator[_Fold]:
    """Stretches of training that hold a block, after fits on at least as much; then validation."""
    total, block = len(training), training.lookback + training.horizon
    borders = [int(part * total) for part in EARLIER]
    pairs = [(start, stop) for start, stop in itertools.pairwise(borders) if stop - start >= block]
    for start, stop in pairs:
        fitted = start - training.horizon  # whose last step lies before the first that is forecast
        equations = normal_equations(training, fitted)
        yield _Fold(*equations, fitted / total, training, start, stop, 0.5 / len(pairs), _keep_moments(training))
    weight = 0.5 if pairs else 1.0
    yield _Fold(*normal_equations(training), 1.0, validation, 0, len(validation), weight, _keep_moments(training))


def _keep_moments(windows: Windows) -> dict[tuple[int, int], ops.Moments] | None:
    return {} if windows.all_targets <= MOST_KEPT else None


def _best_penalty(folds: Sequence[_Fold], shared: Sequence[Tensor] | None) -> _Best:
    """One matrix for all variates; or one for each, drawn towards those that are shared."""
    paths = [_path(fold, matrix) for fold, matrix in zip(folds, shared or itertools.repeat(None), strict=False)]
    errors = torch.stack([_errors(fold, path) for fold, path in zip(folds, paths, strict=True)])
    relative = errors / errors.min(1, keepdim=True).values.clamp_min(torch.finfo(errors.dtype).tiny)
    best = int((torch.tensor([fold.weight for fold in folds], dtype=errors.dtype) @ relative).argmin())
    tried = [
        {"shared": shared is None, "penalty": penalty, "validation_mse": error}
        for penalty, error in zip(PENALTIES, errors[-1].tolist(), strict=True)
    ]
    return _Best([path[best] for path in paths], PENALTIES[best], errors[:, best], tried)


def _path(fold: _Fold, shared: Tensor | None) -> list[Tensor]:
    """Weights for each penalty, which shrinks with the windows that are fitted on."""
    penalties = [penalty * fold.share for penalty in PENALTIES]
    if shared is None:
        return _fit_shared(fold.gram, fold.cross, fold.windows, penalties)
    return _own_weights(fold.gram, fold.cross, penalties, shared)


def _fit_shared(gram: Tensor, cross: Tensor, windows: Windows, penalties: Sequence[float]) -> list[Tensor]:
    """One matrix for all variates, those of other processes too, for each penalty."""
    sums = [gram.sum(0, keepdim=True), cross.sum(0, keepdim=True)]
    if not _sums_at_once(windows):
        sums = windows.total(*sums)
    return [weight.float() for weight in ops.ridge_path(sums[0], sums[1], penalties)]


def _own_weights(gram: Tensor, cross: Tensor, penalties: Sequence[float], shared: Tensor) -> list[Tensor]:
    """One matrix for each variate, drawn towards one that all share, for each penalty."""

    def path(part: tuple[Tensor, Tensor]) -> list[Tensor]:
        return [weight.float() for weight in ops.ridge_path(*part, penalties, towards=shared)]

    parts = list(zip(gram.split(TOGETHER), cross.split(TOGETHER), strict=True))
    return [torch.cat(weights) for weights in zip(*ops.over_parts(path, parts), strict=True)]


def _errors(fold: _Fold, weights: Sequence[Tensor]) -> Tensor:
    """Mean squared error of each weight on a fold's stretch."""
    sums, count = _block_errors(fold, weights, fold.start, fold.stop)
    return sums / count.clamp_min(1)


def _gain(shared: _Best, own: _Best, folds: Sequence[_Fold]) -> tuple[float, float | None]:
    """Share of the error that own matrices save, and its standard error over the blocks of all folds."""
    errors = zip(folds, shared.errors, own.errors, strict=True)
    gain = sum((fold.weight * (1 - float(theirs / ours)) for fold, ours, theirs in errors if ours > 0), 0.0)
    pairs = zip(folds, shared.errors, shared.weights, own.weights, strict=True)
    parts = [_block_gains(fold, error, pair) for fold, error, *pair in pairs if fold.blocks]
    count = sum(len(gains) for gains, _ in parts)
    if count < 2 or gain <= 0:
        return gain, None
    gains, weights = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    return gain, math.sqrt(count / (count - 1) * float((weights * (gains - gain)).square().sum()))


def _block_gains(fold: _Fold, error: Tensor, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """What own matrices save against shared ones on each block, as a share of its error; and a block's weight."""
    parts = torch.arange(fold.start, fold.stop).tensor_split(fold.blocks)
    blocks = [_block_errors(fold, weights, int(part[0]), int(part[-1]) + 1) for part in parts]
    sums, count = (torch.stack(tensors) for tensors in zip(*blocks, strict=True))
    return (sums[:, 0] - sums[:, 1]) / (count.clamp_min(1) * error), fold.weight * count / count.sum()


def _block_errors(fold: _Fold, weights: Sequence[Tensor], start: int, stop: int) -> tuple[Tensor, Tensor]:
    """From moments where nothing is missing, from forecasts elsewhere."""
    windows, kept = fold.windows, {} if fold.kept is None else fold.kept
    sums, count = torch.zeros(len(weights), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    stretches, rest = complete_stretches(windows, start, stop)
    for stretch in stretches:
        own = kept.get(stretch)
        if own is None:
            own = kept[stretch] = complete_moments(windows, *stretch)
        shared = own.shared()
        errors = [(shared if len(weight) == 1 else own).squared_error(weight.double()) for weight in weights]
        sums, count = sums + torch.tensor(errors, dtype=torch.float64), count + own.count.sum()
    for x, y, keep in _steps_with_masks(windows, rest):
        misses = (torch.where(keep, y - x @ weight.double().mT, 0) for weight in weights)
        sums, count = sums + torch.stack([miss.square().sum() for miss in misses]), count + keep.sum()
    sums, count = windows.total(sums, count)
    return sums, count


def complete_moments(windows: Windows, start: int = 0, stop: int | None = None) -> ops.Moments:
    """Moments of windows from `start` up to `stop` without a missing cell; sums over series where these are many."""
    stop = len(windows) if stop is None else stop
    rows = windows.rows[start : stop + windows.lookback + windows.horizon - 1].T
    if not _sums_at_once(windows):
        return ops.ridge_moments(rows.contiguous(), stop - start, windows.lookback)
    parts = torch.split(rows, AT_ONCE)
    sums = (ops.ridge_moments(part.contiguous(), stop - start, windows.lookback).shared() for part in parts)
    return functools.reduce(ops.Moments.plus, sums)


def _sums_at_once(windows: Windows) -> bool:
    """Whether series are too many for moments of each."""
    return windows.all_targets > MOST_OWN


def normal_equations(windows: Windows, stop: int | None = None) -> tuple[Tensor, Tensor]:
    """XᵀX and XᵀY per variate, `(variates, lookback, lookback)` and `(variates, lookback, horizon)`.

    Of all windows, or of those before `stop`. Where series are many these are sums over them, of one group.

    Where cells are missing, gaps in the past hold the last observed value, and a target step counts where it is
    observed: its sums are scaled up to the number of windows, so that a few missing cells do not cost whole windows.
    """
    lookback, horizon = windows.lookback, windows.horizon
    groups = 1 if _sums_at_once(windows) else windows.num_variates
    gram = torch.zeros(groups, lookback, lookback, dtype=torch.float64)
    cross = torch.zeros(groups, lookback, horizon, dtype=torch.float64)
    count = torch.zeros(groups, horizon, dtype=torch.float64)
    used = torch.zeros(groups, dtype=torch.float64)
    stretches, rest = complete_stretches(windows, 0, len(windows) if stop is None else stop)
    for first, last in stretches:
        part = complete_moments(windows, first, last)
        gram, cross = gram + part.gram, cross + part.cross
        size = (last - first) * windows.num_variates // groups
        count, used = count + size, used + size
    for steps in _steps_with_masks(windows, rest):
        x, y, keep = (part.reshape(groups, -1, part.shape[-1]) for part in steps)
        some = keep.any(-1, keepdim=True)
        gram.baddbmm_((x * some).mT, x)
        cross.baddbmm_(x.mT, y)
        count += keep.sum(1)
        used += some.sum((1, 2))
    if _sums_at_once(windows):
        gram, cross, count, used = windows.total(gram, cross, count, used)
    return gram, cross * (used[:, None] / count.clamp_min(1))[:, None]


def _steps_with_masks(windows: Windows, index: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """X, Y (0 where it is missing) and which targets count, `(variates, windows, steps)` in float64, in chunks."""
    for batch in windows.batches(index, CELLS_PER_CHUNK) if len(index) else ():
        past, future = batch["past"], batch["future"]
        seen = batch.get("past_observed", torch.ones_like(past, dtype=torch.bool))
        filled = fill_gaps(past, seen).double()
        last = filled[:, -1:]
        keep = batch.get("future_observed", torch.ones_like(future, dtype=torch.bool)) & seen.any(1, keepdim=True)
        keep = keep.permute(2, 0, 1)
        x, y = (filled - last).permute(2, 0, 1), (future - last).permute(2, 0, 1)
        yield x.contiguous(), torch.where(keep, y, 0), keep
