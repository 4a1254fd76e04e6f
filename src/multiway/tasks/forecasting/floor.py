"""The closed-form answer: ridge regression from each window to its future, penalty chosen on validation."""

import dataclasses
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from multiway import ops
from multiway.data import Windows, complete_stretches
from multiway.tasks.forecasting.moments import complete_moments, masked_steps, normal_equations

PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
STANDARD_ERRORS = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Floor:
    """A fitted ridge forecast.

    weight: `(variates or 1, horizon, lookback)`, acting on windows with their last value subtracted.
    shared: One matrix for all variates.
    penalty: λ, as added to the moments of all training windows.
    validation_mse: Of the winner; `candidates` holds every one tried.
    gain_of_own: How far one matrix per variate lies below a shared one on validation, each at its best penalty.
    gain_deviation: Standard error of that gain; None when validation is too short to tell.
    """

    weight: Tensor
    shared: bool
    penalty: float
    validation_mse: float
    gain_of_own: float
    gain_deviation: float | None
    candidates: list[dict[str, Any]]

    def facts(self) -> dict[str, Any]:
        """Everything but the weight, for JSON."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "weight"}


class _Best(NamedTuple):
    """The best penalty of one kind, and all that were tried."""

    weight: Tensor
    penalty: float
    error: float
    tried: list[dict[str, Any]]


def fit_floor(training: Windows, validation: Windows) -> Floor:
    """Fit a shared ridge forecast and one per variate, and let validation choose penalty and kind.

    The penalty with the smallest validation error is taken. Own matrices have as many times the weights as there are
    variates, so they have to earn their place: they replace the shared one where validation prefers them by more
    than two standard errors, counted over stretches of time that share no rows. (A bare comparison takes noise for
    news where validation is short.) A variate without a training value takes the shared one.

    Without missing cells this is exact in float64 and needs no prediction: validation errors follow from second
    moments too. With missing cells see `normal_equations`; validation errors then count observed cells.
    """
    gram, cross = normal_equations(training)
    shared = _best_penalty(gram.sum(0, keepdim=True), cross.sum(0, keepdim=True), validation)
    own = shared if training.num_variates == 1 else _best_penalty(gram, cross, validation)
    gain, deviation = _gain(shared, own, validation)
    is_shared = deviation is None or gain <= STANDARD_ERRORS * deviation
    best = shared if is_shared else _with_shared(training.never_observed, shared, own)
    return Floor(
        weight=best.weight, shared=is_shared, penalty=best.penalty, validation_mse=best.error, gain_of_own=gain,
        gain_deviation=deviation, candidates=shared.tried + (own.tried if own is not shared else []),
    )  # fmt: skip


def _with_shared(young: Tensor, shared: _Best, own: _Best) -> _Best:
    """Own matrices, but the shared one for variates that were never seen."""
    return own._replace(weight=torch.where(young[:, None, None], shared.weight, own.weight))


def _best_penalty(gram: Tensor, cross: Tensor, validation: Windows) -> _Best:
    weights = [weight.float() for weight in ops.ridge_path(gram, cross, PENALTIES)]
    sums, count = _squared_errors(validation, weights, blocks=1)
    errors = (sums[:, 0] / count.clamp_min(1)).tolist()
    best = min(range(len(weights)), key=errors.__getitem__)
    tried = [
        {"shared": len(gram) == 1, "penalty": penalty, "validation_mse": error}
        for penalty, error in zip(PENALTIES, errors, strict=True)
    ]
    return _Best(weights[best], PENALTIES[best], errors[best], tried)


def _gain(shared: _Best, own: _Best, validation: Windows) -> tuple[float, float | None]:
    """Validation error of the shared matrix minus that of own ones, and its standard error over blocks."""
    blocks = len(validation) // (validation.lookback + validation.horizon)
    gain = shared.error - own.error
    if blocks < 2 or gain <= 0:
        return gain, None
    sums, count = _squared_errors(validation, [shared.weight, own.weight], blocks)
    residuals = sums[0] - sums[1] - gain * count
    return gain, math.sqrt(blocks / (blocks - 1) * float(residuals.square().sum())) / float(count.sum())


def _squared_errors(windows: Windows, weights: list[Tensor], blocks: int) -> tuple[Tensor, Tensor]:
    """Sums of squared errors `(weights, blocks)` over successive stretches of windows, and cells per stretch."""
    parts = [(int(part[0]), int(part[-1]) + 1) for part in torch.arange(len(windows)).tensor_split(blocks)]
    sums, counts = zip(*(_block_errors(windows, weights, start, stop) for start, stop in parts), strict=True)
    return torch.stack(sums, 1), torch.stack(counts)


def _block_errors(windows: Windows, weights: list[Tensor], start: int, stop: int) -> tuple[Tensor, Tensor]:
    """From moments where nothing is missing, from forecasts elsewhere."""
    sums, count = torch.zeros(len(weights), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    stretches, rest = complete_stretches(windows, start, stop)
    for first, last in stretches:
        own = complete_moments(windows, first, last)
        shared = own.shared()
        wide = (weight.double() for weight in weights)
        errors = [(shared if len(each) == 1 else own).squared_error(each) for each in wide]
        sums, count = sums + torch.tensor(errors, dtype=torch.float64), count + own.count.sum()
    for x, y, keep in masked_steps(windows, rest):
        misses = (torch.where(keep, y - x @ weight.double().mT, 0) for weight in weights)
        sums, count = sums + torch.stack([miss.square().sum() for miss in misses]), count + keep.sum()
    return sums, count
