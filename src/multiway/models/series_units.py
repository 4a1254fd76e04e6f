"""The units of series: between those that models see and those of the file, and the range of the rows of a fit."""

import torch
from torch import Tensor, nn

REACH = 10.0
"""Ranges of the training values that a forecast in other units may lie above or below them."""
NOTHING = 1e-3
"""Part of the smallest value below which a value of a positive series counts as none."""
ROUNDED = 1e-4
"""Deviations below zero that count as zero, as values of models are rounded."""


class Units(nn.Module):
    """Mean, deviation and range of every series; nothing of it is stored with weights.

    mean, std, high: Of the training values, `(series,)`.
    low: The smallest value in the rows that a model is fitted on.
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
        """Series without a value at or below zero in the rows that a model is fitted on."""
        return self.low > 0

    def is_positive(self, past: Tensor) -> Tensor:
        """Which series have no value at or below zero, in those rows or in a window, `(batch, 1, series)`."""
        return self.positive & (self.raw(past) >= NOTHING * self.low).all(1, keepdim=True)

    def is_nonnegative(self, past: Tensor) -> Tensor:
        """Which series have no value below zero, in those rows or in a window, `(batch, 1, series)`."""
        return (self.low >= 0) & (self.raw(past) >= -ROUNDED * self.std).all(1, keepdim=True)

    def raw(self, past: Tensor) -> Tensor:
        """In the units of the file, float64."""
        return past.double() * self.std + self.mean

    def into(self, past: Tensor) -> Tensor:
        """In the units of the file, float64; what is none in a positive series is half of its smallest value.

        A low value is itself: a series that falls below all of its training keeps its proportions.
        """
        values = self.raw(past)
        return torch.where(self.positive & (values < NOTHING * self.low), self.low / 2, values)

    def back(self, forecast: Tensor) -> Tensor:
        """In the units of models, held within `REACH` ranges of the training values."""
        span = REACH * (self.high - self.low).maximum(self.std)
        held = forecast.nan_to_num(0.0).clamp(self.low - span, self.high + span)
        return ((held - self.mean) / self.std).float()
