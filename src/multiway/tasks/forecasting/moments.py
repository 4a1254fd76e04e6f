"""Second moments of all windows of a split: everything that ridge regression has to know about them."""

import dataclasses
from collections.abc import Iterator
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway.data import Windows
from multiway.models.windows import fill_gaps

CELLS_PER_CHUNK = 8_000_000
SHORTEST_STRETCH = 32


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Moments:
    """Sums over windows of X (past) and Y (future), both with the window's last value subtracted; float64.

    gram: XᵀX, `(variates, lookback, lookback)`.
    cross: XᵀY, `(variates, lookback, horizon)`.
    square: ΣY², `(variates,)`.
    count: Target cells, `(variates,)`.
    """

    gram: Tensor
    cross: Tensor
    square: Tensor
    count: Tensor

    def shared(self) -> Self:
        """Sums over variates as well."""
        sums = {field.name: getattr(self, field.name).sum(0, keepdim=True) for field in dataclasses.fields(self)}
        return type(self)(**sums)

    def squared_error(self, weight: Tensor) -> float:
        """Sum of (Y - X Wᵀ)² from the moments alone: ΣY² - 2 tr(W XᵀY) + tr(W XᵀX Wᵀ)."""
        linear = (weight * self.cross.mT).sum()
        quadratic = ((weight @ self.gram) * weight).sum()
        return float(self.square.sum() - 2 * linear + quadratic)


def complete_moments(windows: Windows, start: int = 0, stop: int | None = None) -> Moments:
    """Moments of the windows from `start` up to `stop`, none of which has a missing cell.

    Successive windows share all rows but one, so Σ x[t+i] x[t+j] follows from its neighbour on the diagonal by one
    product that enters and one that leaves, and only the first of each diagonal is a sum over windows, found by
    FFT: O(rows log rows + lookback (lookback + horizon)) per variate in place of O(rows lookback (lookback +
    horizon)). Rows are centred first, which changes nothing but the rounding.
    """
    count = (len(windows) if stop is None else stop) - start
    rows = _rows(windows, start, start + count)  # (variates, count + lookback + horizon - 1)
    span = windows.lookback + windows.horizon
    size = max(CELLS_PER_CHUNK // (windows.lookback * span + rows.shape[1]), 1)
    parts = [_lag_moments(part, count, windows.lookback) for part in torch.split(rows, size)]
    gram, cross, square = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    cells = torch.full((len(rows),), float(count * windows.horizon), dtype=torch.float64)
    return Moments(gram=gram, cross=cross, square=square, count=cells)


def _rows(windows: Windows, start: int, stop: int) -> Tensor:
    past, last = windows.past_view(), windows.future_view()[stop - 1]
    rows = torch.cat([past[start:stop, :, 0].T, past[stop - 1, :, 1:], last], dim=1).double()
    return rows - rows.mean(1, keepdim=True)


def _lag_moments(rows: Tensor, count: int, lookback: int) -> tuple[Tensor, Tensor, Tensor]:
    products = _lag_products(rows, count, lookback)
    last = lookback - 1
    row, corner = products[:, last, None, :], products[:, last, None, None, last]
    steps = products - products[:, :, last, None] - row + corner
    running = F.pad(rows.square().cumsum(1), (1, 0))
    squares = (running[:, count:] - running[:, :-count])[:, lookback:]
    total = (squares - 2 * row[:, 0, lookback:] + corner[:, 0]).sum(1)
    return steps[..., :lookback].contiguous(), steps[..., lookback:].contiguous(), total


def _lag_products(rows: Tensor, count: int, lookback: int) -> Tensor:
    """Σ over t < count of x[t+i] x[t+j], for i < lookback and every j of a window."""
    span = rows.shape[1] - count + 1
    size = 1 << (rows.shape[1] - 1).bit_length()
    spectrum = torch.fft.rfft(rows[:, :count], size).conj() * torch.fft.rfft(rows, size)
    first = torch.fft.irfft(spectrum, size)[:, :span]
    ahead = F.pad(rows, (0, lookback)).unfold(1, span, 1)  # beyond the last row: never read below
    enter = rows[:, count : count + lookback - 1, None] * ahead[:, count : count + lookback - 1]
    leave = rows[:, : lookback - 1, None] * ahead[:, : lookback - 1]
    by_lag = torch.cat([first[:, None], enter - leave], 1).cumsum(1)  # (variates, i, j - i)
    i, j = torch.arange(lookback)[:, None], torch.arange(span)
    return by_lag.flatten(1)[:, torch.minimum(i, j) * span + (i - j).abs()]


def normal_equations(windows: Windows) -> tuple[Tensor, Tensor]:
    """XᵀX and XᵀY per variate, `(variates, lookback, lookback)` and `(variates, lookback, horizon)`.

    Where cells are missing, gaps in the past hold the last observed value, and a target step counts where it is
    observed: its sums are scaled up to the number of windows, so that a few missing cells do not cost whole windows.
    """
    variates, lookback, horizon = windows.num_variates, windows.lookback, windows.horizon
    gram = torch.zeros(variates, lookback, lookback, dtype=torch.float64)
    cross = torch.zeros(variates, lookback, horizon, dtype=torch.float64)
    count = torch.zeros(variates, horizon, dtype=torch.float64)
    used = torch.zeros(variates, dtype=torch.float64)
    stretches, rest = complete_stretches(windows, 0, len(windows))
    for start, stop in stretches:
        part = complete_moments(windows, start, stop)
        gram, cross = gram + part.gram, cross + part.cross
        count, used = count + (stop - start), used + (stop - start)
    for x, y, keep in masked_steps(windows, rest):
        some = keep.any(-1, keepdim=True)
        gram.baddbmm_((x * some).mT, x)
        cross.baddbmm_(x.mT, y)
        count += keep.sum(1)
        used += some.sum((1, 2))
    return gram, cross * (used[:, None] / count.clamp_min(1))[:, None]


def complete_stretches(windows: Windows, start: int, stop: int) -> tuple[list[tuple[int, int]], Tensor]:
    """Stretches of at least 32 successive windows without a missing cell, and the other windows, of start to stop."""
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


def masked_steps(windows: Windows, index: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """X, Y (0 where it is missing) and which targets count, `(variates, windows, steps)` in float64, in chunks."""
    size = max(CELLS_PER_CHUNK // (windows.num_variates * (windows.lookback + windows.horizon)), 1)
    for part in torch.split(index, size) if len(index) else ():
        batch = windows.gather(part)
        filled = fill_gaps(batch["past"], batch["past_observed"]).double()
        last = filled[:, -1:]
        keep = (batch["future_observed"] & batch["past_observed"].any(1, keepdim=True)).permute(2, 0, 1)
        x, y = (filled - last).permute(2, 0, 1), (batch["future"] - last).permute(2, 0, 1)
        yield x.contiguous(), torch.where(keep, y, 0), keep
