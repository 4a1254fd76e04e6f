"""The Theta method."""

from multiway.models.smoothing import MOST, Theta
from multiway.tasks.forecasting.candidate import EachSeries, Sizes


class ThetaMethod(EachSeries[Theta]):
    """A line and exponential smoothing, in the form of the least mean square."""

    name, words, cost = "theta", "Theta method", 13
    pace, most = (0.0008, 0.00002, 0.00002, 3.0), MOST["theta"]

    def build(self, sizes: Sizes) -> Theta:
        """Without a fit."""
        return Theta(sizes.horizon, sizes.season, sizes.units)


CANDIDATE = ThetaMethod()
