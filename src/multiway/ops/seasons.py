"""A series folded to phases by cycles: the shape that its cycles share, and the series without it."""

import torch
from torch import Tensor

SMALLEST = 1e-9
"""Part of the largest level below which a level counts as this much: nothing is divided by zero."""


def season_shape(past: Tensor, season: int, times: Tensor) -> Tensor:
    r"""The shape of a cycle, from the last step of the past backwards; its first phase is that of the first step ahead.

    With C whole cycles folded to $x_{pc}$ (phase, cycle) and $l_c = \frac1P \sum_p x_{pc}$, of one of rank one

    $$s_p = \frac1C \sum_c \frac{x_{pc}}{l_c} g^{-t_p}, \qquad g = (l_C / l_1)^{1/(C-1)}, \quad
      t_p = \frac{p - (P-1)/2}{P}$$

    scaled to a mean of one: g is the growth from cycle to cycle, which is none of the shape's. Of a series whose shape
    is added, ratios are differences, powers are products, and the mean is zero. A past of less than two cycles has no
    shape.

    Args:
        past: `(batch, lookback, series)`; positive where a shape multiplies.
        season: P, steps in a cycle.
        times: Whether the shape multiplies a series or is added to it, `(series,)`.

    Returns:
        `(batch, season, series)`.
    """
    count = past.shape[1] // season
    if season < 2 or count < 2:
        return torch.where(times, past.new_ones(()), past.new_zeros(())).expand(len(past), season, -1)
    cycles = past[:, past.shape[1] - count * season :].unflatten(1, (count, season))
    centre = (torch.arange(season, dtype=past.dtype, device=past.device)[:, None] - (season - 1) / 2) / season
    product = _multiply(cycles, centre)
    added = _add(cycles, centre)
    return torch.where(times, product, added)


def _multiply(cycles: Tensor, centre: Tensor) -> Tensor:
    level = cycles.mean(2, keepdim=True)
    level = level.maximum(SMALLEST * level.amax(1, keepdim=True)).clamp_min(torch.finfo(level.dtype).tiny)
    growth = (level[:, -1] / level[:, 0]) ** (1 / (cycles.shape[1] - 1))
    shape = (cycles / level).mean(1) * growth**-centre
    return shape / shape.mean(1, keepdim=True).clamp_min(torch.finfo(level.dtype).tiny)


def _add(cycles: Tensor, centre: Tensor) -> Tensor:
    level = cycles.mean(2, keepdim=True)
    growth = (level[:, -1] - level[:, 0]) / (cycles.shape[1] - 1)
    shape = (cycles - level).mean(1) - growth * centre
    return shape - shape.mean(1, keepdim=True)


def phases(lookback: int, horizon: int, season: int) -> tuple[Tensor, Tensor]:
    """Phase of every step of the past and of the horizon, `(lookback,)` and `(horizon,)`."""
    return (torch.arange(lookback) - lookback) % season, torch.arange(horizon) % season


def without_shape(x: Tensor, shape: Tensor, times: Tensor) -> Tensor:
    """The series freed of a shape at each step: divided by it where it multiplies, less it elsewhere."""
    return torch.where(times, x / torch.where(times, shape, 1.0), x - shape)


def with_shape(x: Tensor, shape: Tensor, times: Tensor) -> Tensor:
    """The inverse of `without_shape`."""
    return torch.where(times, x * shape, x + shape)
