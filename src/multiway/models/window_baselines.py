"""Baselines of windows that see what a network sees: the mean of the targets, and ridge from all past values."""

from typing import Literal

from torch import Tensor, nn

from multiway.models.baselines import Facts, Linear, Mean, fit_ridge
from multiway.models.windows import num_seen, seen_past

Baseline = Literal["mean", "ridge_inputs"]


class WindowBaseline(nn.Module):
    """The mean of the training targets, or a linear map of every past value of the series that are seen.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean; forecast `(batch, horizon, targets)`.
    """

    def __init__(self, name: Baseline, num_variates: int, num_targets: int | None, lookback: int, horizon: int) -> None:
        super().__init__()
        self.num_targets, self.horizon = num_targets, horizon
        features, outputs = lookback * num_seen(num_variates, num_targets), horizon * (num_targets or num_variates)
        self.model: Mean | Linear = Mean(outputs) if name == "mean" else Linear(features, outputs)

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        out = self.model(self.features(past, past_observed)).to(past.dtype)
        forecast: Tensor = out.unflatten(1, (self.horizon, -1))
        return forecast

    def features(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Past values of the series that are seen, `(batch, lookback * series)`."""
        return seen_past(past, past_observed, self.num_targets).flatten(1)

    def fit(self, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor) -> Facts | None:
        """Fit on features and flat targets of training windows; validation windows choose ridge's penalty."""
        if isinstance(self.model, Linear):
            return fit_ridge(self.model, x, y, held_x, held_y)
        self.model.fit(y)
        return None
