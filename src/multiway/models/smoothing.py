"""Exponential smoothing and Theta: parameters by statsforecast, forecasts by their recursions over a window.

Of intermittent series: how often there is anything, times how much there is then, both smoothed.
"""

import itertools
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway import ops
from multiway.models.arima import load_statsforecast
from multiway.models.series_units import Units

Values = NDArray[np.float64]
Forms = dict[int, dict[str, Any]]
"""What a search chose for a series, by its position: arguments with which the library refits the same."""
NONE, ADDED, TIMES = range(3)
"""How the season of a series enters."""
SEARCHED = 4
"""Series of a panel whose form is looked for among all."""
MOST = {"ets": 400, "theta": 1000}
"""Values of a series, the last ones, that a model is fitted on."""
HALF_LIVES = (2.0, 5.0, 12.0, 30.0, float("inf"))
"""Steps in which the weight of a value halves."""
ZERO = 1e-4
"""Deviations below which a value counts as none, as those of models are rounded."""


class Smoothing(nn.Module):
    r"""Level, trend and season of each series, run over a window from a start that the window itself gives.

    $$\hat y_t = (l + \phi b) \circ s, \quad l \leftarrow l + \phi b + \alpha e, \quad
      b \leftarrow \phi b + \beta e, \quad s \leftarrow s + \gamma e'$$

    where the season s is added or multiplies, e is the error in units of the level and e' in units of the season. A
    model with multiplicative errors has the same forecasts, as it has the same recursion.

    alpha, beta, gamma, phi: `(series,)`; phi is 0 without a trend.
    kind: How the season enters, `(series,)`.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    alpha: Tensor
    beta: Tensor
    gamma: Tensor
    phi: Tensor

    def __init__(self, horizon: int, season: int, units: Units) -> None:
        super().__init__()
        self.season, self.horizon, self.units = season, horizon, units
        count, self.forms = len(units.mean), Forms()
        for name, start in {"alpha": 0.5, "beta": 0.0, "gamma": 0.0, "phi": 0.0}.items():
            self.register_buffer(name, torch.full((count,), start, dtype=torch.float64))
        self.kind = nn.Buffer(torch.zeros(count, dtype=torch.int64))

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in scaled units."""
        y, times = self.units.raw(past), (self.kind == TIMES) & self.units.is_positive(past)
        shape = ops.season_shape(y, self.season, times)
        shape = torch.where(self.kind == NONE, 0.0, shape)
        here, ahead = ops.phases(y.shape[1], self.horizon, self.season)
        level, trend = self._start(ops.without_shape(y, shape[:, here], times))
        season = list(shape.unbind(1))
        for step, phase in enumerate(here.tolist()):
            level, trend, season[phase] = self._after(y[:, step], level, trend, season[phase], times[:, 0])
        damping = self.phi ** torch.arange(1, self.horizon + 1, dtype=y.dtype)[:, None]
        levels = level[:, None] + damping.cumsum(0) * trend[:, None]
        return self.units.back(ops.with_shape(levels, torch.stack(season, 1)[:, ahead], times))

    def _after(
        self, y: Tensor, level: Tensor, trend: Tensor, season: Tensor, times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Level, trend and season after one more value; `times` says where the season multiplies."""
        ahead = level + self.phi * trend
        error = y - ops.with_shape(ahead, season, times)
        by_level = error / torch.where(times, season, 1.0)
        by_season = error / torch.where(times, ahead, 1.0)
        moved = season + torch.where(self.kind == NONE, 0.0, self.gamma * by_season)
        return ahead + self.alpha * by_level, self.phi * trend + self.beta * by_level, moved

    def _start(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Level and trend before the first step: the line through the window without its shape, or its mean."""
        slope = torch.where(self.phi > 0, _slope(values), 0.0)
        return values.mean(1) - slope * (values.shape[1] + 1) / 2, slope

    def fit_series(self, training: Iterable[Values], forms: Forms | None = None) -> None:
        """Let statsforecast fit each series on its training values, in the form that is given or that it chooses.

        It searches all forms for a few series, and those that it found for the others: a search takes twenty fits.
        """
        every = [values[-MOST["ets"] :] for values in training]
        known = {}
        for series, form in (forms or {}).items():  # one that adds, where a series has fallen to zero since then
            adding = {**form, "model": form["model"].replace("M", "A")}
            known[series] = [form if self.units.positive[series] else adding]
        searched = [series for series in spread(len(every), SEARCHED) if series not in known]
        for series in [*searched, *(series for series in range(len(every)) if series not in searched)]:
            found = [] if series in searched else known.get(series) or distinct(self.forms)
            tries = [_fit("AutoETS", every[series], self.season, **form) for form in found or [{}]]
            fitted = [model for model in tries if model is not None]
            if fitted:
                self.keep(series, min(fitted, key=lambda model: float(model["aicc"])))

    def keep(self, series: int, model: dict[str, Any]) -> None:
        """Take over a model that statsforecast fitted."""
        error, trend, season, damped = model["components"]
        self.forms[series] = {"model": f"{error}{trend}{season}", "damped": damped == "D"}
        alpha, beta, gamma, phi = (0.0 if np.isnan(value) else float(value) for value in model["par"][:4])
        self.alpha[series], self.beta[series], self.gamma[series] = alpha, beta, gamma
        self.phi[series] = 0.0 if trend == "N" else phi if damped == "D" else 1.0
        self.kind[series] = {"N": NONE, "A": ADDED, "M": TIMES}[season]


class Theta(nn.Module):
    r"""The mean of a line and of exponential smoothing, over a window without the shape of its cycles.

    $$\hat y_h = s_h \circ \left(l + \frac b2 \left(h - 1 + \frac{1 - (1-\alpha)^L}{\alpha}\right)\right)$$

    l is the last level of simple exponential smoothing over the L steps of the window and b the slope of the line
    through them (Assimakopoulos and Nikolopoulos 2000; Hyndman and Billah 2003).

    alpha: `(series,)`, fitted by statsforecast on the training values.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    def __init__(self, horizon: int, season: int, units: Units) -> None:
        super().__init__()
        self.season, self.horizon, self.units, self.forms = season, horizon, units, Forms()
        self.alpha = nn.Buffer(torch.full((len(units.mean),), 0.5, dtype=torch.float64))

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in scaled units."""
        y, times, lookback = self.units.raw(past), self.units.is_positive(past), past.shape[1]
        shape = ops.season_shape(y, self.season, times)
        here, ahead = ops.phases(lookback, self.horizon, self.season)
        values = ops.without_shape(y, shape[:, here], times)
        level = values[:, 0]
        for step in range(1, lookback):
            level = torch.lerp(level, values[:, step], self.alpha)
        steps = torch.arange(self.horizon, dtype=y.dtype)[:, None] + (1 - (1 - self.alpha) ** lookback) / self.alpha
        forecast = level[:, None] + 0.5 * _slope(values)[:, None] * steps
        return self.units.back(ops.with_shape(forecast, shape[:, ahead], times))

    def fit_series(self, training: Iterable[Values], forms: Forms | None = None) -> None:
        """Take the smoothing of each series from statsforecast; there is one form."""
        for series, values in enumerate(training):
            model = _fit("Theta", values[-MOST["theta"] :], self.season)
            if model is not None:
                self.alpha[series], self.forms[series] = min(max(float(model["par"]["alpha"]), 0.01), 1.0), {}


def spread(count: int, most: int) -> list[int]:
    """At most so many of the first whole numbers, evenly spread."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, most))})


def distinct(forms: Forms) -> list[dict[str, Any]]:
    """Forms that differ, in the order in which they were found."""
    return [form for place, form in enumerate(forms.values()) if form not in list(forms.values())[:place]]


def _slope(values: Tensor) -> Tensor:
    """Of the least-squares line through each window, `(batch, series)`."""
    time = torch.arange(values.shape[1], dtype=values.dtype) - (values.shape[1] - 1) / 2
    return torch.einsum("l,bln->bn", time / time.square().sum().clamp_min(1.0), values)


def _fit(name: str, values: Values, season: int, **form: Any) -> dict[str, Any] | None:
    """A model of statsforecast, of a form; None where the series is constant, or too short for it.

    Raises:
        ConfigError: statsforecast is not installed.
    """
    if len(values) < 5 or np.ptp(values) == 0:
        return None
    model = getattr(load_statsforecast(), name)(season_length=season if len(values) > 2 * season + 5 else 1, **form)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            fitted: dict[str, Any] = model.fit(np.ascontiguousarray(values)).model_
        except Exception:  # whatever a search within the library meets: the series keeps its start
            return None
    return fitted


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
