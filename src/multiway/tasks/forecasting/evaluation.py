"""Scores of several forecasts over the same windows: per variate and step, on the scaled and the file's own scale."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data import Scaler, Windows

Forecasts = Mapping[str, Tensor]
Predict = Callable[[Tensor, Tensor | None], Forecasts]
BATCH_CELLS = 2_000_000
TINY = 1e-30  # keeps 0 / 0, a forecast of zero that came true, at zero


@dataclasses.dataclass(kw_only=True)
class Errors:
    """Sums over windows, `(horizon, variates)` each; divide by `count` for means."""

    count: Tensor
    squared: Tensor
    absolute: Tensor
    symmetric_scaled: Tensor
    symmetric: Tensor

    @classmethod
    def zeros(cls, horizon: int, variates: int) -> "Errors":
        """Nothing summed yet."""
        return cls(
            **{field.name: torch.zeros(horizon, variates, dtype=torch.float64) for field in dataclasses.fields(cls)}
        )

    def add(self, forecast: Tensor, target: Tensor, observed: Tensor | None, mean: Tensor, std: Tensor) -> None:
        """Add a batch `(batch, horizon, variates)` of scaled values; cells that are not observed add nothing."""
        error = forecast - target
        size, size_original = forecast.abs() + target.abs(), (forecast * std + mean).abs() + (target * std + mean).abs()
        absolute = error.abs()
        cells = (
            error.square(), absolute, 2 * absolute / size.clamp_min(TINY), 2 * absolute * std / size_original.clamp_min(TINY)
        )  # fmt: skip
        totals = (self.squared, self.absolute, self.symmetric_scaled, self.symmetric)
        for total, cell in zip(totals, cells, strict=True):
            total += (cell if observed is None else torch.where(observed, cell, 0)).sum(0, dtype=torch.float64)
        self.count += len(target) if observed is None else observed.sum(0)


def batches(windows: Windows, limit: int = BATCH_CELLS) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
    """All windows in order, in batches of about `limit` cells."""
    size = max(limit // (windows.num_variates * (windows.lookback + windows.horizon)), 1)
    for index in torch.arange(len(windows)).split(size):
        yield index, windows.gather(index)


@torch.no_grad()
def measure(windows: Windows, predict: Predict, scaler: Scaler) -> dict[str, Errors]:
    """Errors of every forecast that `predict` makes, over all windows."""
    mean, std = (torch.from_numpy(part).float() for part in (scaler.mean, scaler.std))
    totals: dict[str, Errors] = {}
    for _, batch in batches(windows):
        for name, forecast in predict(batch["past"], batch.get("past_observed")).items():
            total = totals.setdefault(name, Errors.zeros(windows.horizon, windows.num_variates))
            total.add(forecast, batch["future"], batch.get("future_observed"), mean, std)
    return totals


def score_rows(
    errors: Mapping[str, Errors], split: str, scaler: Scaler, mase_scale: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Mean scores of every model, one row per metric and scale.

    mse, mae: mean over windows, steps and variates.
    smape: mean of 2 |f - y| / (|f| + |y|), from 0 to 2, as in HOT's table 11.
    mase: MAE over the in-sample MAE of the seasonal naive forecast on the training rows, averaged over variates;
        the same on both scales.
    """
    return [
        {"model": model, "split": split, "scale": scale, "metric": metric, "value": value}
        for model, error in errors.items()
        for scale, metric, value in _means(error, torch.from_numpy(scaler.std), torch.from_numpy(mase_scale))
    ]


def _means(error: Errors, std: Tensor, mase_scale: Tensor) -> list[tuple[str, str, float]]:
    total = float(error.count.sum().clamp_min(1))
    per_variate = error.absolute.sum(0) / error.count.sum(0).clamp_min(1)
    usable = mase_scale > 0
    mase = float((per_variate[usable] / mase_scale[usable]).mean()) if bool(usable.any()) else 0.0
    return [
        ("scaled", "mse", float(error.squared.sum()) / total),
        ("scaled", "mae", float(error.absolute.sum()) / total),
        ("scaled", "smape", float(error.symmetric_scaled.sum()) / total),
        ("scaled", "mase", mase),
        ("original", "mse", float((error.squared * std.square()).sum()) / total),
        ("original", "mae", float((error.absolute * std).sum()) / total),
        ("original", "smape", float(error.symmetric.sum()) / total),
        ("original", "mase", mase),
    ]


def mase_scales(training: NDArray[np.float64], season: int) -> NDArray[np.float64]:
    """Mean absolute seasonal difference of the scaled training rows, per variate; 0 where it is undefined."""
    if len(training) <= season:
        return np.zeros(training.shape[1])
    difference = np.abs(training[season:] - training[:-season])
    count = np.maximum((~np.isnan(difference)).sum(0), 1)
    return np.asarray(np.nansum(difference, 0) / count)
