"""FLAIR: a series folded to phases by cycles is of rank one, a frozen shape times a level that ridge forecasts."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from multiway import ops
from multiway.models.series_units import Units
from multiway.models.windows import LinearFloor
from multiway.tasks.forecasting.candidate import (
    Facts,
    ForecastCandidate,
    Rows,
    Sizes,
    pasts_and_futures,
    sample_windows,
)

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
Moments = tuple[Tensor, Tensor, Tensor]
"""XᵀX, XᵀY and ΣY²."""


class Flair(nn.Module):
    """The shape of the cycles of a window times ridge's forecast of the window without it (arXiv 2605.07222, eq. 1).

    Differs from the paper: the level is forecast step by step, since a window holds few cycles, by one matrix that all
    series share; the shape is that of all cycles of the window, freed of growth; and series with values at or below
    zero have a shape that is added.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    def __init__(self, lookback: int, horizon: int, season: int, units: Units) -> None:
        super().__init__()
        self.season, self.horizon, self.units = season, horizon, units
        self.floor = LinearFloor(1, horizon, lookback, trained=False)

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in scaled units."""
        values, times = self.units.raw(past), self.units.is_positive(past)
        shape = ops.season_shape(values, self.season, times)
        here, ahead = ops.phases(past.shape[1], self.horizon, self.season)
        level = ops.without_shape(values, shape[:, here], times) / self.units.std
        forecast = level[:, -1:] + torch.einsum("hl,bln->bhn", self.floor.weight[0].double(), level - level[:, -1:])
        return self.units.back(ops.with_shape(forecast * self.units.std, shape[:, ahead], times))

    def moments(self, past: Tensor, future: Tensor) -> Moments:
        """Sums over windows and series of levels less their last value, `(lookback, …)`, to fit on."""
        values, times, std = self.units.into(past), self.units.positive, self.units.std
        shape = ops.season_shape(values, self.season, times)
        here, ahead = ops.phases(past.shape[1], self.horizon, self.season)
        level = ops.without_shape(values, shape[:, here], times) / std
        actual = ops.without_shape(future.double() * std + self.units.mean, shape[:, ahead], times) / std
        x, y = (level - level[:, -1:]), (actual - level[:, -1:])
        x, y = (part.transpose(1, 2).flatten(0, 1) for part in (x, y))
        keep = (x.isfinite().all(1) & y.isfinite().all(1))[:, None]
        x, y = (torch.where(keep, part, 0.0) for part in (x, y))
        return x.T @ x, x.T @ y, y.square().sum()

    def fit(self, earlier: Iterable[Moments], later: Iterable[Moments]) -> None:
        """Fit on the moments of all windows, under the penalty that is best on the later by a fit on the earlier."""
        first, second = ([torch.stack(each).sum(0) for each in zip(*parts, strict=True)] for parts in (earlier, later))
        weights = list(ops.ridge_path(first[0], first[1], PENALTIES))
        errors = [float((w @ second[0] * w).sum() - 2 * (w * second[1].T).sum()) for w in weights]
        best = PENALTIES[errors.index(min(errors))]
        [weight] = ops.ridge_path(first[0] + second[0], first[1] + second[1], [best])
        self.floor.set_weight(weight[None].float())


EARLIER = 2 / 3
"""Part of the training windows that a penalty is fitted on, to be tried on the rest."""


class ShapeOfSeason(ForecastCandidate[Flair]):
    """FLAIR."""

    name, words, cost = "flair", "season shape", 7

    def can_answer(self, facts: Facts) -> bool:
        """Where windows hold two seasons."""
        return facts.are_few and 1 < facts.season <= facts.lookback / 2

    def build(self, sizes: Sizes) -> Flair:
        """A shape and a level."""
        return Flair(sizes.lookback, sizes.horizon, sizes.season, sizes.units)

    def fit(self, model: Flair, training: Rows, validation: Rows) -> None:
        """Fit the level on the earlier windows, and its penalty on the later ones."""
        self.refit(model, None, training)

    def refit(self, model: Flair, fitted: Flair | None, data: Rows) -> None:
        """The same on other windows."""
        index = sample_windows(data.windows)
        border = max(int(EARLIER * len(index)), 1)
        earlier, later = (
            [model.moments(*pasts_and_futures(batch)) for batch in data.windows.batches(some)]
            for some in (index[:border], index[border:] if len(index) > border else index)
        )
        model.fit(earlier, later)


CANDIDATE = ShapeOfSeason()
