"""Exponential smoothing of level, trend and season."""

from multiway.models.smoothing import MOST, Smoothing
from multiway.tasks.forecasting.candidate import EachSeries, Sizes


class ExponentialSmoothing(EachSeries[Smoothing]):
    """The form of the lowest corrected AIC."""

    name, words, cost = "ets", "exponential smoothing", 14
    pace, most = (0.0008, 0.00002, 0.0004, 8.0), MOST["ets"]

    def build(self, sizes: Sizes) -> Smoothing:
        """Without a fit."""
        return Smoothing(sizes.horizon, sizes.season, sizes.units)


CANDIDATE = ExponentialSmoothing()
