"""The last value, for every step."""

from torch import Tensor, nn

from multiway import ops
from multiway.tasks.forecasting.candidate import ForecastCandidate, Sizes


class LastValue(nn.Module):
    """The last value, for every step."""

    def __init__(self, horizon: int) -> None:
        super().__init__()
        self.horizon = horizon

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in the units of the past."""
        return ops.naive(past, self.horizon)


class Naive(ForecastCandidate[LastValue]):
    """The last value."""

    name, cost = "naive", 0
    is_plain = is_summed = True

    def build(self, sizes: Sizes) -> LastValue:
        """The last value."""
        return LastValue(sizes.horizon)


CANDIDATE = Naive()
