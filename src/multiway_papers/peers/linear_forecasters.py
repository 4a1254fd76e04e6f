"""Linear forecasters of the literature, trained by gradient: RLinear and DLinear, one map shared by all variates."""

from pydantic import Field, field_validator
from torch import Tensor, nn, ones, zeros
from torch.nn import functional as F

from multiway.models.windows import WindowSizes, by_mean, read_past


class RLinearConfig(WindowSizes):
    """Sizes of an `RLinear`."""


class DLinearConfig(RLinearConfig):
    """Sizes of a `DLinear`."""

    trend_steps: int = Field(25, gt=0)
    """Steps that each value of the trend is the mean of; an odd number."""

    @field_validator("trend_steps")
    @classmethod
    def _has_a_middle(cls, steps: int) -> int:
        if steps % 2 == 0:
            raise ValueError("trend_steps must be odd, so that the mean lies around its step")
        return steps


class RLinear(nn.Module):
    """One linear map between reversible instance normalisations (Li et al. 2023; Kim et al. 2022).

    With m and s the mean and deviation of a variate's window, and a gain g and shift b for each variate:
    forecast = m + s (W (g (x - m) / s + b) + c - b) / g.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean; forecast `(batch, horizon, variates)`.
    """

    def __init__(self, config: RLinearConfig) -> None:
        super().__init__()
        self.config = config
        self.linear = nn.Linear(config.lookback, config.horizon)
        self.gain = nn.Parameter(ones(config.num_variates))
        self.shift = nn.Parameter(zeros(config.num_variates))

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        normal = by_mean(_filled(self, past, past_observed), past_observed, None)
        mapped = _along_time(self.linear, normal.steps * self.gain + self.shift)
        return (mapped - self.shift) / self.gain * normal.scale + normal.centre


class DLinear(nn.Module):
    """One linear map of the trend, a moving average, and one of what is left (Zeng et al. 2023).

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean; forecast `(batch, horizon, variates)`.
    """

    def __init__(self, config: DLinearConfig) -> None:
        super().__init__()
        self.config = config
        self.trend = nn.Linear(config.lookback, config.horizon)
        self.rest = nn.Linear(config.lookback, config.horizon)

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        filled = _filled(self, past, past_observed)
        steps, half = self.config.trend_steps, self.config.trend_steps // 2
        longer = F.pad(filled.transpose(1, 2), (half, half), mode="replicate")
        trend = F.avg_pool1d(longer, steps, stride=1).transpose(1, 2)  # the mean around each step
        return _along_time(self.trend, trend) + _along_time(self.rest, filled - trend)


def _filled(model: RLinear | DLinear, past: Tensor, observed: Tensor | None) -> Tensor:
    return read_past(type(model).__name__, past, observed, model.config)


def _along_time(linear: nn.Linear, steps: Tensor) -> Tensor:
    mapped: Tensor = linear(steps.transpose(1, 2)).transpose(1, 2)
    return mapped
