"""Ridge on the logarithm or the root of positive series: what grows in proportion adds up there."""

from typing import ClassVar, Literal, cast

import torch
from torch import Tensor, nn

from multiway.models.regression import Regression, Regressors
from multiway.models.series_units import Units
from multiway.models.windows import LinearFloor
from multiway.tasks.forecasting.candidate import Facts, OneMatrix, Sizes
from multiway.tasks.forecasting.windows import Windows

SMALLEST = 1e-30
"""Nothing smaller has a logarithm."""
Transform = Literal["log", "root"]


class TransformedRidge(nn.Module):
    """Ridge, or a regression, on f(y), f the logarithm or the square root, and f⁻¹ of its forecast.

    The forecast is the median where that of ridge is. Series with a value at or below zero (below, for roots) are left
    as they are: in every window where it is in the rows of the fit, else in the windows that hold it.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    def __init__(
        self,
        kind: Transform,
        lookback: int,
        horizon: int,
        num_matrices: int,
        units: Units,
        regression: Regression | None = None,
    ) -> None:
        super().__init__()
        self.kind, self.units, self.takes_covariates = kind, units, regression is not None
        self.floor = regression or LinearFloor(num_matrices, horizon, lookback, trained=False)
        self.penalty = nn.Buffer(torch.ones((), dtype=torch.float64))

    @property
    def transformed(self) -> Tensor:
        """Series that f is taken of in the rows of a fit."""
        return self.units.positive if self.kind == "log" else self.units.low >= 0

    def into(self, rows: Tensor, transformed: Tensor | None = None) -> Tensor:
        """f of scaled values, shifted and scaled by its own value and slope at the mean; the others as they are."""
        start, scale = self._line()
        moved = (self._f(self.units.into(rows)) - start) / scale
        return torch.where(self.transformed if transformed is None else transformed, moved, rows.double()).float()

    def transform(self, windows: Windows) -> Windows:
        """The same windows of transformed rows."""
        return windows.with_rows(self.into(windows.rows))

    def set_weight(self, weight: Tensor) -> None:
        """Take over a fitted matrix."""
        cast(LinearFloor, self.floor).set_weight(weight)

    def forward(self, past: Tensor, *covariates: Regressors) -> Tensor:
        """Forecast, in scaled units."""
        transformed = self.units.is_positive(past) if self.kind == "log" else self.units.is_nonnegative(past)
        forecast, (start, scale) = self.floor(self.into(past, transformed), *covariates).double(), self._line()
        f = forecast * scale + start
        inverse = f.clamp(max=700.0).exp() if self.kind == "log" else f.clamp_min(0.0).square()
        return torch.where(transformed, self.units.back(inverse), forecast.float())

    def _f(self, values: Tensor) -> Tensor:
        return values.clamp_min(SMALLEST).log() if self.kind == "log" else values.clamp_min(0.0).sqrt()

    def _line(self) -> tuple[Tensor, Tensor]:
        """f at the mean of a series, and its deviation in the units of f, to first order."""
        centre = self.units.mean.maximum(self.units.low).clamp_min(SMALLEST)
        return self._f(centre), self.units.std / (centre if self.kind == "log" else 2 * centre.sqrt())


class RidgeOfLogs(OneMatrix[TransformedRidge]):
    """Ridge on transformed series, one matrix for all."""

    name, words, cost, kind = "ridge_log", "ridge of logarithms", 5, "ridge"
    transform: ClassVar[Transform] = "log"

    def can_answer(self, facts: Facts) -> bool:
        """Where a series is positive."""
        return facts.are_few and bool((facts.low > 0).any())

    def build(self, sizes: Sizes) -> TransformedRidge:
        """Ridge of a transform."""
        return TransformedRidge(self.transform, sizes.lookback, sizes.horizon, 1, sizes.units)

    def view(self, model: TransformedRidge, windows: Windows) -> Windows:
        """Windows of transformed rows."""
        return model.transform(windows)


CANDIDATE = RidgeOfLogs()
