"""Candidates of `multiway train forecast` on a task of an open benchmark: chosen and calibrated on rows before it."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from multiway.metrics.quantiles import TENTHS, pinball_errors
from multiway.models.aligned import AlignedSeasons, DrawnIn, RobustRidge
from multiway.models.regression import Regressors
from multiway.models.windows import fill_gaps
from multiway.tasks.forecasting.bands import RecentErrors, mean_sizes
from multiway.tasks.forecasting.candidates.aligned import fit_aligned
from multiway.tasks.forecasting.candidates.robust import choose_penalty, fit_robust
from multiway.tasks.forecasting.windows import Windows, inputs_of, rows_observed
from multiway_papers.open_tasks import QUANTILES, Floats, Item, OpenTask, windows_of

VALIDATION, STRETCHES = 0.2, 3
"""Share of the rows before the first window that forms are compared on, and stretches it is cut into."""
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of processes in addition to robust ridge."""
REFITS = 7
"""Fits of what forecasts, over all windows."""
SEASONS, LONGEST = 14, 672
"""Of the look-back, half of them where it would be longer than so many steps."""
HALF = 2.0
"""Seasons after which an error counts half in the size of recent ones."""
POWERS, BAND = (0.0, 0.5, 1.0), (0.1, 0.9)

Model = AlignedSeasons | RobustRidge
Form = TypeVar("Form", bound=Model)


@dataclasses.dataclass(frozen=True)
class Rows:
    """Values of an item, `(rows, series)`, what is known ahead, and the phase of the season that windows begin at."""

    values: Floats
    covariates: Regressors
    task: OpenTask
    phase: int

    @classmethod
    def of(cls, task: OpenTask, item: Item) -> "Rows":
        """Read them; covariates in units of the rows before the first window."""
        names = [name for name in item.frame.columns[1:] if name not in item.targets]
        known = torch.tensor(item.frame[names].to_numpy(np.float64))
        before = known[: next(iter(windows_of(task, item)))]
        deviation = before.square().mean(0).sub(before.mean(0).square()).clamp_min(1e-18).sqrt()
        scaled = ((known - before.mean(0)) / deviation)[:, None]
        covariates = Regressors(scaled, scaled[..., :0], torch.arange(len(known)))
        return cls(item.values, covariates, task, next(iter(windows_of(task, item))) % task.season)

    @property
    def lookback(self) -> int:
        """Steps of the past that models see."""
        season = self.task.season
        return SEASONS * season if SEASONS * season <= LONGEST else SEASONS // 2 * season

    def between(self, start: int, stop: int | None = None) -> Windows:
        """Windows whose targets lie in some rows."""
        sizes = {"lookback": self.lookback, "horizon": self.task.horizon}
        values, observed = rows_observed(self.values)
        stop = len(values) if stop is None else stop
        return Windows(values, observed, start=start, stop=stop, **sizes).with_covariates(self.covariates)

    def fitted(self, like: Form, stop: int) -> Form:
        """A candidate like another, on the rows before one."""
        model = self.built(type(like))
        model.penalty.copy_(like.penalty)
        if isinstance(model, AlignedSeasons):
            fit_aligned(model, self.between(0, stop), [self.phase])
        else:
            fit_robust(model, self.between(0, stop))
        return model

    def built(self, form: type[Form]) -> Form:
        """A candidate in the units of the file."""
        sizes = (self.lookback, self.task.horizon, self.task.season, self.values.shape[1])
        return form(*sizes, self.covariates.known.shape[2])


class Outcome(NamedTuple):
    """Forecasts in drawn-in units, `(windows, horizon, targets)`, and what came, NaN where missing."""

    forecast: Tensor
    future: Tensor

    def joined(self, later: "Outcome") -> "Outcome":
        """These windows and later ones."""
        return Outcome(*(torch.cat(parts) for parts in zip(self, later, strict=True)))

    def mixed(self, other: "Outcome", weight: float) -> "Outcome":
        """The same windows with the other's forecasts at some weight."""
        return self._replace(forecast=weight * other.forecast + (1 - weight) * self.forecast)


@dataclasses.dataclass(frozen=True)
class Scale:
    """Units in which bands have their errors: drawn in, or those of the file."""

    units: DrawnIn
    is_drawn: bool

    def errors(self, outcome: Outcome) -> Floats:
        """`(windows, horizon, targets)`."""
        forecast, future = outcome if self.is_drawn else map(self.units.back, outcome)
        return np.asarray((future - forecast).numpy())

    def levels(self, centre: Tensor, spread: Floats) -> Floats:
        """Quantiles in units of the file, from forecasts `(windows, horizon, targets)` and errors at each quantile."""
        moved = torch.from_numpy(spread).movedim(0, -1)
        if self.is_drawn:
            inner = (centre[..., None] + moved).movedim(-1, 0)
            return np.asarray(self.units.back(inner).movedim(0, -1).numpy())
        return np.asarray((self.units.back(centre)[..., None] + moved).numpy())


class Mix(NamedTuple):
    """Candidates whose forecasts are mixed, by weight, and the units they are mixed in."""

    models: list[Model]
    weights: list[float]
    units: DrawnIn

    def forecast(self, rows: Rows, origins: Sequence[int]) -> "Outcome":
        """Forecasts of windows, and what came."""
        batch = rows.between(0).gather(torch.tensor(origins) - rows.lookback)
        past, seen, covariates = inputs_of(batch)
        past = past if seen is None else fill_gaps(past, seen)
        parts = [weight * self.units.into(model(past, covariates)) for model, weight in self.parts]
        return Outcome(torch.stack(parts).sum(0), self.units.into(_future(batch)))

    @property
    def parts(self) -> list[tuple[Model, float]]:
        """Candidates with any weight."""
        return [(model, weight) for model, weight in zip(self.models, self.weights, strict=True) if weight]

    def fitted(self, rows: Rows, stop: int) -> "Mix":
        """The same fitted on the rows before one."""
        return self._replace(
            models=[
                rows.fitted(model, stop) if weight else model
                for model, weight in zip(self.models, self.weights, strict=True)
            ]
        )


def aligned_forecast(task: OpenTask, item: Item) -> Floats:
    """Quantiles of every window, `(windows, horizon, targets, QUANTILES)`.

    Windows that begin at another phase of the season, as every second one of half a day does, have errors of their own.
    """
    rows, starts = Rows.of(task, item), np.array([*windows_of(task, item)])
    out = np.empty((len(starts), task.horizon, rows.values.shape[1], len(QUANTILES)))
    for phase in np.unique(starts % task.season):
        is_own = starts % task.season == phase
        out[is_own] = _forecast_of_phase(dataclasses.replace(rows, phase=int(phase)), starts[is_own].tolist())
    return out


def _forecast_of_phase(rows: Rows, starts: Sequence[int]) -> Floats:
    """Quantiles of windows of one phase. Errors of windows that have ended are of the last fit before them."""
    horizon, season = rows.task.horizon, rows.task.season
    mix, outcome = best_mix(rows, starts[0])
    scale, power = choose_bands(outcome, mix.units, rows, starts[0])
    fits, out, last, every = {0: mix}, list[Floats](), starts[0] - horizon, -(-len(starts) // REFITS)
    for place, start in enumerate(starts):
        passed = range(max(last + season, starts[0]), start - horizon + 1, season)
        if passed:
            before = max(fitted for fitted in fits if fitted <= passed[0])
            outcome, last = outcome.joined(fits[before].forecast(rows, passed)), passed[-1]
        if place % every == 0:
            fits[start] = mix = mix.fitted(rows, start)
        errors = scale.errors(outcome)
        sizes = recent_sizes(errors, rows) ** power
        out.append(scale.levels(mix.forecast(rows, [start]).forecast, spread_of(errors, sizes) * sizes[-1])[0])
    return np.stack(out)


def spread_of(errors: Floats, sizes: Floats) -> Floats:
    """Quantiles of errors relative to the sizes at their windows, `(QUANTILES, horizon, targets)`."""
    return np.asarray(np.nanquantile(errors / sizes[:-1, None], QUANTILES, axis=0))


def best_mix(rows: Rows, stop: int) -> tuple[Mix, Outcome]:
    """The mix that errs least on windows before a row, each forecast by fits on what lies before it; and its forecasts.

    Ridge is fitted before each stretch; a process before every window, if these share no step.
    """
    season = rows.task.season
    length = int(VALIDATION * stop) // STRETCHES // season * season
    first = stop - STRETCHES * length
    units = DrawnIn(rows.values.shape[1])
    units.set_units(torch.tensor(rows.values[:first]))
    stretches = [
        range(start, min(start + length, stop - rows.task.horizon + 1), season) for start in range(first, stop, length)
    ]
    ridge = rows.built(RobustRidge)
    choose_penalty(ridge, rows.between(0, first), rows.between(first, first + length))
    outcome = _forecasts(rows, ridge, units, stretches)
    if rows.task.horizon > season:
        process = rows.fitted(rows.built(AlignedSeasons), first)
        other = _forecasts(rows, process, units, stretches)
    else:
        process = rows.fitted(rows.built(AlignedSeasons), stop)
        other = _foreseen(rows, process, units, stop, len(outcome.forecast))
    drawn = Scale(units, is_drawn=True)
    losses = {each: float(np.nanmean(np.abs(drawn.errors(outcome.mixed(other, each))))) for each in WEIGHTS}
    weight = min(losses, key=lambda weight: losses[weight])
    return Mix([process, ridge], [weight, 1 - weight], units), outcome.mixed(other, weight)


def _forecasts(rows: Rows, like: Model, units: DrawnIn, stretches: Sequence[Sequence[int]]) -> Outcome:
    """Of stretches, each by a candidate like another that is fitted on what lies before."""
    parts = [Mix([rows.fitted(like, origins[0])], [1.0], units).forecast(rows, origins) for origins in stretches]
    return functools.reduce(Outcome.joined, parts)


def _foreseen(rows: Rows, process: AlignedSeasons, units: DrawnIn, stop: int, count: int) -> Outcome:
    """Of the last windows before a row, each forecast by the process on those before it."""
    forecast = process.foreseen(torch.tensor(rows.values[:stop]), stop % rows.task.season)[-count:]
    origins = stop - rows.task.horizon - rows.task.season * np.arange(count - 1, -1, -1)
    future = _future(rows.between(0).gather(torch.from_numpy(origins) - rows.lookback))
    return Outcome(units.into(forecast), units.into(future))


def _future(batch: dict[str, Tensor]) -> Tensor:
    """NaN where missing."""
    future, there = batch["future"], batch.get("future_observed")
    return future if there is None else torch.where(there, future, torch.nan)


def recent_sizes(errors: Floats, rows: Rows) -> Floats:
    """Mean absolute errors of the windows that had ended before each, and before the next: `(windows + 1, targets)`.

    An earlier window counts the less the longer ago it began, by half for every `HALF` seasons.
    """
    sizes, season = mean_sizes(errors.swapaxes(0, 1)), rows.task.season
    recent = RecentErrors(np.nanmean(sizes, 0), rows.task.horizon, HALF)
    before = recent.along(range(0, len(sizes) * season, season), sizes)
    return np.concatenate([before, recent.before(len(sizes) * season)[None]])


def choose_power(errors: Floats, rows: Rows) -> float:
    """How much bands follow the size of recent errors: the power under which they hold most evenly what they should.

    Their shares of values are compared over stretches as long as all windows of the task.
    """
    count = max(len(errors) * rows.task.season // (rows.task.windows * rows.task.horizon), 1)
    missed = dict[float, float]()
    for power in POWERS:
        scaled = errors / recent_sizes(errors, rows)[:-1, None] ** power
        low, high = np.nanquantile(scaled, BAND, axis=0)
        held = np.where(np.isnan(scaled), np.nan, (low <= scaled) & (scaled <= high))
        shares = [float(np.nanmean(each)) for each in np.array_split(held, count)]
        missed[power] = float(np.mean(np.abs(np.array(shares) - (BAND[1] - BAND[0]))))
    return min(missed, key=lambda power: missed[power])


def choose_bands(outcome: Outcome, units: DrawnIn, rows: Rows, stop: int) -> tuple[Scale, float]:
    """Units of the errors of bands, and their power, with the least scaled quantile loss (SQL) before a row."""
    future = units.back(outcome.future).numpy()
    season = rows.task.season
    naive = np.nanmean(np.abs(rows.values[season:stop] - rows.values[: stop - season]), 0)
    losses = dict[tuple[Scale, float], float]()
    for scale in (Scale(units, is_drawn=True), Scale(units, is_drawn=False)):
        errors = scale.errors(outcome)
        power = choose_power(errors, rows)
        sizes = recent_sizes(errors, rows) ** power
        levels = scale.levels(outcome.forecast, spread_of(errors, sizes)[:, None] * sizes[:-1, None])
        losses[scale, power] = float(np.nanmean(pinball_errors(future, levels[..., 1:-1], TENTHS).mean(-1) / naive))
    return min(losses, key=lambda bands: losses[bands])
