"""What candidates are compared on: errors out of time on validation and on stretches of the training rows."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.forecasting.candidate import Sizes, candidates, fit_all
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.windows import Windows, inputs_of

Forecast = Callable[..., Mapping[str, Tensor]]
"""Of what `inputs_of` has."""
MAX_CELLS = 100_000_000
"""Of errors that are looked at for one comparison; every k-th window where there are more."""
ORIGINS = (0.5, 0.625, 0.75, 0.875)
"""Shares of the training windows that come before each stretch of them."""
SMALLEST = 0.2
"""Share of the training windows that a fit out of time has at least."""


class Stretch(NamedTuple):
    """Windows, and the forecasts of all candidates that were fitted on rows before them.

    spread: How far quantiles of a network lie below and above its forecast, where the answer has a part of it.
    """

    windows: Windows
    forecast: Forecast
    spread: Callable[..., Tensor] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Products:
    """Products of the candidates' errors, means over the cells of a band of steps.

    values: `(windows, bands, candidates, candidates)`, in the order of time.
    validation: How many of the windows, the last ones, are of validation.
    """

    names: tuple[str, ...]
    stops: tuple[int, ...]
    values: NDArray[np.float64]
    validation: int


def stretches(model: WeighedForecasts, prepared: PreparedPanel, sizes: Sizes, *, refit: bool = True) -> list[Stretch]:
    """Rolling stretches of the training rows, each with fits on the rows before it, then validation.

    Where a network takes part there is validation alone, as it is trained once; so without `refit`, where the fits
    would decide nothing. Classical models keep the form that the first fit chose.
    """
    training, validation = prepared.windows["train"].of_targets(), prepared.windows["validation"]
    last = Stretch(validation, _all_of(model))
    if not refit or model.network is not None or training.chosen is not None:
        return [last]
    return [*_earlier(model, training, prepared, sizes), last]


def _earlier(model: WeighedForecasts, training: Windows, prepared: PreparedPanel, sizes: Sizes) -> Iterator[Stretch]:
    first, end = training.first + training.lookback, training.first + len(training.rows)
    starts = [first + int(share * len(training)) for share in ORIGINS]
    usable = [row for row in starts if len(training.between(training.first, row)) >= max(SMALLEST * len(training), 1)]
    searched = [name for name in model.candidates if candidates()[name].is_searched]
    known = {name: each for name, each in model.candidates.items() if name not in searched}
    for start, following in itertools.pairwise([*usable, end]):
        past = training.between(training.first, start)
        made = fit_all(sizes, list(model.candidates), past, known, prepared.ridge)
        known |= {name: made[name] for name in searched if name not in known}
        windows = training.between(start, min(following + training.horizon - 1, end))
        if len(windows):
            twin = WeighedForecasts(model.horizon, model.num_targets, made, None)
            yield Stretch(windows, _all_of(twin))


def _all_of(model: WeighedForecasts) -> Forecast:
    return lambda past, observed, covariates=None: model.forecasts(past, observed, model.names, covariates)


@torch.no_grad()
def products_of(parts: Sequence[Stretch], names: tuple[str, ...], stops: tuple[int, ...]) -> Products:
    """Products of errors over the windows of some stretches, of every k-th where they hold too many cells.

    They are means over the cells of all series; windows without an observed cell are left out.
    """
    values = []
    for part in parts:
        windows = part.windows
        stride = math.ceil(len(windows) * windows.horizon * windows.all_targets / MAX_CELLS)
        some = windows.batches(torch.arange(0, len(windows), stride))
        batches = [_products(part, batch, names, stops) for batch in some]
        sums, cells = windows.total(*(torch.cat(each) for each in zip(*batches, strict=True)))
        values.append((sums / cells.clamp_min(1)[..., None, None])[cells.any(1)])
    return Products(names=names, stops=stops, values=torch.cat(values).numpy(), validation=len(values[-1]))


def _products(
    part: Stretch, batch: dict[str, Tensor], names: tuple[str, ...], stops: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Sums of the products of errors, `(windows, bands, candidates, candidates)`, and observed cells."""
    target = batch["future"]
    keep = batch.get("future_observed", torch.ones_like(target, dtype=torch.bool))
    forecasts = part.forecast(*inputs_of(batch))
    errors = torch.stack([torch.where(keep, forecasts[name] - target, 0).double() for name in names], 1)
    flat = [band.flatten(2) for band in errors.tensor_split(stops[:-1], 2)]
    cells = [band.sum((1, 2)) for band in keep.tensor_split(stops[:-1], 1)]
    return torch.stack([band @ band.mT for band in flat], 1), torch.stack(cells, 1)
