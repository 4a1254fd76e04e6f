"""What candidates are compared on: rows that none was fitted on, of validation and within the training rows."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.models.regression import Regressors
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.forecasting.candidate import Rows, Sizes, any_stepped, candidates, refit_candidates
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.windows import Windows, inputs_of

Forecast = Callable[..., Mapping[str, Tensor]]
"""Of what `inputs_of` has."""
MAX_CELLS = 100_000_000
"""Of errors that are looked at for one comparison; every k-th window where there are more."""
ORIGINS = (0.5, 0.625, 0.75, 0.875)
"""Shares of the training windows that come before each stretch of them."""
HALF_LIFE, LONG = 1.0, 0.08
"""Horizons after which an error counts half in the weights of each series; at least this share of the training windows,
as those of long series say more together than their last ones."""
SMALLEST = 0.2
"""Share of the training windows that a fit out of time has at least."""
ALL = torch.ones((), dtype=torch.bool)
"""Of series that are told apart by nothing."""


class Stretch(NamedTuple):
    """Windows, and the forecasts of all candidates that were fitted on rows before them.

    spread: How far quantiles of a network lie below and above its forecast, where the answer has a part of it.
    with_models: Series that all classical models were found for, `(series,)`.
    """

    windows: Windows
    forecast: Forecast
    spread: Callable[..., Tensor] | None = None
    with_models: Tensor = ALL


@dataclasses.dataclass(frozen=True, kw_only=True)
class Products:
    """Products of the candidates' errors, means over the cells of a band of steps.

    values: `(windows, bands, candidates, candidates)`, in the order of time.
    validation: How many of the windows, the last ones, are of validation.
    series: Means over all windows and steps, the later the heavier, `(series, candidates, candidates)`; none where
        series have none of theirs.
    cells: How many each is of, by the same weights, `(series,)`.
    """

    names: tuple[str, ...]
    stops: tuple[int, ...]
    values: NDArray[np.float64]
    validation: int
    series: NDArray[np.float64] | None = None
    cells: NDArray[np.float64] | None = None


def stretches(model: WeighedForecasts, prepared: PreparedPanel, sizes: Sizes, *, refit: bool = True) -> list[Stretch]:
    """Rolling stretches of the training rows, each with fits on the rows before it, then validation.

    Where a network takes part there is validation alone, as it is trained once; so without `refit`, where the fits
    would decide nothing. Classical models keep the form that the first fit chose.
    """
    training, parts = prepared.windows["train"].of_targets(), list[Stretch]()
    if refit and training.chosen is None and not any_stepped(model.names):
        first, end = training.first + training.lookback, training.first + len(training.rows)
        starts = [first + int(share * len(training)) for share in ORIGINS]
        usable = [
            row for row in starts if len(training.between(training.first, row)) >= max(SMALLEST * len(training), 1)
        ]
        searched = [name for name in model.names if candidates()[name].is_searched]
        known = {name: each for name, each in model.every.items() if name not in searched}
        for start, following in itertools.pairwise([*usable, end]):
            past = Rows(training.between(training.first, start), prepared.ridge)
            made = refit_candidates(sizes, model.names, known, past)
            known |= {name: made[name] for name in searched if name not in known}
            windows = training.between(start, min(following + training.horizon - 1, end))
            if len(windows):
                parts.append(stretch_of(windows, model.by(made)))
    return [*parts, stretch_of(prepared.windows["validation"], model)]


def stretch_of(windows: Windows, model: WeighedForecasts) -> Stretch:
    """Windows and what a model forecasts there."""
    return Stretch(windows, partial(_forecast, model), None, model.with_models)


def _forecast(
    model: WeighedForecasts, past: Tensor, observed: Tensor | None, covariates: Regressors | None = None
) -> dict[str, Tensor]:
    return model.forecasts(past, observed, model.names, covariates)


@torch.no_grad()
def errors_of(parts: Sequence[Stretch], stride: int = 1) -> dict[str, NDArray[np.float32]]:
    """Errors y - f of every k-th window by model, `(horizon, variates, windows)`; NaN where nothing was observed."""
    errors: dict[str, list[Tensor]] = {}
    for part in parts:
        for batch in part.windows.batches(torch.arange(0, len(part.windows), stride)):
            observed = batch.get("future_observed")
            truth = batch["future"] if observed is None else torch.where(observed, batch["future"], torch.nan)
            for name, forecast in part.forecast(*inputs_of(batch)).items():
                errors.setdefault(name, []).append((truth - forecast).permute(1, 2, 0))
    return {name: torch.cat(batches, -1).numpy() for name, batches in errors.items()}


@torch.no_grad()
def products_of(
    parts: Sequence[Stretch], names: tuple[str, ...], stops: tuple[int, ...], half_life: float | None = None
) -> Products:
    """Products of errors over the windows of some stretches, of every k-th where they hold too many cells.

    They are means over the cells of all series; windows without an observed cell are left out. With a half-life they
    are of each series, too, over the stretches that classical models were fitted before, if there are any. There a
    window counts half of one that begins so many rows later.
    """
    values, own, count = [], torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    modelled, latest = torch.stack([part.with_models for part in parts]).any(0), int(parts[-1].windows.start_rows()[-1])
    for part in parts:
        windows = part.windows
        stride = math.ceil(len(windows) * windows.horizon * windows.all_targets / MAX_CELLS)
        squares, counts = [], []
        for batch in windows.batches(torch.arange(0, len(windows), stride)):
            target = batch["future"]
            keep = batch.get("future_observed", torch.ones_like(target, dtype=torch.bool))
            forecasts = part.forecast(*inputs_of(batch))
            errors = torch.stack([torch.where(keep, forecasts[name] - target, 0).double() for name in names], 1)
            flat = [band.flatten(2) for band in errors.tensor_split(stops[:-1], 2)]
            squares.append(torch.stack([band @ band.mT for band in flat], 1))
            if half_life is not None:
                ages = latest - batch["start"]
                weight = weights_by_age(ages, half_life)[:, None] * (part.with_models | ~modelled)
                own = own + torch.einsum("bkhs,blhs,bs->skl", errors, errors, weight)
                count = count + (weight * keep.sum(1)).sum(0)
            counts.append(torch.stack([band.sum((1, 2)) for band in keep.tensor_split(stops[:-1], 1)], 1))
        sums, cells = windows.total(torch.cat(squares), torch.cat(counts))
        values.append((sums / cells.clamp_min(1)[..., None, None])[cells.any(1)])
    found = Products(names=names, stops=stops, values=torch.cat(values).numpy(), validation=len(values[-1]))
    if half_life is None:
        return found
    series = torch.where(count > 0, 1 / count, 0.0)[:, None, None] * own
    return dataclasses.replace(found, series=series.numpy(), cells=count.numpy())


def half_life_of(training: Windows) -> float:
    """Rows after which an error counts half in the weights of each series."""
    return max(HALF_LIFE * training.horizon, LONG * len(training))


def weights_by_age(rows: Tensor, half_life: float) -> Tensor:
    """Of windows that begin so many rows before the last one."""
    weights: Tensor = 0.5 ** (rows.double() / half_life)
    return weights
