"""The values one season before."""

from torch import Tensor, nn

from multiway import ops
from multiway.tasks.forecasting.candidate import Facts, ForecastCandidate, Sizes


class LastSeason(nn.Module):
    """The last season, over and over."""

    def __init__(self, horizon: int, season: int) -> None:
        super().__init__()
        self.horizon, self.season = horizon, season

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in the units of the past."""
        return ops.seasonal_naive(past, self.horizon, self.season)


class SeasonalNaive(ForecastCandidate[LastSeason]):
    """The values one season before, of windows that hold a season."""

    name, cost = "seasonal_naive", 1
    is_plain = is_summed = True

    def can_answer(self, facts: Facts) -> bool:
        """Where windows hold a season."""
        return 1 < facts.season <= facts.lookback

    def build(self, sizes: Sizes) -> LastSeason:
        """The last season."""
        return LastSeason(sizes.horizon, sizes.season)


CANDIDATE = SeasonalNaive()
