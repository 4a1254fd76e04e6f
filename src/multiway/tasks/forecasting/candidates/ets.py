"""Exponential smoothing of level, trend and season."""

from multiway.models.smoothing import Smoothing
from multiway.tasks.forecasting.candidate import EachSeries, Sizes


class ExponentialSmoothing(EachSeries[Smoothing]):
    """The form of the lowest corrected AIC."""

    name, words, cost, most = "ets", "exponential smoothing", 14, 30

    def build(self, sizes: Sizes) -> Smoothing:
        """Without a fit."""
        return Smoothing(sizes.horizon, sizes.season, sizes.units)


CANDIDATE = ExponentialSmoothing()
