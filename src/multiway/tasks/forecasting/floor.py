"""The closed-form answer: ridge regression from each window to its future, penalty chosen on validation."""

import dataclasses
from typing import Any

import torch
from torch import Tensor

from multiway import ops
from multiway.data import Windows
from multiway.models.windows import fill_gaps

PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
CELLS_PER_CHUNK = 8_000_000


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
    """Fit shared and own ridge forecasts and keep the one that validation prefers.

    Exact in float64 and without a single prediction: validation errors follow from second moments too. A
    window whose target has a missing cell is left out for that variate; gaps in the past are filled with the
    last observed value.
    """
    fitted, scored = moments(training), moments(validation)
    candidates: list[dict[str, Any]] = []
    best: tuple[float, Tensor, bool, float] | None = None
    for shared in (True, False):
        fit, score = (fitted.shared(), scored.shared()) if shared else (fitted, scored)
        for penalty, weight in zip(PENALTIES, ops.ridge_path(fit.gram, fit.cross, PENALTIES), strict=True):
            error = score.squared_error(weight)
            candidates.append({"shared": shared, "penalty": penalty, "validation_mse": error})
            if best is None or error < best[0]:
                best = (error, weight, shared, penalty)
    assert best is not None
    return Floor(
        weight=best[1].float(), shared=best[2], penalty=best[3], validation_mse=best[0], candidates=candidates
    )


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
