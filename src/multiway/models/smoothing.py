"""Exponential smoothing and Theta: parameters and states by statsforecast, run on over the rows that come later.

Of intermittent series: how often there is anything, times how much there is then, both smoothed.
"""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from multiway import ops
from multiway.models.recursions import Model, Recursion, State, Values, fit_by_library, season_in
from multiway.models.series_units import NOTHING, Units

FEWEST = 5
"""Values that a model is fitted on at least."""
MOST = {"ets": 400, "theta": 1000}
"""Values of a series, the last ones, that a model is fitted on."""
HALF_LIVES = (2.0, 5.0, 12.0, 30.0, float("inf"))
"""Steps in which the weight of a value halves."""
THETAS = ("STM", "OTM", "DSTM", "DOTM")
"""Models of the library: the line stands or moves (D), and its weight is one half or fitted (O)."""
LARGEST_LOG = 700.0
ZERO = 1e-4
"""Deviations below which a value counts as none, as those of models are rounded."""


class Seasonal(Recursion):
    """A model whose state has a level, a season, and whether that multiplies.

    level: `(series,)`; season: `(season, series)`, the first of the next step; times: `(series,)`, boolean.
    """

    level: Tensor
    shape: Tensor
    times: Tensor
    starts: ClassVar[Mapping[str, float]]
    """Other numbers of each series, and what they are before a fit."""

    def __init__(self, horizon: int, season: int, units: Units) -> None:
        super().__init__(horizon, season, units)
        count = len(units.mean)
        self.level = nn.Buffer(torch.zeros(count, dtype=torch.float64))
        self.shape = nn.Buffer(torch.zeros(season, count, dtype=torch.float64))
        self.times = nn.Buffer(torch.zeros(count, dtype=torch.bool))
        for name, start in self.starts.items():
            self.register_buffer(name, torch.full((count,), start, dtype=torch.float64))

    def start_at(self, series: int, values: Values) -> None:
        """Exponential smoothing of weight one half."""
        self.level[series] = functools.reduce(lambda level, value: level + 0.5 * (value - level), values.tolist())

    def season_at(self, shift: Tensor) -> Tensor:
        """The season of the fit, so many steps after it."""
        steps = (torch.arange(self.season)[:, None] + shift) % self.season
        return self.shape.gather(0, steps)

    def let_add(self, value: Tensor, level: Tensor, season: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The season and whether it multiplies; it adds from the first value on that is none in a positive series."""
        falls = times & (value < NOTHING * self.units.low)
        if not bool(falls.any()):
            return season, times
        return torch.where(falls, level * (season - 1), season), times & ~falls


class Smoothing(Seasonal):
    r"""Level, trend and season of each series.

    $$\hat y_t = (l + \phi b) \circ s, \quad l \leftarrow l + \phi b + \alpha e, \quad
      b \leftarrow \phi b + \beta e, \quad s \leftarrow s + \gamma e'$$

    where the season s is added or multiplies, e is the error in units of the level and e' in units of the season
    (Hyndman, Koehler, Ord and Snyder 2008). A model with multiplicative errors has the same forecasts, as it has the
    same recursion.

    alpha, beta, gamma, phi: `(series,)`; phi is 0 without a trend.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    alpha: Tensor
    beta: Tensor
    gamma: Tensor
    phi: Tensor
    trend: Tensor
    parts: ClassVar[tuple[str, ...]] = ("level", "trend", "shape", "times")
    starts: ClassVar = {"alpha": 0.5, "beta": 0.0, "gamma": 0.0, "phi": 0.0, "trend": 0.0}

    def begin(self, value: Tensor, shift: Tensor) -> State:
        """At the first value, with the trend and the season of the fit."""
        season = self.season_at(shift)
        return ops.without_shape(value, season[0], self.times), self.trend, season, self.times

    def after(self, state: State, value: Tensor) -> State:
        """One step of the recursion."""
        level, trend, season, times = state
        ahead = level + self.phi * trend
        season, times = self.let_add(value, ahead, season, times)
        error = value - ops.with_shape(ahead, season[0], times)
        by_level = error / torch.where(times, season[0], 1.0)
        moved = season[0] + self.gamma * error / torch.where(times, ahead, 1.0)
        season = torch.cat([season[1:], moved[None]])
        return ahead + self.alpha * by_level, self.phi * trend + self.beta * by_level, season, times

    def ahead(self, state: State) -> Tensor:
        """The line of level and trend, with the season."""
        level, trend, season, times = state
        steps = torch.arange(self.horizon)
        damping = (self.phi ** (steps[:, None] + 1.0)).cumsum(0)
        levels = level[:, None] + damping * trend[:, None]
        return ops.with_shape(levels, season[:, steps % self.season], times[:, None])

    def read(self, numbers: list[int]) -> dict[str, Any]:
        """Arguments of AutoETS."""
        letters = "".join("NAM"[number] for number in numbers[:3])
        return {"model": letters, "damped": bool(numbers[3]), "season_length": numbers[4]}

    def numbers(self, model: Model) -> list[int]:
        """Those of error, trend and season, damping, and steps of a season."""
        *letters, damped = model["components"]
        return [*map("NAM".index, letters), int(damped == "D"), model["m"]]

    def still(self, form: dict[str, Any], values: Values) -> dict[str, Any] | None:
        """One that adds, where a series has fallen to zero since; none without a season that the values show by now."""
        if form["season_length"] < season_in(values, self.season):
            return None
        return form if values.min() > 0 else {**form, "model": form["model"].replace("M", "A")}

    def search(self, values: Values) -> Model | None:
        """The form of the lowest corrected AIC."""
        return self.fit_form(values, {"season_length": season_in(values, self.season)})

    def fit_form(self, values: Values, form: dict[str, Any]) -> Model | None:
        """By statsforecast, on the last values."""
        is_series = len(values) >= FEWEST and np.ptp(values) > 0
        return fit_by_library("AutoETS", values[-MOST["ets"] :], **form) if is_series else None

    def loss(self, model: Model) -> float:
        """The corrected AIC."""
        return float(model["aicc"])

    def errors(self, model: Model) -> Values:
        """Also of a model whose errors multiply."""
        return np.asarray(model["actual_residuals"])

    def count_fitted(self, model: Model) -> int:
        """Weights and the first state."""
        return int(model["n_params"])

    def keep(self, series: int, model: Model) -> None:
        """Take over a model that statsforecast fitted."""
        _, trend, season, damped = model["components"]
        alpha, beta, gamma, phi = (0.0 if np.isnan(value) else float(value) for value in model["par"][:4])
        self.alpha[series], self.beta[series], self.gamma[series] = alpha, beta, gamma
        self.phi[series] = 0.0 if trend == "N" else phi if damped == "D" else 1.0
        level, *rest = torch.from_numpy(np.array(model["states"][-1]))
        self.level[series], self.times[series] = level, season == "M"
        self.trend[series] = rest.pop(0) if trend != "N" else 0.0
        if season != "N":
            self.shape[:, series] = torch.stack(rest).flip(0)


class LogSmoothing(Smoothing):
    """Smoothing of the logarithms of positive series, where trend and season add up: the exponential of its forecast.

    Series with a value at or below zero in the rows of the fit are left as they are. A positive series that falls to
    nothing later is smoothed as it is from there on, without trend and season.

    logged: Whether logarithms are taken, `(series,)`.
    """

    logged: Tensor
    parts = (*Smoothing.parts, "logged")

    def __init__(self, horizon: int, season: int, units: Units) -> None:
        super().__init__(horizon, season, units)
        self.logged = nn.Buffer(torch.zeros(len(units.mean), dtype=torch.bool))

    def begin(self, value: Tensor, shift: Tensor) -> State:
        """See `Smoothing`, of logarithms where the first value has one."""
        logged = self.logged & (value >= NOTHING * self.units.low)
        return *super().begin(_logs(value, logged), shift), logged

    def after(self, state: State, value: Tensor) -> State:
        """See `Smoothing`, of logarithms up to the first value that is none."""
        *before, logged = state
        falls = logged & (value < NOTHING * self.units.low)
        level, trend, season, times = super().after((*before,), _logs(value, logged & ~falls))
        plain = torch.where(falls, value, level), torch.where(falls, 0.0, trend), torch.where(falls, 0.0, season)
        return *plain, times, logged & ~falls

    def ahead(self, state: State) -> Tensor:
        """See `Smoothing`; the median where that of logarithms is."""
        *before, logged = state
        lines = super().ahead((*before,))
        return torch.where(logged[:, None], lines.clamp_max(LARGEST_LOG).exp(), lines)

    def search(self, values: Values) -> Model | None:
        """Of forms with and without a season, that of the lower corrected AIC."""
        season = season_in(values, self.season)
        forms = [{"model": "AZN", "season_length": 1}, {"model": "AZA", "season_length": season}]
        found = [self.fit_form(values, form) for form in (forms if season > 1 else forms[:1])]
        return min((model for model in found if model is not None), key=self.loss, default=None)

    def fit_form(self, values: Values, form: dict[str, Any]) -> Model | None:
        """By statsforecast, on the logarithms of the last values."""
        logged = bool((values > 0).all())
        model = super().fit_form(np.log(values) if logged else values, form)
        if model is None:
            return None
        some, missed = values[-MOST["ets"] :], model["actual_residuals"]
        errors = some - np.exp(np.log(some) - missed) if logged else missed
        return {**model, "logged": logged, "actual_residuals": errors}

    def keep(self, series: int, model: Model) -> None:
        """Take over a model that statsforecast fitted."""
        super().keep(series, model)
        self.logged[series] = model["logged"]


def _logs(values: Tensor, logged: Tensor) -> Tensor:
    """The logarithms of some series, the others as they are."""
    return torch.where(logged, torch.where(logged, values, 1.0).log(), values)


class Theta(Seasonal):
    r"""A line and exponential smoothing, of a series without the shape of its cycles.

    $$\hat y_{n+1} = s_1 \circ \left(l + \left(1 - \frac 1\theta\right) \left(a (1-\alpha)^n +
      b \frac{1 - (1-\alpha)^{n+1}}{\alpha}\right)\right), \quad l \leftarrow \alpha y + (1-\alpha) l$$

    l is the last level of simple exponential smoothing over n values, and a + b t a line. It is that through the values
    of the fit, or follows those of a dynamic model as they come (Assimakopoulos and Nikolopoulos 2000; Fiorucci et al.
    2016, eqs. 13 and 17). Later steps take the forecast for the value.

    alpha, weight: `(series,)`, α and 1 - 1/θ.
    dynamic: Whether the line moves.
    mean, intercept, slope, count: The mean of the values, a, b and n.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    alpha: Tensor
    weight: Tensor
    mean: Tensor
    intercept: Tensor
    slope: Tensor
    count: Tensor
    dynamic: Tensor
    parts = ("level", "mean", "intercept", "slope", "count", "shape", "times")
    starts: ClassVar = {"alpha": 0.5, "weight": 0.5, "mean": 0.0, "intercept": 0.0, "slope": 0.0, "count": 0.0}

    def __init__(self, horizon: int, season: int, units: Units) -> None:
        super().__init__(horizon, season, units)
        self.dynamic = nn.Buffer(torch.zeros(len(units.mean), dtype=torch.bool))

    def begin(self, value: Tensor, shift: Tensor) -> State:
        """At the first value, with the season of the fit, and its line where that does not move."""
        season = self.season_at(shift)
        level, flat = ops.without_shape(value, season[0], self.times), torch.zeros_like(value)
        intercept = torch.where(self.dynamic, level, self.intercept)
        slope = torch.where(self.dynamic, flat, self.slope)
        return level, level, intercept, slope, flat + 1, season, self.times

    def after(self, state: State, value: Tensor) -> State:
        """One step of exponential smoothing, and of the line."""
        *line, season, times = state
        season, times = self.let_add(value, line[0], season, times)
        return *self._move(line, ops.without_shape(value, season[0], times)), season.roll(-1, 0), times

    def ahead(self, state: State) -> Tensor:
        """Step by step, each taken for the value of the next, with the season."""
        *line, season, times = state
        levels = []
        for _ in range(self.horizon):
            level, _, intercept, slope, count = line
            left = (1 - self.alpha) ** count
            levels.append(level + self.weight * (intercept * left + slope * (1 - (1 - self.alpha) * left) / self.alpha))
            line = [*self._move(line, levels[-1])]
        steps = torch.arange(self.horizon)
        return ops.with_shape(torch.stack(levels, 1), season[:, steps % self.season], times[:, None])

    def _move(self, line: Sequence[Tensor], value: Tensor) -> State:
        """Level, mean, line and count after one more value without the season."""
        level, mean, intercept, slope, count = line
        steeper = ((count - 1) * slope + 6 * (value - mean) / (count + 1)) / (count + 2)
        mean, slope = (count * mean + value) / (count + 1), torch.where(self.dynamic, steeper, slope)
        intercept = torch.where(self.dynamic, mean - slope * (count + 2) / 2, intercept)
        return torch.lerp(level, value, self.alpha), mean, intercept, slope, count + 1

    def read(self, numbers: list[int]) -> dict[str, Any]:
        """The model by its name in the library."""
        return {"model": THETAS[numbers[0]]}

    def numbers(self, model: Model) -> list[int]:
        """The place of the model."""
        return [THETAS.index(model["modeltype"])]

    def still(self, form: dict[str, Any], values: Values) -> dict[str, Any]:
        """Each serves for any values."""
        return form

    def search(self, values: Values) -> Model | None:
        """The model of the least mean square."""
        return self.fit_form(values, {})

    def fit_form(self, values: Values, form: dict[str, Any]) -> Model | None:
        """By statsforecast, on the last values."""
        is_series = len(values) >= FEWEST and np.ptp(values) > 0
        some = values[-MOST["theta"] :]
        season = season_in(some, self.season)
        return fit_by_library("AutoTheta", some, season_length=season, **form) if is_series else None

    def loss(self, model: Model) -> float:
        """The mean square of its errors."""
        return float(model["mse"])

    def count_fitted(self, model: Model) -> int:
        """The first level, α, and θ where it is fitted."""
        return 3 if model["modeltype"] in ("OTM", "DOTM") else 2

    def keep(self, series: int, model: Model) -> None:
        """Take over a model that statsforecast fitted."""
        parts = self.level, self.mean, self.intercept, self.slope
        for part, value in zip(parts, model["states"][-1], strict=False):
            part[series] = float(value)
        self.alpha[series], self.weight[series] = float(model["par"]["alpha"]), 1 - 1 / float(model["par"]["theta"])
        self.count[series], self.dynamic[series] = model["n"], model["modeltype"].startswith("D")
        if model.get("decompose"):
            self.times[series] = model["decomposition_type"] == "multiplicative"
            self.shape[:, series] = torch.from_numpy(np.array(model["seas_forecast"]["mean"]))


class Intermittent(nn.Module):
    r"""Teunter, Syntetos and Babai (2011): probability times size of a demand, the same for every step ahead.

    $$\hat y = \frac{\sum_t \alpha^{L-t} [x_t \ne 0]}{\sum_t \alpha^{L-t}}
    \cdot \frac{\sum_t \beta^{L-t} x_t}{\sum_t \beta^{L-t} [x_t \ne 0]}$$

    Differs from the paper: sums over a window of L steps replace recursions, and sizes age with time as well.

    decays: α and β of every series, `(2, series)` float64.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    def __init__(self, horizon: int, units: Units) -> None:
        super().__init__()
        self.horizon, self.units = horizon, units
        self.decays = nn.Buffer(torch.ones(2, len(units.mean), dtype=torch.float64))

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in scaled units."""
        level = self.level(past, self.decays)
        return self.units.back(level[:, None].expand(-1, self.horizon, -1))

    def level(self, past: Tensor, decays: Tensor) -> Tensor:
        """Demand of a step in the units of the file, `(batch, series)`."""
        values = self.units.into(past)
        there = (values.abs() > ZERO * self.units.std).double()
        ages = torch.arange(past.shape[1] - 1, -1, -1, dtype=torch.float64)[:, None]
        often, much = (decay**ages for decay in decays)
        size = (much * values * there).sum(1) / (much * there).sum(1).clamp_min(torch.finfo(torch.float64).tiny)
        level: Tensor = (often * there).sum(1) / often.sum(0) * size
        return level

    def fit(self, examples: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Choose the decays of every series by the squared errors of windows, whose missing futures are NaN."""
        decays = [0.5 ** (1 / life) for life in HALF_LIVES]
        pairs = torch.tensor(list(itertools.product(decays, decays)), dtype=torch.float64)
        errors = torch.zeros(len(pairs), self.decays.shape[1], dtype=torch.float64)
        for past, future in examples:
            actual = future.double() * self.units.std + self.units.mean
            for place, pair in enumerate(pairs):
                level = self.level(past, pair[:, None].expand_as(self.decays))
                errors[place] += (actual - level[:, None]).square().nansum((0, 1))
        self.decays.copy_(pairs[errors.argmin(0)].T)
