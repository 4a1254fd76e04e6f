"""How wide bands are from window to window, relative to the usual width: by a network's quantiles, by covariates."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway import ops

Errors = NDArray[np.float32]
NARROWEST, WIDEST = 0.2, 20.0
"""Of widths relative to the usual one."""


def of_network(spread: Tensor, usual: Tensor) -> Tensor:
    """Distances of quantiles below and above a forecast `(2, ..., variates)`, over the usual one; 1 where that is 0."""
    return torch.where(usual > 0, spread / usual, 1).clamp(NARROWEST, WIDEST).float()


def usual_of_network(spread: Tensor) -> Tensor:
    """Mean distance by variate, of `(2, windows, horizon, variates)`."""
    return spread.double().mean((0, 1, 2))


def of_covariates(known: Tensor, slopes: Tensor) -> Tensor:
    """Widths by what is known ahead of a step, `(..., variates or 1, features)`, on both sides, `(2, ..., variates)`.

    slopes: `(1 + features, variates)`, of the logarithm of a width; the first is its constant. Zeros are a width of 1.
    """
    start, rest = slopes[0], slopes[1:].to(known.dtype)
    alike = known.shape[-2] == 1
    logs: Tensor = start + (known.squeeze(-2) @ rest if alike else (known * rest.T).sum(-1))
    return logs.exp().clamp(NARROWEST, WIDEST).float().expand(2, *logs.shape)


def slopes_of_covariates(errors: Errors, known: Tensor, steps: int) -> Tensor:
    """Those of `of_covariates`, from errors `(horizon, variates, windows)`.

    known: `(windows, horizon, variates or 1, features)`.
    """
    features = known.permute(1, 2, 0, 3).numpy()
    slopes = ops.size_slopes(errors, features, steps)
    constant = -(features.mean((0, 2), dtype=np.float64) * slopes.T).sum(1)
    return torch.from_numpy(np.stack([constant, *slopes]))


def stretched(offsets: Tensor, widths: Tensor) -> Tensor:
    """Offsets times the width of their side, the first of which is that below."""
    low, high = widths
    return torch.where(offsets < 0, offsets * low, offsets * high)


def in_widths(errors: Tensor, widths: Tensor) -> Tensor:
    """Errors over the width of their side."""
    low, high = widths
    return errors / torch.where(errors < 0, low, high)


def known_ahead(inputs: tuple[Any, ...], horizon: int, variates: int) -> Tensor | None:
    """Features of the steps to forecast, of what a forecast is called with, `(batch, horizon, variates or 1, …)`."""
    covariates = inputs[2] if len(inputs) > 2 else None
    known = None if covariates is None else covariates.of_last(variates).known[:, -horizon:]
    return known if known is not None and known.shape[-1] else None
