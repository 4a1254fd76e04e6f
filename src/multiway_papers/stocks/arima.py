"""ARIMA of many series: statsforecast chooses and fits each once, and its forecasts are a recursion."""

import collections
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from multiway.models.recursions import load_statsforecast

TERMS = 5
"""Autoregressive terms at most, and as many of the moving average: the bounds of the search."""
FEWEST = 30
"""Training values below which a series has the random walk."""
Values = NDArray[np.float64]


class Arima(nn.Module):
    """One ARIMA model for each series of numbers.

    The order is that of the lowest corrected AIC on the training values, where the parameters are fitted as well;
    both stay. The forecast of a value runs the fitted recursion over the values before it:

    w = (1 - B)^d y - c,  w_t = Σ φ_i w_(t-i) + e_t + Σ θ_i e_(t-i),  w and e 0 before the first value.

    differences: `(series,)` d; 1 without terms or a constant, the random walk, until it is fitted.
    constant, deviation: `(series,)` c, and the deviation of e.
    ar, ma: `(series, TERMS)` φ and θ.
    """

    def __init__(self, num_series: int) -> None:
        super().__init__()
        self.differences = nn.Buffer(torch.ones(num_series, dtype=torch.int64))
        self.constant = nn.Buffer(torch.zeros(num_series, dtype=torch.float64))
        self.deviation = nn.Buffer(torch.ones(num_series, dtype=torch.float64))
        self.ar = nn.Buffer(torch.zeros(num_series, TERMS, dtype=torch.float64))
        self.ma = nn.Buffer(torch.zeros(num_series, TERMS, dtype=torch.float64))

    def fit_series(self, training: Iterable[Values]) -> None:
        """Choose and fit the model of every series on its training values."""
        for series, values in enumerate(training):
            if len(values) >= FEWEST:
                self.keep(series, _fit(values))

    def changes(self, series: int, values: Values) -> Values:
        """Expected change after none of the values, after the first, …, after all; `(values + 1,)`."""
        d = int(self.differences[series])
        if len(values) <= d:
            return np.zeros(len(values) + 1)
        constant, ar, ma = (getattr(self, name)[series].numpy() for name in ("constant", "ar", "ma"))
        expected = constant + _recursion(np.diff(values, d) - constant, ar, ma)
        if d == 0:
            return np.append(0.0, expected[1:] - values)
        return np.append(np.zeros(d), expected + np.diff(values, d - 1) * (d - 1))

    def keep(self, series: int, model: dict[str, Any]) -> None:
        """Take over a model that statsforecast fitted."""
        coefficients = model["coef"]
        self.differences[series] = model["arma"][5]
        self.constant[series] = coefficients.get("intercept", 0.0) + coefficients.get("drift", 0.0)
        self.deviation[series] = max(model["sigma2"], np.finfo(np.float64).tiny) ** 0.5
        for name in ("ar", "ma"):
            terms = [float(coefficients.get(f"{name}{term}", 0.0)) for term in range(1, TERMS + 1)]
            getattr(self, name)[series] = torch.tensor(terms, dtype=torch.float64)

    def orders(self) -> dict[str, int]:
        """How many series have each order, the most frequent first."""
        sizes = zip(self.ar, self.differences, self.ma, self.constant, strict=True)
        names = [
            f"({int((ar != 0).sum())}, {int(d)}, {int((ma != 0).sum())}){' and a constant' if constant else ''}"
            for ar, d, ma, constant in sizes
        ]
        return dict(collections.Counter(names).most_common())


def _fit(values: Values) -> dict[str, Any]:
    """The model that AutoARIMA chooses, without seasons."""
    models = load_statsforecast()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a candidate that does not converge, and is not chosen
        search = models.AutoARIMA(season_length=1, seasonal=False, max_p=TERMS, max_q=TERMS)
        model: dict[str, Any] = search.fit(values).model_
    return model


def _recursion(values: Values, ar: Values, ma: Values) -> Values:
    """One-step forecasts of every value and of the one after them, each from what is before it."""
    from scipy.signal import lfilter  # takes longer to import than most of what is here

    errors = lfilter(np.append(1.0, -ar), np.append(1.0, ma), values)
    known = ((ar, values), (ma, errors))
    return np.asarray(sum(lfilter(np.append(0.0, terms), 1.0, np.append(part, 0.0)) for terms, part in known))
