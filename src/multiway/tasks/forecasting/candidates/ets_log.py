"""Exponential smoothing of logarithms."""

from multiway.models.smoothing import MOST, LogSmoothing
from multiway.tasks.forecasting.candidate import EachSeries, Facts, Sizes


class LogExponentialSmoothing(EachSeries[LogSmoothing]):
    """The form of the lowest corrected AIC, of what grows in proportion."""

    name, words, cost = "ets_log", "exponential smoothing of logarithms", 15
    pace, most = (0.0008, 0.00002, 0.0002, 4.0), MOST["ets"]

    def can_answer(self, facts: Facts) -> bool:
        """Where a series is positive, and all fits take few enough seconds."""
        return bool((facts.low > 0).any()) and super().can_answer(facts)

    def build(self, sizes: Sizes) -> LogSmoothing:
        """Without a fit."""
        return LogSmoothing(sizes.horizon, sizes.season, sizes.units)


CANDIDATE = LogExponentialSmoothing()
