"""Windows of series as models see them; the linear floor under a network; a mean and ridge as baselines."""

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol, Self, runtime_checkable

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from multiway.config import Config
from multiway.errors import ShapeError
from multiway.models.baselines import Facts, Linear, Mean, fit_ridge

VARIANCE_FLOOR = 1e-5
"""Added to the variance, as in the paper's code: a constant window is divided by 0.003, not by zero."""


class Others(NamedTuple):
    """Forecasts that someone else made at past moments.

    ends: `(moments,)` int64, the rows of the panel before the future of each, rising.
    values: `(moments, steps, series, models)` in the units of the file, NaN where there is none.
    names: Of the models.
    """

    ends: Tensor
    values: Tensor
    names: tuple[str, ...] = ()

    def at(self, ends: Tensor, model: int) -> Tensor:
        """One model's from some moments, `(batch, steps, series)`; NaN at others."""
        if not len(self.ends):
            return self.values.new_full((len(ends), *self.values.shape[1:3]), torch.nan)
        places = torch.searchsorted(self.ends, ends).clamp_max(len(self.ends) - 1)
        found = self.values[places, ..., model]
        return torch.where((self.ends[places] == ends)[:, None, None], found, torch.nan)


class History(NamedTuple):
    """All rows of a panel up to the last window that is forecast, and where the future of each window begins.

    rows: `(rows, series)` in scaled units, 0 where nothing is observed.
    observed: The same, boolean; None where all is.
    clock: `(rows,)` int64, the number of each row on the calendar.
    ends: `(batch,)`, the rows before the future of each window.
    others: What someone else forecast from some of these moments.
    """

    rows: Tensor
    observed: Tensor | None
    clock: Tensor
    ends: Tensor
    others: Others | None = None

    def of_last(self, series: int) -> Self:
        """That of the last series."""
        if series == self.rows.shape[1]:
            return self
        observed = None if self.observed is None else self.observed[:, -series:]
        return self._replace(rows=self.rows[:, -series:], observed=observed)


class WindowSizes(Config):
    """What the config of every forecaster has."""

    num_variates: int = Field(gt=0)
    """Series observed together (HOT sec. 5.1, OLinear, iTransformer: N)."""
    lookback: int = Field(96, gt=0)
    """Past time steps the model sees (HOT, OLinear, iTransformer: T; PatchTST: L). A count, not a duration."""
    horizon: int = Field(96, gt=0)
    """Future time steps it forecasts (HOT, iTransformer: S; OLinear: τ; PatchTST: T)."""


class TargetSizes(WindowSizes):
    """Also that of a forecaster which may see other series than it forecasts (NdLinear, table 4)."""

    num_targets: int | None = Field(None, gt=0)
    """The last so many are forecast and not seen; every series is both if not given."""
    lookback: int = Field(24, gt=0)
    horizon: int = Field(12, gt=0)

    @model_validator(mode="after")
    def _a_series_is_seen(self) -> Self:
        if self.num_targets is not None and self.num_targets >= self.num_variates:
            raise ValueError(f"num_targets must leave a series to see. Got {self.num_targets} of {self.num_variates}")
        return self

    @property
    def num_seen(self) -> int:
        """Series that are no targets, or all where all are."""
        return num_seen(self.num_variates, self.num_targets)

    @property
    def num_outputs(self) -> int:
        """Numbers of a forecast."""
        return self.horizon * (self.num_targets or self.num_variates)


def check_windows(model: str, past: Tensor, observed: Tensor | None, sizes: WindowSizes) -> None:
    """Hold a batch to the look-back and variates that a model was built for."""
    if past.ndim != 3 or past.shape[1:] != (sizes.lookback, sizes.num_variates):
        raise ShapeError(
            f"{model}: past must be (batch, lookback, variates) with {sizes.lookback} steps and "
            f"{sizes.num_variates} variates. Got {tuple(past.shape)}. Batch first, then time, then variates."
        )
    if observed is not None and (observed.shape != past.shape or observed.dtype != torch.bool):
        raise ShapeError(
            f"{model}: past_observed must be boolean and shaped like past. Got "
            f"{observed.dtype} {tuple(observed.shape)} for past {tuple(past.shape)}. "
            f"Pass True where a value was observed."
        )


def fill_gaps(past: Tensor, observed: Tensor) -> Tensor:
    """Put the last observed value into each gap; before the first one, the first; 0 where there is none.

    Only observed cells are read, so whatever stands in the others (NaN too) reaches neither the result nor
    the gradient. past, observed: `(batch, lookback, variates)`; observed is boolean.
    """
    steps = torch.arange(past.shape[1], device=past.device)[:, None]
    latest = torch.where(observed, steps, -1).cummax(dim=1).values
    first = observed.to(torch.int8).argmax(dim=1, keepdim=True)
    known = torch.where(observed, past, 0.0)
    return known.gather(1, torch.where(latest < 0, first, latest))


def read_past(model: str, past: Tensor, observed: Tensor | None, sizes: WindowSizes) -> Tensor:
    """The past of every series without gaps, held to the sizes that a model was built for; see `check_windows`."""
    check_windows(model, past, observed, sizes)
    return past if observed is None else fill_gaps(past, observed)


def num_seen(num_variates: int, num_targets: int | None) -> int:
    """How many series a forecaster sees: those that are no targets, or all where all are."""
    return num_variates - (num_targets or 0)


def past_as_seen(past: Tensor, observed: Tensor | None, num_targets: int | None) -> Tensor:
    """The past of the series that a forecaster sees, without gaps; the targets are the last ones."""
    filled = past if observed is None else fill_gaps(past, observed)
    return filled if num_targets is None else filled[..., :-num_targets]


def window_moments(past: Tensor, observed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Take each variate's mean and biased standard deviation over its observed steps, `(batch, 1, variates)`.

    Computed in float32 or wider. With nothing observed the mean is 0 and the deviation that of a constant.
    """
    wide = past.to(torch.promote_types(past.dtype, torch.float32))
    if observed is None:
        mean = wide.mean(dim=1, keepdim=True)
        variance = (wide - mean).square().mean(dim=1, keepdim=True)
    else:
        count = observed.sum(dim=1, keepdim=True).clamp(min=1)
        mean = torch.where(observed, wide, 0.0).sum(dim=1, keepdim=True) / count
        variance = torch.where(observed, wide - mean, 0.0).square().sum(dim=1, keepdim=True) / count
    return mean.to(past.dtype), (variance + VARIANCE_FLOOR).sqrt().to(past.dtype)


def valid_patches(observed: Tensor, patch_length: int) -> Tensor:
    """Say where a patch holds at least one observed step: `(batch, variates, patches)`."""
    batch, lookback, variates = observed.shape
    return observed.reshape(batch, lookback // patch_length, patch_length, variates).any(dim=2).transpose(1, 2)


class Normalised(NamedTuple):
    """A window freed of its centre and scale.

    steps: `(batch, lookback, variates)`.
    centre, scale: `(batch, 1, variates)`, in the units of the window.
    """

    steps: Tensor
    centre: Tensor
    scale: Tensor


def by_mean(filled: Tensor, observed: Tensor | None, limit: float | None) -> Normalised:
    """Subtract the mean of the observed steps and divide by their deviation, as the paper's code."""
    return _measure_scale(filled, window_moments(filled, observed)[0], observed, limit)


def by_last(filled: Tensor, observed: Tensor | None, limit: float | None) -> Normalised:
    """Subtract the last value and divide by the deviation of the observed steps."""
    return _measure_scale(filled, filled[:, -1:], observed, limit)


def as_it_is(filled: Tensor, observed: Tensor | None, limit: float | None) -> Normalised:
    """Leave the window alone."""
    return Normalised(filled, torch.zeros_like(filled[:, :1]), torch.ones_like(filled[:, :1]))


NORMALISERS = {"standard": by_mean, "last": by_last, "none": as_it_is}


def _measure_scale(filled: Tensor, centre: Tensor, observed: Tensor | None, limit: float | None) -> Normalised:
    """Clip before measuring the scale: one broken cell must not set the unit of a whole forecast."""
    steps = filled - centre
    if limit is not None:
        steps = steps.clamp(-limit, limit)
    scale = window_moments(steps, observed)[1]
    return Normalised(steps / scale, centre, scale)


Baseline = Literal["mean", "ridge_inputs"]


class WindowBaseline(nn.Module):
    """The mean of the training targets, or a linear map of every past value of the series that are seen.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean; forecast `(batch, horizon, targets)`.
    """

    def __init__(self, name: Baseline, num_variates: int, num_targets: int | None, lookback: int, horizon: int) -> None:
        super().__init__()
        self.num_targets, self.horizon = num_targets, horizon
        features, outputs = lookback * num_seen(num_variates, num_targets), horizon * (num_targets or num_variates)
        self.model: Mean | Linear = Mean(outputs) if name == "mean" else Linear(features, outputs)

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        out = self.model(self.features(past, past_observed)).to(past.dtype)
        forecast: Tensor = out.unflatten(1, (self.horizon, -1))
        return forecast

    def features(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Past values of the series that are seen, `(batch, lookback * series)`."""
        return past_as_seen(past, past_observed, self.num_targets).flatten(1)

    def fit(self, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor) -> Facts | None:
        """Fit on features and flat targets of training windows; validation windows choose ridge's penalty."""
        if isinstance(self.model, Linear):
            return fit_ridge(self.model, x, y, held_x, held_y)
        self.model.fit(y)
        return None


class LinearFloor(nn.Module):
    """Forecast last value + W (window - last value), with W from a closed form (`ops.ridge`).

    Until `set_weight` W is zero, which is the naive forecast. A trained floor is a parameter, a frozen one a
    buffer; both are saved under the same name.

    Shape:
        Input `(batch, lookback, variates)`, output `(batch, horizon, variates)`.
    """

    weight: Tensor

    def __init__(self, num_matrices: int, horizon: int, lookback: int, *, trained: bool) -> None:
        super().__init__()
        weight = torch.zeros(num_matrices, horizon, lookback)
        if trained:
            self.weight = nn.Parameter(weight)
        else:
            self.register_buffer("weight", weight)

    def set_weight(self, weight: Tensor) -> None:
        """Copy in fitted matrices `(variates or 1, horizon, lookback)`; a single one serves every variate."""
        if weight.shape not in (self.weight.shape, (1, *self.weight.shape[1:])):
            raise ShapeError(
                f"set_floor: weight must be (variates or 1, horizon, lookback) = {tuple(self.weight.shape)}. "
                f"Got {tuple(weight.shape)}. A shared floor takes one matrix; matrices are stored (out, in)."
            )
        with torch.no_grad():
            self.weight.copy_(weight.expand_as(self.weight))

    def forward(self, past: Tensor) -> Tensor:
        """Forecast every variate by its own matrix."""
        last = past[:, -1:]
        steps = (past - last).permute(2, 1, 0)  # (variates, lookback, batch)
        return last + (self.weight @ steps).permute(2, 1, 0)

    def extra_repr(self) -> str:
        """Sizes, and whether the matrices are trained."""
        matrices, horizon, lookback = self.weight.shape
        return f"{matrices}, {horizon}, {lookback}, trained={isinstance(self.weight, nn.Parameter)}"


class Bases(NamedTuple):
    """Orthogonal matrices whose rows are the vectors of a basis.

    past: `(lookback, lookback)`.
    future: `(horizon, horizon)`.
    """

    past: Tensor
    future: Tensor


@runtime_checkable
class StartsFromTraining(Protocol):
    """A forecaster that takes something from the training windows in closed form."""

    def start_from(self, ridge: Callable[[], Tensor], bases: Callable[[], Bases]) -> None:
        """Take what it needs before any step: matrices of ridge as of `LinearFloor`, or bases of the steps."""

    def set_apart(self, young: Tensor) -> None:
        """Give variates that were never seen in training, `(variates,)`, a place among the others."""
