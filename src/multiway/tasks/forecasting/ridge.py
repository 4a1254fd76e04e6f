"""Ridge from each window to its future: one path of penalties, and one choice among them on several stretches."""

import dataclasses
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
STANDARD_ERRORS = 1.0
EARLIER = (0.4, 0.6, 0.8, 1.0)
"""Where stretches of the training windows begin and end that a fit on what lies before them is tried on."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ChosenRidge:
    """Ridge under the penalties that were chosen for it.

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

    def refit(self, windows: Windows) -> Tensor:
        """The matrices of other windows, of the same kind, under the same penalties for each window."""
        return fit_under(self.shared_penalty, None if self.shared else self.penalty, windows, self.windows)


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


class _Best(NamedTuple):
    """The best penalty of one kind: its weights and error on every fold, the last being validation."""

    weights: list[Tensor]
    penalty: float
    errors: Tensor
    tried: list[dict[str, float]]


def choose_ridge(training: Windows, validation: Windows, *, own: bool = True) -> ChosenRidge:
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
    return ChosenRidge(
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


def fit_under(penalty: float, own: float | None, windows: Windows, fitted: int) -> Tensor:
    """The matrices of windows under penalties that were chosen for so many; one for all variates without `own`."""
    gram, cross = normal_equations(windows)
    share = len(windows) / fitted
    [shared] = _path(gram, cross, windows, [penalty * share])
    if own is None:
        return shared
    [apart] = _path(gram, cross, windows, [own * share], shared)
    return torch.where(windows.never_observed[:, None, None], shared, apart)


def _folds(training: Windows, validation: Windows) -> Iterator[_Fold]:
    """Stretches of training that hold a block, after fits on at least as much; then validation."""
    total, block, is_kept = len(training), training.lookback + training.horizon, training.all_targets <= MOST_KEPT
    borders = [int(part * total) for part in EARLIER]
    pairs = [(start, stop) for start, stop in itertools.pairwise(borders) if stop - start >= block]
    for start, stop in pairs:
        fitted = start - training.horizon  # whose last step lies before the first that is forecast
        equations = normal_equations(training, fitted)
        yield _Fold(*equations, fitted / total, training, start, stop, 0.5 / len(pairs), {} if is_kept else None)
    weight = 0.5 if pairs else 1.0
    yield _Fold(*normal_equations(training), 1.0, validation, 0, len(validation), weight, {} if is_kept else None)


def _best_penalty(folds: Sequence[_Fold], shared: Sequence[Tensor] | None) -> _Best:
    """One matrix for all variates; or one for each, drawn towards those that are shared."""
    paths, every = [], []
    for fold, matrix in zip(folds, shared or itertools.repeat(None), strict=False):
        # a penalty shrinks with the windows that are fitted on
        penalties = [penalty * fold.share for penalty in PENALTIES]
        path = _path(fold.gram, fold.cross, fold.windows, penalties, matrix)
        sums, count = _sum_errors(fold, path, fold.start, fold.stop)
        paths.append(path)
        every.append(sums / count.clamp_min(1))
    errors = torch.stack(every)
    relative = errors / errors.min(1, keepdim=True).values.clamp_min(torch.finfo(errors.dtype).tiny)
    best = int((torch.tensor([fold.weight for fold in folds], dtype=errors.dtype) @ relative).argmin())
    tried = [
        {"shared": shared is None, "penalty": penalty, "validation_mse": error}
        for penalty, error in zip(PENALTIES, errors[-1].tolist(), strict=True)
    ]
    return _Best([path[best] for path in paths], PENALTIES[best], errors[:, best], tried)


def _path(
    gram: Tensor, cross: Tensor, windows: Windows, penalties: Sequence[float], towards: Tensor | None = None
) -> list[Tensor]:
    """For each penalty one matrix for all variates, those of other processes too; or one for each, drawn `towards`."""
    if towards is None:
        sums = [gram.sum(0, keepdim=True), cross.sum(0, keepdim=True)]
        if windows.all_targets <= MOST_OWN:
            sums = windows.total(*sums)
        return [weight.float() for weight in ops.ridge_path(sums[0], sums[1], penalties)]
    parts = list(zip(gram.split(TOGETHER), cross.split(TOGETHER), strict=True))
    paths = ops.over_parts(
        lambda part: [weight.float() for weight in ops.ridge_path(*part, penalties, towards=towards)], parts
    )
    return [torch.cat(weights) for weights in zip(*paths, strict=True)]


def _gain(shared: _Best, own: _Best, folds: Sequence[_Fold]) -> tuple[float, float | None]:
    """Share of the error that own matrices save, and its standard error over the blocks of all folds.

    A block is as long as a window, so that two of them share no rows.
    """
    errors = zip(folds, shared.errors, own.errors, strict=True)
    gain = sum((fold.weight * (1 - float(theirs / ours)) for fold, ours, theirs in errors if ours > 0), 0.0)
    gains, weights = [], []
    for fold, error, *pair in zip(folds, shared.errors, shared.weights, own.weights, strict=True):
        blocks = (fold.stop - fold.start) // (fold.windows.lookback + fold.windows.horizon)
        if blocks:
            parts = torch.arange(fold.start, fold.stop).tensor_split(blocks)
            found = [_sum_errors(fold, pair, int(part[0]), int(part[-1]) + 1) for part in parts]
            sums, count = (torch.stack(tensors) for tensors in zip(*found, strict=True))
            gains.append((sums[:, 0] - sums[:, 1]) / (count.clamp_min(1) * error))
            weights.append(fold.weight * count / count.sum())
    number = sum(map(len, gains))
    if number < 2 or gain <= 0:
        return gain, None
    squares = (torch.cat(weights) * (torch.cat(gains) - gain)).square().sum()
    return gain, math.sqrt(number / (number - 1) * float(squares))


def _sum_errors(fold: _Fold, weights: Sequence[Tensor], start: int, stop: int) -> tuple[Tensor, Tensor]:
    """Squared errors of each weight on some windows, and cells: from moments where nothing is missing."""
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
    rows = windows.rows[start : stop + windows.lookback + windows.horizon - 1]
    if windows.all_targets > MOST_OWN:
        return ops.sum_ridge_moments(rows, stop - start, windows.lookback)
    return ops.ridge_moments(rows.T.contiguous(), stop - start, windows.lookback)


def normal_equations(windows: Windows, stop: int | None = None) -> tuple[Tensor, Tensor]:
    """XᵀX and XᵀY per variate, `(variates, lookback, lookback)` and `(variates, lookback, horizon)`.

    Of all windows, or of those before `stop`. Where series are many these are sums over them, of one group.

    Where cells are missing, gaps in the past hold the last observed value, and a target step counts where it is
    observed: its sums are scaled up to the number of windows, so that a few missing cells do not cost whole windows.
    """
    lookback, horizon, are_many = windows.lookback, windows.horizon, windows.all_targets > MOST_OWN
    groups = 1 if are_many else windows.num_variates
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
    if are_many:
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
