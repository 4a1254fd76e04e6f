"""The values one season before."""

import torch
from torch import Tensor, nn

from multiway import ops
from multiway.models.windows import History, fill_gaps
from multiway.tasks.forecasting.candidate import Facts, ForecastCandidate, Sizes


class LastSeason(nn.Module):
    """The last season, over and over, of all rows before a forecast where windows are shorter than it."""

    takes_history = True

    def __init__(self, horizon: int, season: int) -> None:
        super().__init__()
        self.horizon, self.season = horizon, season

    def forward(self, past: Tensor, history: History | None = None) -> Tensor:
        """Forecast, in the units of the past; the last value where no season is before it."""
        if history is None or self.season <= past.shape[1]:
            return ops.seasonal_naive(past, self.horizon, self.season)
        own = history.of_last(past.shape[2])
        rows = own.rows if own.observed is None else fill_gaps(own.rows[None], own.observed[None])[0]
        last = own.ends[:, None] - 1
        places = last + 1 - self.season + torch.arange(self.horizon, device=past.device) % self.season
        return rows[torch.where(places < 0, last, places)]


class SeasonalNaive(ForecastCandidate[LastSeason]):
    """The values one season before, where the training rows hold one."""

    name, cost = "seasonal_naive", 1
    is_plain = is_summed = True

    def can_answer(self, facts: Facts) -> bool:
        """Where the rows hold a season, of which a part of a panel tells its windows alone."""
        return 1 < facts.season <= (facts.lookback if facts.is_partial else facts.rows - facts.horizon)

    def build(self, sizes: Sizes) -> LastSeason:
        """The last season."""
        return LastSeason(sizes.horizon, sizes.season)


CANDIDATE = SeasonalNaive()
