"""Baselines of series by their names: class shares, logistic regression on all values, random kernels."""

from typing import Literal

import torch
from torch import Tensor, nn

from multiway.models.baselines import Facts, Linear, Majority, fit_logistic
from multiway.models.rocket import Rocket

SeriesBaseline = Literal["majority", "linear", "rocket"]


class FlatLinear(nn.Module):
    """Logistic regression on the values of a series, `(batch, steps, variates)`; missing ones count as 0."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.linear = Linear(num_features, num_classes)

    def fit(self, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor) -> Facts:
        """Fit on series and classes; the penalty is that of the lowest validation loss."""
        return fit_logistic(self.linear, _flat(x), y, _flat(held_x), held_y)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of classes."""
        out: Tensor = self.linear(_flat(x))
        return out


def build_series_baseline(name: str, steps: int, variates: int, num_classes: int) -> nn.Module:
    """A baseline by its name; the kernels of `rocket` are drawn here."""
    if name == "majority":
        return Majority(num_classes)
    return FlatLinear(steps * variates, num_classes) if name == "linear" else Rocket(variates, steps, num_classes)


def fit_series_baseline(model: nn.Module, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor) -> Facts | None:
    """Fit a baseline of `build_series_baseline` in place.

    Args:
        model: The baseline.
        x: Training series, `(samples, steps, variates)`, NaN where missing.
        y: Their classes.
        held_x: Validation series.
        held_y: Their classes.
    """
    if isinstance(model, FlatLinear | Rocket):
        return model.fit(x, y, held_x, held_y)
    assert isinstance(model, Majority)
    model.fit(y)
    return None


def _flat(x: Tensor) -> Tensor:
    return torch.nan_to_num(x).flatten(1)
