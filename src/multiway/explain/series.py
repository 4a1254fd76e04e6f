"""What of a series moved a class's logit: integrated gradients, summed over either axis."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.explain.gradients import gradients_within

TOLERANCE = 0.1
"""Share of the logit's change that the sum of the gradients may miss."""


class Observed(nn.Module):
    """A model of series whose missing values stay missing while the others are faded."""

    def __init__(self, model: nn.Module, series: Tensor) -> None:
        super().__init__()
        self.model, self.is_missing = model, series.isnan()

    def forward(self, x: Tensor) -> Tensor:
        """Logits of faded copies of the series."""
        out: Tensor = self.model(torch.where(self.is_missing, torch.nan, x))
        return out


def attribute_series(model: nn.Module, series: Tensor) -> NDArray[np.float64]:
    """Share the logit of the predicted class among the values of each series, from the mean of the training on.

    Args:
        model: Takes `(batch, steps, variates)`, NaN where missing, to logits.
        series: The same, scaled so that 0 is the mean.

    Returns:
        `(batch, steps, variates)`; 0 where a value is missing.
    """
    found = []
    for each in series.split(1):
        with torch.no_grad():
            target = model(each).argmax(1)
        gradients = gradients_within(Observed(model, each), each.nan_to_num(), target, tolerance=TOLERANCE)
        found.append(gradients.values.double().cpu().numpy())
    return np.concatenate(found)


def mode_shares(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of each step and of each variate in the absolute attribution; every series weighs the same."""
    size = np.abs(values)
    total = size.sum((1, 2), keepdims=True)
    share = (size / np.where(total > 0, total, 1)).mean(0)
    return share.sum(1), share.sum(0)
