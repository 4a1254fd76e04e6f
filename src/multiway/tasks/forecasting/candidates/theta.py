"""The Theta method."""

from multiway.models.smoothing import MOST, Theta
from multiway.tasks.forecasting.candidate import EachSeries, Sizes


class ThetaMethod(EachSeries[Theta]):
    """The mean of a line and of exponential smoothing."""

    name, words, cost = "theta", "Theta method", 13
    pace, most = (0.001, 0.00006, 0.00006, 1.0), MOST["theta"]

    def build(self, sizes: Sizes) -> Theta:
        """Without a fit."""
        return Theta(sizes.horizon, sizes.season, sizes.units)


CANDIDATE = ThetaMethod()
