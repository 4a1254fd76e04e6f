"""Seasonal ARIMA."""

from multiway.models.arima_forecaster import ArimaForecaster
from multiway.tasks.forecasting.candidate import EachSeries, Sizes


class Arima(EachSeries[ArimaForecaster]):
    """The order that a search chooses."""

    name, words, cost, most = "arima", "ARIMA", 15, 2
    start = "the last value"

    def build(self, sizes: Sizes) -> ArimaForecaster:
        """The random walk."""
        return ArimaForecaster(sizes.lookback, sizes.horizon, sizes.season, sizes.units)


CANDIDATE = Arima()
