"""Intermittent series: how often there is anything, times how much there is then, both smoothed."""

import itertools
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from multiway.models.series_units import Units

HALF_LIVES = (2.0, 5.0, 12.0, 30.0, float("inf"))
"""Steps in which the weight of a value halves."""
ZERO = 1e-4
"""Deviations below which a value counts as none, as those of models are rounded."""


class Intermittent(nn.Module):
    r"""Teunter, Syntetos and Babai (2011): probability times size of a demand, the same for every step ahead.

    $$\hat y = \frac{\sum_t \alpha^{L-t} [x_t \ne 0]}{\sum_t \alpha^{L-t}}
    \cdot \frac{\sum_t \beta^{L-t} x_t}{\sum_t \beta^{L-t} [x_t \ne 0]}$$

    Differs from the paper: sums over a window of L steps replace recursions, and sizes age with time as well.

    decays: α and β of every series, `(2, series)` float64.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    decays: Tensor

    def __init__(self, horizon: int, units: Units) -> None:
        super().__init__()
        self.horizon, self.units = horizon, units
        self.register_buffer("decays", torch.ones(2, len(units.mean), dtype=torch.float64))

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in scaled units."""
        level = self.level(past, self.decays)
        return self.units.back(level[:, None].expand(-1, self.horizon, -1))

    def level(self, past: Tensor, decays: Tensor) -> Tensor:
        """Demand of a step in the units of the file, `(batch, series)`."""
        values = self.units.into(past)
        there = (values.abs() > ZERO * self.units.std).double()
        ages = torch.arange(past.shape[1] - 1, -1, -1, dtype=torch.float64)[:, None]
        often, much = (decay**ages for decay in decays)
        size = (much * values * there).sum(1) / (much * there).sum(1).clamp_min(torch.finfo(torch.float64).tiny)
        level: Tensor = (often * there).sum(1) / often.sum(0) * size
        return level

    def fit(self, examples: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Choose the decays of every series by the squared errors of windows, whose missing futures are NaN."""
        decays = [0.5 ** (1 / life) for life in HALF_LIVES]
        pairs = torch.tensor(list(itertools.product(decays, decays)), dtype=torch.float64)
        errors = torch.zeros(len(pairs), self.decays.shape[1], dtype=torch.float64)
        for past, future in examples:
            actual = future.double() * self.units.std + self.units.mean
            for place, pair in enumerate(pairs):
                level = self.level(past, pair[:, None].expand_as(self.decays))
                errors[place] += (actual - level[:, None]).square().nansum((0, 1))
        self.decays.copy_(pairs[errors.argmin(0)].T)
