"""Scores of several forecasts over the same windows: per variate and step, on the scaled and the file's own scale."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data import Scaler
from multiway.metrics.quantiles import TENTHS
from multiway.tasks.forecasting.bands import Bands, in_widths, mean_sizes, stretch
from multiway.tasks.forecasting.processes import join_words
from multiway.tasks.forecasting.windows import Windows, inputs_of
from multiway.tasks.protocol import OURS, Row
from multiway.tasks.run import Run
from multiway.training.processes import join_arrays

Forecasts = Mapping[str, Tensor]
Predict = Callable[..., Forecasts]
"""Of what `inputs_of` has."""
SMALLEST = torch.finfo(torch.float32).tiny


@dataclasses.dataclass(kw_only=True)
class ForecastErrors:
    """Sums over windows, `(horizon, variates)` float64 each; divide by `count` for means.

    size: Of the actual values, as `symmetric` in the units of the file over their deviation.
    lost: `(tenths, horizon, variates)`: pinball losses of the quantiles; without tenths where a forecast has none.
    inside: `(levels, horizon, variates)`: values within the bands; without levels where a forecast has no bands.
    """

    count: Tensor
    squared: Tensor
    absolute: Tensor
    symmetric: Tensor
    size: Tensor
    lost: Tensor
    inside: Tensor

    @classmethod
    def zeros(cls, horizon: int, variates: int, tenths: int = 0, levels: int = 0) -> Self:
        """Nothing summed yet."""
        sizes: dict[str, tuple[int, ...]] = {field.name: (horizon, variates) for field in dataclasses.fields(cls)}
        sizes |= {"lost": (tenths, horizon, variates), "inside": (levels, horizon, variates)}
        return cls(**{name: torch.zeros(size, dtype=torch.float64) for name, size in sizes.items()})

    def add(self, forecast: Tensor, truth: "_Truth", around: "Around") -> None:
        """Add a batch of forecasts `(batch, horizon, variates)`; cells that are not observed add nothing."""
        error = truth.target - forecast
        self._add_quantiles(error, truth, around.following(error, truth))
        error = error.abs_()
        if truth.keep is not None:
            error = torch.where(truth.keep, error, 0)
        squared = error.square().sum(0).double()
        if not torch.isfinite(squared).all():  # beyond float32, whose range ends at an error of 1e19
            squared = error.double().square().sum(0)
        self.count += truth.count
        self.squared += squared
        self.absolute += error.sum(0)
        self.symmetric += (error / ((forecast + truth.offset).abs_() + truth.size)).sum(0) * 2
        self.size += truth.total

    def _add_quantiles(self, error: Tensor, truth: "_Truth", around: "Around") -> None:
        """For e = y - f and a quantile at f + o, the pinball loss is p (e - o) + max(o - e, 0)."""
        far = error if truth.keep is None else torch.where(truth.keep, error, torch.inf)
        total = (error if truth.keep is None else torch.where(truth.keep, error, 0)).sum(0)
        for index, (share, offset) in enumerate(zip(TENTHS, around.tenths, strict=False)):
            if offset.ndim == 2:
                offsets = offset * truth.count
            else:
                offsets = (offset if truth.keep is None else torch.where(truth.keep, offset, 0)).sum(0)
            self.lost[index] += share * (total - offsets) + (offset - far).clamp_min_(0).sum(0)
        for index, (low, high) in enumerate(around.edges):
            self.inside[index] += ((error >= low) & (far <= high)).sum(0)

    def first(self, steps: int) -> Self:
        """Those of the first steps alone."""
        return type(self)(**{name: sums.narrow(-2, 0, steps) for name, sums in vars(self).items()})

    def coverage(self) -> Tensor:
        """Share of values inside the bands by step, `(levels, horizon)`."""
        return self.inside.sum(2) / self.count.sum(1).clamp_min(1)


class Around(NamedTuple):
    """Quantiles of a forecast less itself, scaled: its tenths `(tenths, horizon, variates)`, and edges of bands.

    edges: `(levels, 2, horizon, variates)`.
    bands: Theirs, where they differ from window to window, and how they go on.
    """

    tenths: Tensor
    edges: Tensor
    bands: "Following | None" = None

    def following(self, error: Tensor, truth: "_Truth") -> "Around":
        """Those of each window of a batch, `(..., batch, horizon, variates)`, where they differ."""
        if self.bands is None:
            return self
        errors = error if truth.keep is None else torch.where(truth.keep, error, torch.nan)
        scale = self.bands.scale(errors, truth)
        return Around(stretch(self.tenths[:, None], scale), stretch(self.edges.unsqueeze(2), scale))


class Following:
    """Scales of bands that differ from window to window, over windows in the order of time.

    Args:
        bands: Some of them follow the size of recent errors, or the quantiles of a network.
        windows: In the order of time.
        spread: How far those quantiles lie from the forecast.
    """

    def __init__(self, bands: Bands, windows: Windows, spread: Callable[..., Tensor] | None = None) -> None:
        self.bands, self.recent = bands, bands.recent(windows.horizon, windows.start_rows().tolist())
        self.spread = spread
        self.total, self.count = torch.zeros(2, 1, windows.num_targets, dtype=torch.float64), 0

    def scale(self, errors: Tensor, truth: "_Truth") -> Tensor:
        """Of the next windows, below and above their forecasts, `(2, batch, steps, variates)`; NaN is no error."""
        widths = self.bands.widths(self.spread, *truth.inputs)
        sizes = mean_sizes(in_widths(errors, widths).transpose(0, 1).numpy())
        scale = self.bands.factors(self.recent.along(truth.starts, sizes))[:, None] * widths
        self.total, self.count = self.total + scale.double().sum(1), self.count + len(errors)
        return scale

    @property
    def mean(self) -> Tensor:
        """Over the windows so far, `(2, steps, variates)`, one step where all are alike."""
        return self.total / max(self.count, 1)


class _Truth:
    """Targets of a batch, and what every forecast's scores need of them."""

    def __init__(self, batch: Mapping[str, Tensor], offset: Tensor) -> None:
        target, keep = batch["future"], batch.get("future_observed")
        self.target, self.keep, self.offset, self.starts = target.contiguous(), keep, offset, batch["start"].tolist()
        self.inputs = inputs_of(batch)
        self.count = torch.full(target.shape[1:], float(len(target))) if keep is None else keep.sum(0)
        size = (self.target + offset).abs_()
        self.total = (size if keep is None else torch.where(keep, size, 0)).sum(0)
        self.size = size.clamp_min_(SMALLEST)


@torch.no_grad()
def measure(
    windows: Windows, predict: Predict, scaler: Scaler, around: Mapping[str, Around] | None = None
) -> dict[str, ForecastErrors]:
    """Errors of every forecast that `predict` makes, over all windows; those with quantiles also against them."""
    offset = torch.from_numpy(scaler.mean / scaler.std).float()
    sizes = windows.horizon, windows.num_targets
    none = Around(torch.zeros(0, *sizes), torch.zeros(0, 2, *sizes))
    totals: dict[str, ForecastErrors] = {}
    for batch in windows.batches():
        truth = _Truth(batch, offset)
        added: dict[int, str] = {}
        for name, forecast in predict(*truth.inputs).items():
            own, twin = (around or {}).get(name, none), added.setdefault(id(forecast), name)
            if twin != name:  # one forecast under two names is counted once
                totals[name] = totals[twin]
                continue
            total = totals.setdefault(name, ForecastErrors.zeros(*sizes, len(own.tenths), len(own.edges)))
            total.add(forecast.contiguous(), truth, own)
    return totals


class Measured(NamedTuple):
    """Errors of every forecast on a split, and what else scores need.

    names: Of the series.
    edges: Of the answer's bands.
    """

    errors: Mapping[str, ForecastErrors]
    units: "Units"
    names: tuple[str, ...]
    edges: Tensor

    def join(self) -> "Measured":
        """Of the series of all processes, in the first."""
        errors = dict[str, ForecastErrors]()
        for name, each in self.errors.items():
            sums = {part: join_arrays(own.numpy(), own.ndim - 1) for part, own in vars(each).items()}
            errors[name] = ForecastErrors(**{part: torch.from_numpy(own) for part, own in sums.items()})
        units = self.units._replace(
            std=join_arrays(self.units.std, 0), mase_scale=join_arrays(self.units.mase_scale, 0)
        )
        edges = torch.from_numpy(join_arrays(self.edges.numpy(), 3))
        return Measured(errors, units, join_words(self.names), edges)


def coverage_rows(errors: ForecastErrors, edges: Tensor, levels: Sequence[float]) -> list[Row]:
    """Coverage in percent and scaled width of the bands of every level, the coverage also by step."""
    inside, width = 100 * errors.coverage(), edges.double().diff(dim=1).mean((1, 2, 3))
    return [
        {"level": level, "actual": float(steps.mean()), "width": float(size), "by_step": steps.tolist()}
        for level, steps, size in zip(levels, inside, width, strict=True)
    ]


class Units(NamedTuple):
    """What scores in the units of the file and over the naive error need, `(variates,)`, and levels of the bands."""

    std: NDArray[np.float64]
    mase_scale: NDArray[np.float64]
    levels: Sequence[float] = ()


def forecast_rows(
    errors: Mapping[str, ForecastErrors], split: str, units: Units, horizons: Sequence[int] = ()
) -> list[Row]:
    """Mean scores of every model, one row per metric and scale; None where a score is undefined.

    mse, mae, rmse: mean over windows, steps and variates, rmse its root; mse_24: of the first of the horizons, scaled.
    mase: MAE over the in-sample MAE of the seasonal naive forecast on the training rows, averaged over variates.
    smape: mean of 2 |f - y| / (|f| + |y|), from 0 to 2; wape: sum of |f - y| over that of |y|. Both depend on the
        level of a series, so they are in the units of the file alone.
    pinball, crps, wql, sql: of the nine tenths, as in `metrics.quantiles`, sql averaged over variates as mase is.
    coverage_80: share of values inside the 80 % band of ours.
    """
    rows = [(model, *score) for model, error in errors.items() for score in _scores(error, units, model == OURS)]
    rows += [
        (model, scale, f"{metric}_{steps}", value)
        for steps, (model, error) in itertools.product(horizons, errors.items())
        for scale, metric, value in _scores(error.first(steps), units)
        if scale == "scaled" and metric in ("mse", "mae")
    ]
    return [
        {"model": model, "split": split, "scale": scale, "metric": metric, "value": value, "low": None, "high": None}
        for model, scale, metric, value in rows
    ]


def _scores(error: ForecastErrors, units: Units, has_bands: bool = False) -> Iterator[tuple[str, str, float | None]]:
    """Scale, metric and value of every score."""
    total, std = float(error.count.sum().clamp_min(1)), torch.from_numpy(units.std)
    squared, absolute = (float(part.sum()) for part in (error.squared * std.square(), error.absolute * std))
    size = float((error.size * std).sum())
    yield "scaled", "mse", float(error.squared.sum()) / total
    yield "scaled", "mae", float(error.absolute.sum()) / total
    yield "scaled", "mase", _over_naive(error.absolute, error, units)
    yield "original", "mse", squared / total
    yield "original", "mae", absolute / total
    yield "original", "rmse", (squared / total) ** 0.5
    yield "original", "wape", absolute / size if size else None
    yield "original", "smape", float(error.symmetric.sum()) / total
    if len(error.lost):
        lost = error.lost.mean(0)
        sql, pinball = _over_naive(lost, error, units), float((lost * std).sum()) / total
        yield "scaled", "sql", None if sql is None else 2 * sql
        yield "original", "pinball", pinball
        yield "original", "crps", 2 * pinball
        yield "original", "wql", 2 * float((lost * std).sum()) / size if size else None
    if has_bands and len(error.inside):
        for level, inside in zip(units.levels, error.coverage(), strict=False):
            yield "original", f"coverage_{level:g}", float(inside.mean())


def _over_naive(lost: Tensor, error: ForecastErrors, units: Units) -> float | None:
    """Mean loss of each variate, `(horizon, variates)` in sums, over the error of its seasonal naive; their mean.

    None where no variate has such an error.
    """
    scale = torch.from_numpy(units.mase_scale)
    per_variate, usable = lost.sum(0) / error.count.sum(0).clamp_min(1), scale > 0
    return float((per_variate[usable] / scale[usable]).mean()) if bool(usable.any()) else None


def error_frame(errors: Mapping[str, ForecastErrors], split: str, names: tuple[str, ...]) -> pd.DataFrame:
    """Scaled errors by split, model, variate and step, as a tidy table; NaN where no value was there."""
    steps, variates = np.arange(next(iter(errors.values())).count.shape[0]) + 1, np.array(names, dtype=object)
    cells = {"variate": np.tile(variates, len(steps)), "step": np.repeat(steps, len(names))}
    parts = [
        pd.DataFrame(
            {
                "split": split,
                "model": model,
                **cells,
                "mse": (error.squared / error.count).flatten().numpy(),
                "mae": (error.absolute / error.count).flatten().numpy(),
            }
        )
        for model, error in errors.items()
    ]
    return pd.concat(parts, ignore_index=True)


def read_test_errors(run: Run) -> pd.DataFrame:
    """The rows of `error_frame` of the test rows of a run."""
    return run.tables["errors"].query("split == 'test'")
