"""The Theta method."""

from multiway.models.smoothing import Theta
from multiway.tasks.forecasting.candidate import EachSeries, Sizes


class ThetaMethod(EachSeries[Theta]):
    """The mean of a line and of exponential smoothing."""

    name, words, cost, most = "theta", "Theta method", 13, 50

    def build(self, sizes: Sizes) -> Theta:
        """Without a fit."""
        return Theta(sizes.horizon, sizes.season, sizes.units)


CANDIDATE = ThetaMethod()
