"""The closed-form answer: ridge regression from each window to its future, penalty chosen on validation."""

import dataclasses
from typing import Any

import torch
from torch import Tensor

from multiway import ops
from multiway.data import Windows
from multiway.models.windows import fill_gaps
from multiway.tasks.forecasting.evaluation import batches

PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
CELLS_PER_CHUNK = 8_000_000
SURE = 2.0  # standard errors by which the larger forecast has to win


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Floor:
    """A fitted ridge forecast.

    weight: `(variates or 1, horizon, lookback)`, acting on windows with their last value subtracted.
    shared: One matrix for all variates.
    penalty: λ, as added to the moments of all training windows.
    validation_mse: Of the winner; `candidates` holds every one tried.
    """

    weight: Tensor
    shared: bool
    penalty: float
    validation_mse: float
    candidates: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Moments:
    """Sums over windows, per variate: XᵀX, XᵀY, the sum of Y², and the number of target cells."""

    gram: Tensor
    cross: Tensor
    square: Tensor
    count: Tensor

    def shared(self) -> "Moments":
        """Sums over variates as well."""
        return Moments(
            gram=self.gram.sum(0, keepdim=True), cross=self.cross.sum(0, keepdim=True),
            square=self.square.sum(0, keepdim=True), count=self.count.sum(0, keepdim=True),
        )  # fmt: skip

    def squared_error(self, weight: Tensor) -> float:
        """Mean of (Y - X Wᵀ)² from the moments alone: ΣY² - 2 tr(W XᵀY) + tr(W XᵀX Wᵀ)."""
        linear = (weight * self.cross.mT).sum()
        quadratic = ((weight @ self.gram) * weight).sum()
        return float((self.square.sum() - 2 * linear + quadratic) / self.count.sum())


def fit_floor(training: Windows, validation: Windows) -> Floor:
    """Fit shared and own ridge forecasts and keep the one that validation supports.

    Exact in float64; validation errors of every penalty follow from second moments, without a prediction. A matrix
    per variate has as many times the parameters as there are variates, so it has to be better than the shared one
    by two standard errors, taken over blocks of validation windows that share no rows. A window whose target has
    a missing cell is left out for that variate; gaps in the past are filled with the last observed value.
    """
    fitted, scored = moments(training), moments(validation)
    shared = _best_penalty(fitted.shared(), scored.shared())
    if training.num_variates == 1:
        return _as_floor(shared, True, shared[3])
    own = _best_penalty(fitted, scored)
    gain, error = compare_floors(validation, shared[0], own[0])
    is_shared = gain <= SURE * error
    candidates = [{"shared": True, **row} for row in shared[3]] + [{"shared": False, **row} for row in own[3]]
    return _as_floor(shared if is_shared else own, is_shared, candidates)


_Choice = tuple[Tensor, float, float, list[dict[str, Any]]]


def _best_penalty(fit: Moments, score: Moments) -> _Choice:
    """Weight, penalty and validation error of the best penalty, and every one tried."""
    tried: list[dict[str, Any]] = []
    best: tuple[Tensor, float, float] | None = None
    for penalty, weight in zip(PENALTIES, ops.ridge_path(fit.gram, fit.cross, PENALTIES), strict=True):
        error = score.squared_error(weight)
        tried.append({"penalty": penalty, "validation_mse": error})
        if best is None or error < best[2]:
            best = (weight, penalty, error)
    assert best is not None
    return (*best, tried)


def _as_floor(choice: _Choice, shared: bool, candidates: list[dict[str, Any]]) -> Floor:
    weight, penalty, error, _ = choice
    return Floor(weight=weight.float(), shared=shared, penalty=penalty, validation_mse=error, candidates=candidates)


def compare_floors(windows: Windows, shared: Tensor, own: Tensor) -> tuple[float, float]:
    """Mean of shared minus own squared error over windows, and its standard error over separate blocks."""
    differences = torch.cat([_window_gain(batch, shared.float(), own.float()) for _, batch in batches(windows)])
    blocks = len(differences) // (windows.lookback + windows.horizon)
    if blocks < 2:
        return float(differences.mean()), float("inf")
    means = torch.stack([part.mean() for part in differences.tensor_split(blocks)])
    return float(differences.mean()), float(means.std() / blocks**0.5)


def _window_gain(batch: dict[str, Tensor], shared: Tensor, own: Tensor) -> Tensor:
    past = batch["past"] if "past_observed" not in batch else fill_gaps(batch["past"], batch["past_observed"])
    last = past[:, -1:]
    steps, target = (past - last).permute(2, 0, 1), (batch["future"] - last).permute(2, 0, 1)
    gain = (steps @ shared.mT - target).square() - (steps @ own.mT - target).square()
    seen = batch.get("future_observed")
    keep = torch.ones_like(gain) if seen is None else seen.permute(2, 0, 1).float()
    return (gain * keep).sum((0, 2)).double() / keep.sum((0, 2)).clamp_min(1)


def moments(windows: Windows) -> Moments:
    """Second moments of all windows, chunk by chunk from strided views."""
    past, future = windows.past_view(), windows.future_view()
    seen, wanted = windows.past_observed_view(), windows.future_observed_view()
    variates, lookback, horizon = past.shape[1], past.shape[2], future.shape[2]
    gram = past.new_zeros(variates, lookback, lookback, dtype=torch.float64)
    cross = past.new_zeros(variates, lookback, horizon, dtype=torch.float64)
    square, count = torch.zeros(variates, dtype=torch.float64), torch.zeros(variates, dtype=torch.float64)
    for part in _chunks(len(windows), variates * (lookback + horizon)):
        x, y = _chunk(past[part], future[part], None if seen is None else seen[part])
        if seen is not None and wanted is not None:
            keep = (seen[part].any(-1) & wanted[part].all(-1)).T[..., None]
            x, y = x * keep, y * keep
            count += keep.sum((1, 2)) * horizon
        else:
            count += y.shape[1] * horizon
        gram.baddbmm_(x.mT, x)
        cross.baddbmm_(x.mT, y)
        square += y.square().sum((1, 2))
    return Moments(gram=gram, cross=cross, square=square, count=count)


def _chunk(past: Tensor, future: Tensor, seen: Tensor | None) -> tuple[Tensor, Tensor]:
    """Differences from the last value, `(variates, windows, steps)`, float64."""
    if seen is not None:
        past = fill_gaps(past.mT, seen.mT).mT
    last = past[..., -1:].transpose(0, 1).double()
    return past.transpose(0, 1).double() - last, future.transpose(0, 1).double() - last


def _chunks(windows: int, cells: int) -> list[slice]:
    size = max(CELLS_PER_CHUNK // max(cells, 1), 1)
    return [slice(start, min(start + size, windows)) for start in range(0, windows, size)]
