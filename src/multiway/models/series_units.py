"""The units of series: between those that models see and those of the file, and the range of the training."""

import torch
from torch import Tensor, nn

REACH = 10.0
"""Ranges of the training values that a forecast in other units may lie above or below them."""
NOTHING = 1e-3
"""Part of the smallest training value below which a value of a positive series counts as none."""


class Units(nn.Module):
    """Mean, deviation and range of the training values of every series; nothing of it is stored with weights.

    mean, std, low, high: `(series,)`.
    positive: Series whose training values are all above zero.
    """

    mean: Tensor
    std: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, mean: Tensor, std: Tensor, low: Tensor, high: Tensor) -> None:
        super().__init__()
        for name, values in {"mean": mean, "std": std, "low": low, "high": high}.items():
            self.register_buffer(name, values.double(), persistent=False)

    @property
    def positive(self) -> Tensor:
        """Series without a value at or below zero in training."""
        return self.low > 0

    def into(self, past: Tensor) -> Tensor:
        """In the units of the file, float64; what is none in a positive series is half of its smallest training value.

        A low value is itself: a series that falls below all of its training keeps its proportions.
        """
        values = past.double() * self.std + self.mean
        return torch.where(self.positive & (values < NOTHING * self.low), self.low / 2, values)

    def back(self, forecast: Tensor) -> Tensor:
        """In the units of models, held within `REACH` ranges of the training values."""
        span = REACH * (self.high - self.low).maximum(self.std)
        held = forecast.nan_to_num(0.0).clamp(self.low - span, self.high + span)
        return ((held - self.mean) / self.std).float()
