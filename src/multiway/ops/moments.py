"""Second moments of all windows of a series, from the products that enter and leave as the window moves on."""

import dataclasses

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

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

    def shared(self) -> "Moments":
        """Sums over variates as well."""
        sums = {field.name: getattr(self, field.name).sum(0, keepdim=True) for field in dataclasses.fields(self)}
        return Moments(**sums)

    def squared_error(self, weight: Tensor) -> float:
        """Sum of (Y - X Wᵀ)² from the moments alone: ΣY² - 2 tr(W XᵀY) + tr(W XᵀX Wᵀ)."""
        linear = (weight * self.cross.mT).sum()
        quadratic = ((weight @ self.gram) * weight).sum()
        return float(self.square.sum() - 2 * linear + quadratic)


def ridge_moments(rows: Float[Tensor, "variates rows"], count: int, lookback: int) -> Moments:
    """Moments of `count` successive windows of complete rows; what follows a window's look-back is its future.

    Successive windows share all rows but one, so Σ x[t+i] x[t+j] follows from its neighbour on the diagonal by one
    product that enters and one that leaves, and only the first of each diagonal is a sum over windows, found by
    FFT: O(rows log rows + lookback (lookback + horizon)) per variate in place of O(rows lookback (lookback +
    horizon)). Rows are centred first, which changes nothing but the rounding.
    """
    rows = rows.double()
    rows = rows - rows.mean(1, keepdim=True)
    span = rows.shape[1] - count + 1
    size = max(CELLS_PER_CHUNK // (lookback * span + rows.shape[1]), 1)
    parts = [_lag_moments(part, count, lookback) for part in torch.split(rows, size)]
    gram, cross, square = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    cells = torch.full((len(rows),), float(count * (span - lookback)), dtype=torch.float64)
    return Moments(gram=gram, cross=cross, square=square, count=cells)


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
