"""Second moments of all windows of a split: everything that ridge regression has to know about them."""

from collections.abc import Iterator

import torch
from torch import Tensor

from multiway import ops
from multiway.data import Windows, complete_stretches
from multiway.models.windows import fill_gaps
from multiway.ops.moments import CELLS_PER_CHUNK


def complete_moments(windows: Windows, start: int = 0, stop: int | None = None) -> ops.Moments:
    """Moments of the windows from `start` up to `stop`, none of which has a missing cell."""
    stop = len(windows) if stop is None else stop
    past, last = windows.past_view(), windows.future_view()[stop - 1]
    rows = torch.cat([past[start:stop, :, 0].T, past[stop - 1, :, 1:], last], dim=1)
    return ops.ridge_moments(rows, stop - start, windows.lookback)


def normal_equations(windows: Windows, stop: int | None = None) -> tuple[Tensor, Tensor]:
    """XᵀX and XᵀY per variate, `(variates, lookback, lookback)` and `(variates, lookback, horizon)`.

    Of all windows, or of those before `stop`.

    Where cells are missing, gaps in the past hold the last observed value, and a target step counts where it is
    observed: its sums are scaled up to the number of windows, so that a few missing cells do not cost whole windows.
    """
    variates, lookback, horizon = windows.num_variates, windows.lookback, windows.horizon
    gram = torch.zeros(variates, lookback, lookback, dtype=torch.float64)
    cross = torch.zeros(variates, lookback, horizon, dtype=torch.float64)
    count = torch.zeros(variates, horizon, dtype=torch.float64)
    used = torch.zeros(variates, dtype=torch.float64)
    stretches, rest = complete_stretches(windows, 0, len(windows) if stop is None else stop)
    for first, last in stretches:
        part = complete_moments(windows, first, last)
        gram, cross = gram + part.gram, cross + part.cross
        count, used = count + (last - first), used + (last - first)
    for x, y, keep in masked_steps(windows, rest):
        some = keep.any(-1, keepdim=True)
        gram.baddbmm_((x * some).mT, x)
        cross.baddbmm_(x.mT, y)
        count += keep.sum(1)
        used += some.sum((1, 2))
    return gram, cross * (used[:, None] / count.clamp_min(1))[:, None]


def masked_steps(windows: Windows, index: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """X, Y (0 where it is missing) and which targets count, `(variates, windows, steps)` in float64, in chunks."""
    size = max(CELLS_PER_CHUNK // (windows.num_variates * (windows.lookback + windows.horizon)), 1)
    for part in torch.split(index, size) if len(index) else ():
        batch = windows.gather(part)
        past, future = batch["past"], batch["future"]
        seen = batch.get("past_observed", torch.ones_like(past, dtype=torch.bool))
        filled = fill_gaps(past, seen).double()
        last = filled[:, -1:]
        keep = batch.get("future_observed", torch.ones_like(future, dtype=torch.bool)) & seen.any(1, keepdim=True)
        keep = keep.permute(2, 0, 1)
        x, y = (filled - last).permute(2, 0, 1), (future - last).permute(2, 0, 1)
        yield x.contiguous(), torch.where(keep, y, 0), keep
