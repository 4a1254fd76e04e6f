"""Seasonal ARIMA of the series of a panel, chosen and fitted by statsforecast, as one affine map of a window each."""

import itertools
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.models.arima import load_statsforecast
from multiway.models.series_units import Units
from multiway.models.smoothing import Forms
from multiway.tasks.forecasting.candidate import EachSeries, Sizes

Values = NDArray[np.float64]
MOST = 120
"""Values of a series, the last ones, that a model is fitted on: the search takes many times longer on more."""
FEWEST = 20
WILDEST = 4.0
"""Times the weights of the line through the last two values past which a map is no forecast: its moving average cannot
be inverted."""


class ArimaForecaster(nn.Module):
    r"""The forecast of a fitted ARIMA by the values of a window alone, $\hat y = c + W y$, for each series.

    With its parameters held, the filter of an ARIMA is linear in what it filters. So what its forecasts gain by each
    value of a window are the columns of W: the library is needed to fit, and neither to load nor to forecast. Series
    that were not fitted keep the random walk.

    constant: c, `(series, horizon)`; weight: W, `(series, horizon, lookback)`.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    def __init__(self, lookback: int, horizon: int, season: int, units: Units) -> None:
        super().__init__()
        self.season, self.units, self.forms = season, units, Forms()
        weight = torch.zeros(len(units.mean), horizon, lookback, dtype=torch.float64)
        weight[..., -1] = 1.0
        self.weight = nn.Buffer(weight)
        self.constant = nn.Buffer(torch.zeros(weight.shape[:2], dtype=torch.float64))

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in scaled units."""
        values = self.units.raw(past)
        return self.units.back(self.constant.T + torch.einsum("nhl,bln->bhn", self.weight, values))

    def fit_series(self, training: Iterable[Values], forms: Forms | None = None) -> None:
        """Fit the model of every series on its training values, and choose its form where none is given."""
        for series, values in enumerate(training):
            if len(values) >= FEWEST and np.ptp(values) > 0:
                known = [] if forms is None or series not in forms else [forms[series]]
                self._fit(series, values[-MOST:], itertools.chain(known, self._searches(len(values))))

    def _searches(self, count: int) -> Iterator[dict[str, Any]]:
        """That of a seasonal model, and of one without a season for windows that are too short for the first."""
        if self.season > 1 and min(count, MOST) > 2 * self.season + 5:
            yield {"season_length": self.season, "approximation": True}
        yield {"season_length": 1, "approximation": False}

    def _fit(self, series: int, values: Values, forms: Iterable[dict[str, Any]]) -> None:
        """The first of some forms that can be fitted and is a forecast."""
        for form in forms:
            found = _affine(values, form, *self.weight.shape[1:])
            if found is not None:
                self.constant[series], self.weight[series], self.forms[series] = found
                return


def _affine(
    values: Values, form: dict[str, Any], horizon: int, lookback: int
) -> tuple[Tensor, Tensor, dict[str, Any]] | None:
    """c, W and the order of a form, or of what a search chooses; None where it fails, or a window is too short.

    Raises:
        ConfigError: statsforecast is not installed.
    """
    library = load_statsforecast()
    model = (library.ARIMA if "order" in form else library.AutoARIMA)(**form)
    usual = np.resize(values[-lookback:], lookback)  # what is constant is no series to the library
    windows = np.vstack([usual, usual + np.eye(lookback) * values.std()])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model.fit(np.ascontiguousarray(values))
            first, *moved = (model.forward(window, h=horizon)["mean"] for window in windows)
        except Exception:  # whatever a search within the library meets: the series keeps its start
            return None
    weight = (np.stack(moved, 1) - first[:, None]) / values.std()
    if not (np.isfinite(weight).all() and np.abs(weight).sum(1).max() <= WILDEST * (2 * horizon + 1)):
        return None
    return torch.from_numpy(first - weight @ usual), torch.from_numpy(weight), _order_of(model.model_)


def _order_of(model: dict[str, Any]) -> dict[str, Any]:
    """Arguments with which the library refits the same order."""
    p, q, seasonal_p, seasonal_q, season, d, seasonal_d = map(int, model["arma"])
    return {
        "order": (p, d, q),
        "seasonal_order": (seasonal_p, seasonal_d, seasonal_q),
        "season_length": season,
        "include_mean": "intercept" in model["coef"],
        "include_drift": "drift" in model["coef"],
    }


class Arima(EachSeries[ArimaForecaster]):
    """The order that a search chooses."""

    name, words, cost, most = "arima", "ARIMA", 15, 2
    start = "the last value"

    def build(self, sizes: Sizes) -> ArimaForecaster:
        """The random walk."""
        return ArimaForecaster(sizes.lookback, sizes.horizon, sizes.season, sizes.units)


CANDIDATE = Arima()
