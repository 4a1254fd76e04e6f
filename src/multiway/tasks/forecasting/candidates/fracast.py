"""Fracast-0, a network that was trained on other series: it forecasts those of a panel as it is."""

import functools
from typing import Any

import torch
from torch import Tensor, nn

from multiway.lazy import load_extra
from multiway.models.windows import History
from multiway.tasks.forecasting.candidate import SECONDS, Facts, ForecastCandidate, Rows, Sizes

PACE, BLOCK = 0.05, 48
"""Seconds that a forecast of one series takes, and its steps; for more it is run on."""
FEWEST = 8
"""Values that it needs; where there are fewer, the last value is repeated."""


@functools.cache
def load_fracast() -> Any:
    """The network of the package fracast, with the weights that lie in it."""
    return load_extra("fracast", "the forecast of fracast", "fracast").FracastModel.from_pretrained()


class ZeroShot(nn.Module):
    """The median of Fracast-0 after all rows before a future, as many as it reads.

    Nothing is fitted, and nothing is stored: the package is needed to forecast, too.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.

    Cost:
        `PACE` seconds for each window, series and block of 48 steps.
    """

    takes_history = True

    def __init__(self, horizon: int) -> None:
        super().__init__()
        self.horizon = horizon

    def forward(self, past: Tensor, history: History | None = None) -> Tensor:
        """Forecast, in scaled units."""
        network = load_fracast()
        reach, series = network.context_length, past.shape[2]
        rows = past.new_full((len(past), reach, series), torch.nan)
        for place, window in enumerate(past):
            known = window[-reach:]
            if history is not None:
                stretch = slice(max(int(history.ends[place]) - reach, 0), int(history.ends[place]))
                known = history.rows[stretch]
                if history.observed is not None:
                    known = torch.where(history.observed[stretch], known, torch.nan)
            rows[place, reach - len(known) :] = known
        flat = rows.mT.flatten(0, 1)
        is_short = flat.isfinite().sum(1) < FEWEST
        flat[is_short, -FEWEST:] = past[:, -1].flatten()[is_short, None]
        quantiles = torch.from_numpy(network.forecast_batch(flat.numpy(), horizon=self.horizon))
        median: Tensor = quantiles[..., quantiles.shape[-1] // 2].unflatten(0, (len(past), series))
        return median.mT.to(past.dtype)


class Fracast(ForecastCandidate[ZeroShot]):
    """Fracast-0 as it is."""

    name, words, cost = "fracast", "Fracast-0", 18
    library = ("fracast", "fracast")

    def can_answer(self, facts: Facts) -> bool:
        """Where the windows of training, about as many as are compared and scored, take few enough seconds."""
        blocks = -(-facts.horizon // BLOCK)
        return not facts.network and PACE * facts.windows * facts.series * blocks <= SECONDS

    def build(self, sizes: Sizes) -> ZeroShot:
        """Nothing of its own."""
        return ZeroShot(sizes.horizon)

    def fit(self, model: ZeroShot, training: Rows, validation: Rows) -> None:
        """Nothing to fit."""


CANDIDATE = Fracast()
