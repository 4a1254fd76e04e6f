"""Second moments of all windows of a split: everything that ridge regression has to know about them."""

import dataclasses
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway.data import Windows
from multiway.models.windows import fill_gaps

CELLS_PER_CHUNK = 8_000_000


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


def masked_moments(windows: Windows) -> Moments:
    """Moments of windows with missing cells, chunk by chunk.

    Gaps in the past hold the last observed value. A target step counts where it is observed, and its sums are
    scaled up to the number of windows, so that a few missing cells do not cost whole windows.
    """
    past, future = windows.past_view(), windows.future_view()
    seen, wanted = windows.past_observed_view(), windows.future_observed_view()
    assert seen is not None and wanted is not None
    variates, lookback, horizon = past.shape[1], past.shape[2], future.shape[2]
    gram = torch.zeros(variates, lookback, lookback, dtype=torch.float64)
    cross = torch.zeros(variates, lookback, horizon, dtype=torch.float64)
    square, count = (torch.zeros(variates, horizon, dtype=torch.float64) for _ in range(2))
    used = torch.zeros(variates, dtype=torch.float64)
    for part in chunks(len(windows), variates * (lookback + horizon)):
        x, y, keep = masked_steps(past[part], future[part], seen[part], wanted[part])
        x *= keep.any(-1, keepdim=True)
        gram.baddbmm_(x.mT, x)
        cross.baddbmm_(x.mT, y * keep)
        square += (y * keep).square().sum(1)
        count += keep.sum(1)
        used += keep.any(-1).sum(1)
    share = used[:, None] / count.clamp_min(1)
    return Moments(gram=gram, cross=cross * share[:, None], square=(square * share).sum(1), count=used * horizon)


def masked_steps(past: Tensor, future: Tensor, seen: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Differences from the last value, `(variates, windows, steps)`, float64, and which targets count."""
    filled = fill_gaps(past.mT, seen.mT).mT.double()
    last = filled[..., -1:]
    keep = wanted & seen.any(-1, keepdim=True)
    x, y = (filled - last).transpose(0, 1), (future - last).transpose(0, 1)
    return x, torch.where(keep.transpose(0, 1), y, 0), keep.transpose(0, 1)


def chunks(windows: int, cells: int) -> list[slice]:
    """Stretches of windows of about 8 million cells."""
    size = max(CELLS_PER_CHUNK // max(cells, 1), 1)
    return [slice(start, min(start + size, windows)) for start in range(0, windows, size)]
