"""Forecasts that need no training; they stand beside every score."""

import torch
from torch import Tensor


def naive(past: Tensor, horizon: int) -> Tensor:
    """Repeat the last value: `(batch, lookback, variates)` to `(batch, horizon, variates)`."""
    return past[:, -1:].expand(-1, horizon, -1)


def seasonal_naive(past: Tensor, horizon: int, season: int) -> Tensor:
    """Repeat the last season; a look-back shorter than one leaves the naive forecast."""
    if season > past.shape[1]:
        return naive(past, horizon)
    steps = torch.arange(horizon, device=past.device) % season
    return past[:, past.shape[1] - season :][:, steps]
