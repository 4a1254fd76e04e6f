"""What a forecaster reads off a window before any weight: filled gaps, its centre, its scale."""

import torch
from torch import Tensor

VARIANCE_FLOOR = 1e-5
"""Added to the variance, as in the paper's code: a constant window is divided by 0.003, not by zero."""


def fill_gaps(past: Tensor, observed: Tensor) -> Tensor:
    """Put the last observed value into each gap; before the first one, the first; 0 where there is none.

    Only observed cells are read, so whatever stands in the others (NaN too) reaches neither the result nor
    the gradient. past, observed: `(batch, lookback, variates)`; observed is boolean.
    """
    steps = torch.arange(past.shape[1], device=past.device)[:, None]
    latest = torch.where(observed, steps, -1).cummax(dim=1).values
    first = observed.to(torch.int8).argmax(dim=1, keepdim=True)
    known = torch.where(observed, past, 0.0)
    return known.gather(1, torch.where(latest < 0, first, latest))


def window_moments(past: Tensor, observed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Take each variate's mean and biased standard deviation over its observed steps, `(batch, 1, variates)`.

    Computed in float32 or wider. With nothing observed the mean is 0 and the deviation that of a constant.
    """
    wide = past.to(torch.promote_types(past.dtype, torch.float32))
    if observed is None:
        mean = wide.mean(dim=1, keepdim=True)
        variance = (wide - mean).square().mean(dim=1, keepdim=True)
    else:
        count = observed.sum(dim=1, keepdim=True).clamp(min=1)
        mean = torch.where(observed, wide, 0.0).sum(dim=1, keepdim=True) / count
        variance = torch.where(observed, wide - mean, 0.0).square().sum(dim=1, keepdim=True) / count
    return mean.to(past.dtype), (variance + VARIANCE_FLOOR).sqrt().to(past.dtype)


def valid_patches(observed: Tensor, patch_length: int) -> Tensor:
    """Say where a patch holds at least one observed step: `(batch, variates, patches)`."""
    return observed.unflatten(1, (-1, patch_length)).any(dim=2).transpose(1, 2)
