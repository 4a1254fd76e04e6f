"""Seasonal ARIMA of the series of a panel, chosen and fitted by statsforecast, run on over the rows that come later."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multiway.models.recursions import Model, Recursion, State, Values, fit_by_library, season_in
from multiway.models.series_units import Units
from multiway.tasks.forecasting.candidate import EachSeries, Sizes

MOST = 120
"""Values of a series, the last ones, that a model is fitted on: the search takes many times longer on more."""
FEWEST = 20
LARGEST = 1.01
"""Of the eigenvalues of a filter: what it makes of an error must not grow with the steps after it."""
TERMS, SEASONAL = 5, 2
"""Terms of the search at most, of each kind, and of seasons."""


class ArimaForecaster(Recursion):
    r"""The filter of a fitted ARIMA, with the gain that it has at the end of the fit, for each series.

    $$\tilde x_t = T x_{t-1}, \quad x_t = \tilde x_t + k (y_t - \mu_t - z^\top \tilde x_t), \quad
      \hat y_{t+h} = \mu_{t+h} + z^\top T^h x_t$$

    x holds the terms of the moving average, then the values that differences reach back to (Gardner, Harvey and
    Phillips 1980), and μ is a constant and a drift. The library is needed to fit, and neither to load nor to forecast.
    Differs from the filter of the library after the fit: k is no longer updated, and it has converged by then. Series
    that were not fitted keep the random walk.

    ar, differences: The first column of the part of T that is of terms, and how differences enter, `(…, series)`.
    gain, filtered: k, and x after the fit, `(states, series)`.
    constant, drift, count: Of μ = constant + drift t, and t of the last value.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    filtered: Tensor
    count: Tensor
    parts = ("filtered", "count")

    def __init__(self, horizon: int, season: int, units: Units) -> None:
        super().__init__(horizon, season, units)
        series, terms, back = len(units.mean), TERMS + SEASONAL * season + 1, SEASONAL + season
        zeros = torch.zeros(terms + back, series, dtype=torch.float64)
        self.ar, self.differences = nn.Buffer(zeros[:terms].clone()), nn.Buffer(zeros[:back].clone())
        self.gain, self.filtered = nn.Buffer(zeros.clone()), nn.Buffer(zeros.clone())
        self.constant, self.drift, self.count = (nn.Buffer(zeros[0].clone()) for _ in range(3))
        self.differences[0], self.gain[0] = 1.0, 1.0

    def begin(self, value: Tensor, shift: Tensor) -> State:
        """As if the first value had been there ever before."""
        count = self.count + shift
        level = (value - self.constant - self.drift * count).expand(len(self.differences), -1)
        return torch.cat([torch.zeros_like(self.ar), level]), count

    def after(self, state: State, value: Tensor) -> State:
        """One step of the filter."""
        states, count = self._next(state)
        return states + self.gain * (value - self._value((states, count))), count

    def ahead(self, state: State) -> Tensor:
        """The filter without values."""
        values = []
        for _ in range(self.horizon):
            state = self._next(state)
            values.append(self._value(state))
        return torch.stack(values, 1)

    def _next(self, state: State) -> State:
        """T x, `(..., states, series)`."""
        terms, back = state[0].tensor_split([len(self.ar)], -2)
        moved = self.ar * terms[..., :1, :] + torch.cat([terms[..., 1:, :], torch.zeros_like(terms[..., :1, :])], -2)
        value = terms[..., :1, :] + (self.differences * back).sum(-2, keepdim=True)
        return torch.cat([moved, value, back[..., :-1, :]], -2), state[1] + 1

    def _value(self, state: State) -> Tensor:
        """μ + zᵀ x, `(..., series)`."""
        terms, back = state[0].tensor_split([len(self.ar)], -2)
        return terms[..., 0, :] + (self.differences * back).sum(-2) + self.constant + self.drift * state[1]

    def read(self, numbers: list[int]) -> dict[str, Any]:
        """Arguments of ARIMA."""
        p, q, seasonal_p, seasonal_q, season, d, seasonal_d, mean, drift = numbers
        return {
            "order": (p, d, q),
            "seasonal_order": (seasonal_p, seasonal_d, seasonal_q),
            "season_length": season,
            "include_mean": bool(mean),
            "include_drift": bool(drift),
        }

    def numbers(self, model: Model) -> list[int]:
        """Orders as the library has them, and whether there are a constant and a drift."""
        return [*map(int, model["arma"]), *(int(name in model["coef"]) for name in ("intercept", "drift"))]

    def still(self, form: dict[str, Any], values: Values) -> dict[str, Any] | None:
        """None without a season that the values show by now."""
        return None if form["season_length"] < season_in(values[-MOST:], self.season) else form

    def search(self, values: Values) -> Model | None:
        """A seasonal model, or one without a season where that is none."""
        season = season_in(values[-MOST:], self.season)
        seasonal = self.fit_form(values, {"season_length": season, "approximation": True}) if season > 1 else None
        return seasonal or self.fit_form(values, {"season_length": 1, "approximation": False})

    def fit_form(self, values: Values, form: dict[str, Any]) -> Model | None:
        """By statsforecast, on the last values; None where its filter is not stable."""
        if len(values) < FEWEST or np.ptp(values) == 0:
            return None
        model = fit_by_library("ARIMA" if "order" in form else "AutoARIMA", values[-MOST:], **form)
        return None if model is None or not _is_stable(model) else model

    def loss(self, model: Model) -> float:
        """An information criterion of the errors on the last values, which orders of differences have in common."""
        errors = model["residuals"][len(model["residuals"]) // 4 :]
        return float(len(errors) * np.log(max(np.square(errors).mean(), np.finfo(float).tiny)) + 2 * len(model["coef"]))

    def count_fitted(self, model: Model) -> int:
        """Terms, a constant and a drift."""
        return len(model["coef"])

    def start_at(self, series: int, values: Values) -> None:
        """The last value."""
        self.filtered[len(self.ar) :, series] = values[-1]

    def keep(self, series: int, model: Model) -> None:
        """Take over a model that statsforecast fitted."""
        space, terms = model["model"], len(model["model"]["Z"]) - len(model["model"]["delta"])
        ar, states = np.zeros(len(self.ar)), np.zeros((2, len(self.gain)))
        ar[: len(space["phi"])] = space["phi"]
        for place, part in enumerate((_gain(space), space["a"])):
            states[place, :terms], states[place, len(ar) : len(ar) + len(part) - terms] = part[:terms], part[terms:]
        differences = np.zeros(len(self.differences))
        differences[: len(space["delta"])] = space["delta"]
        buffers = (self.ar, self.differences, self.gain, self.filtered)
        for buffer, found in zip(buffers, (ar, differences, *states), strict=True):
            buffer[:, series] = torch.from_numpy(found)
        self.constant[series], self.drift[series] = (model["coef"].get(name, 0.0) for name in ("intercept", "drift"))
        self.count[series] = len(model["residuals"])


def _gain(space: dict[str, Any]) -> Values:
    """That of the next value."""
    predicted = space["T"] @ space["P"] @ space["T"].T + space["V"]
    return np.asarray(predicted @ space["Z"] / (space["Z"] @ predicted @ space["Z"] + space["h"]))


def _is_stable(model: Model) -> bool:
    """Whether what the filter makes of an error does not grow with the steps after it."""
    space = model["model"]
    gain = _gain(space)
    moved = (np.eye(len(gain)) - np.outer(gain, space["Z"])) @ space["T"]
    return bool(np.isfinite(moved).all() and np.abs(np.linalg.eigvals(moved)).max() <= LARGEST)


class Arima(EachSeries[ArimaForecaster]):
    """The order that a search chooses."""

    name, words, cost = "arima", "ARIMA", 16
    pace, most = (0.007, 0.00001, 0.0015, 15.0), MOST
    start = "the last value"

    def build(self, sizes: Sizes) -> ArimaForecaster:
        """The random walk."""
        return ArimaForecaster(sizes.horizon, sizes.season, sizes.units)


CANDIDATE = Arima()
