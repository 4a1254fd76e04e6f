"""Seasonal ARIMA of the series of a panel, chosen and fitted by statsforecast, as one affine map of a window each."""

import warnings
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.models.arima import load_statsforecast
from multiway.models.series_units import Units

Values = NDArray[np.float64]
MOST = 120
"""Values of a series, the last ones, that a model is fitted on: the search takes many times longer on more."""
FEWEST = 20
WILDEST = 10.0
"""Sum of the sizes of a step's weights past which a map is no forecast: its moving average cannot be inverted."""


class ArimaForecaster(nn.Module):
    r"""The forecast of a fitted ARIMA by the values of a window alone, $\hat y = c + W y$, for each series.

    With its parameters held, the filter of an ARIMA is linear in what it filters. So what its forecasts gain by each
    value of a window are the columns of W: the library is needed to fit, and neither to load nor to forecast. Series
    that were not fitted keep the random walk.

    constant: c, `(series, horizon)`; weight: W, `(series, horizon, lookback)`.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    constant: Tensor
    weight: Tensor

    def __init__(self, lookback: int, horizon: int, season: int, units: Units) -> None:
        super().__init__()
        self.season, self.units = season, units
        weight = torch.zeros(len(units.mean), horizon, lookback, dtype=torch.float64)
        weight[..., -1] = 1.0
        self.register_buffer("weight", weight)
        self.register_buffer("constant", torch.zeros(weight.shape[:2], dtype=torch.float64))

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in scaled units."""
        values = self.units.into(past)
        return self.units.back(self.constant.T + torch.einsum("nhl,bln->bhn", self.weight, values))

    def fit_series(self, training: Iterable[Values]) -> None:
        """Choose and fit the model of every series on its training values."""
        for series, values in enumerate(training):
            if len(values) >= FEWEST and np.ptp(values) > 0:
                self._fit(series, values[-MOST:])

    def _fit(self, series: int, values: Values) -> None:
        """The seasonal model, or the one without a season where a window is too short for the first."""
        seasons = [self.season] if self.season > 1 and len(values) > 2 * self.season + 5 else []
        for season in (*seasons, 1):
            found = _affine(values, season, *self.weight.shape[1:])
            if found is not None:
                self.constant[series], self.weight[series] = found
                return


def _affine(values: Values, season: int, horizon: int, lookback: int) -> tuple[Tensor, Tensor] | None:
    """c and W of what AutoARIMA chooses; None where its search fails, or a window is too short to filter.

    Raises:
        ConfigError: statsforecast is not installed.
    """
    model = load_statsforecast().AutoARIMA(season_length=season, approximation=season > 1)
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
    if not (np.isfinite(weight).all() and np.abs(weight).sum(1).max() <= WILDEST):
        return None
    return torch.from_numpy(first - weight @ usual), torch.from_numpy(weight)
