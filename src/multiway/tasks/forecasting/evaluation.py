"""Scores of several forecasts over the same windows: per variate and step, on the scaled and the file's own scale."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data import Scaler, Windows
from multiway.tasks.protocol import Row

Forecasts = Mapping[str, Tensor]
Predict = Callable[[Tensor, Tensor | None], Forecasts]
SMALLEST = torch.finfo(torch.float32).tiny


@dataclasses.dataclass(kw_only=True)
class Errors:
    """Sums over windows, `(horizon, variates)` float64 each; divide by `count` for means."""

    count: Tensor
    squared: Tensor
    absolute: Tensor
    symmetric_scaled: Tensor
    symmetric: Tensor

    @classmethod
    def zeros(cls, horizon: int, variates: int) -> Self:
        """Nothing summed yet."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: torch.zeros(horizon, variates, dtype=torch.float64) for name in names})

    def add(self, forecast: Tensor, truth: "_Truth") -> None:
        """Add a batch of forecasts `(batch, horizon, variates)`; cells that are not observed add nothing."""
        error = (forecast - truth.target).abs_()
        if truth.keep is not None:
            error = torch.where(truth.keep, error, 0)
        squared = error.square().sum(0).double()
        if not torch.isfinite(squared).all():  # beyond float32, whose range ends at an error of 1e19
            squared = error.double().square().sum(0)
        self.count += truth.count
        self.squared += squared
        self.absolute += error.sum(0)
        self.symmetric_scaled += (error / (forecast.abs() + truth.size_scaled)).sum(0) * 2
        self.symmetric += (error / ((forecast + truth.offset).abs_() + truth.size)).sum(0) * 2


class _Truth:
    """Targets of a batch, and what every forecast's scores need of them."""

    def __init__(self, target: Tensor, keep: Tensor | None, offset: Tensor) -> None:
        self.target, self.keep, self.offset = target.contiguous(), keep, offset
        self.count = torch.full(target.shape[1:], float(len(target))) if keep is None else keep.sum(0)
        self.size_scaled = self.target.abs().clamp_min_(SMALLEST)
        self.size = (self.target + offset).abs_().clamp_min_(SMALLEST)


@torch.no_grad()
def measure(windows: Windows, predict: Predict, scaler: Scaler) -> dict[str, Errors]:
    """Errors of every forecast that `predict` makes, over all windows."""
    offset = torch.from_numpy(scaler.mean / scaler.std).float()
    totals: dict[str, Errors] = {}
    for _, batch in windows.batches():
        truth = _Truth(batch["future"], batch.get("future_observed"), offset)
        added: dict[int, str] = {}
        for name, forecast in predict(batch["past"], batch.get("past_observed")).items():
            twin = added.setdefault(id(forecast), name)
            if twin != name:  # one forecast under two names is counted once
                totals[name] = totals[twin]
                continue
            total = totals.setdefault(name, Errors.zeros(windows.horizon, windows.num_variates))
            total.add(forecast.contiguous(), truth)
    return totals


def score_rows(errors: Mapping[str, Errors], split: str, scaler: Scaler, mase_scale: NDArray[np.float64]) -> list[Row]:
    """Mean scores of every model, one row per metric and scale.

    mse, mae: mean over windows, steps and variates.
    smape: mean of 2 |f - y| / (|f| + |y|), from 0 to 2, as in HOT's table 11.
    mase: MAE over the in-sample MAE of the seasonal naive forecast on the training rows, averaged over variates;
        the same on both scales.
    """
    return [
        {"model": model, "split": split, "scale": scale, "metric": metric, "value": value, "low": None, "high": None}
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


def error_frame(errors: Mapping[str, Errors], split: str, names: tuple[str, ...]) -> pd.DataFrame:
    """Scaled errors by split, model, variate and step, as a tidy table."""
    parts = []
    for model, error in errors.items():
        steps, variates = error.count.shape
        columns = {
            "split": split,
            "model": model,
            "variate": np.tile(np.array(names, dtype=object), steps),
            "step": np.repeat(np.arange(1, steps + 1), variates),
            "mse": (error.squared / error.count.clamp_min(1)).flatten().numpy(),
            "mae": (error.absolute / error.count.clamp_min(1)).flatten().numpy(),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)
