"""Stretches of windows without a missing cell."""

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway.data.series.windows import Windows

SHORTEST_STRETCH = 32


def complete_stretches(windows: Windows, start: int, stop: int) -> tuple[list[tuple[int, int]], Tensor]:
    """Stretches of at least 32 successive windows without a missing cell, and the other windows, of start to stop.

    Windows that were chosen one by one form no stretch.
    """
    if windows.chosen is not None:
        return [], torch.arange(start, stop)
    past, future = windows.past_observed_view(), windows.future_observed_view()
    if past is None or future is None:
        return [(start, stop)], torch.empty(0, dtype=torch.long)
    rows = torch.cat([past[start:stop, :, 0], past[stop - 1, :, 1:].T, future[stop - 1].T]).all(1)
    broken = F.pad((~rows).cumsum(0), (1, 0))
    whole = broken[windows.lookback + windows.horizon :] == broken[: stop - start]
    edges = torch.diff(F.pad(whole.int(), (1, 1)))
    pairs = zip(
        torch.nonzero(edges == 1).flatten().tolist(), torch.nonzero(edges == -1).flatten().tolist(), strict=True
    )
    stretches = [(first, last) for first, last in pairs if last - first >= SHORTEST_STRETCH]
    for first, last in stretches:
        broken[first:last] = -1
    rest = start + torch.nonzero(broken[: stop - start] >= 0).flatten()
    return [(start + first, start + last) for first, last in stretches], rest
