"""Models that one look at the moments of the data fits: the last value, ridge regression, logistic regression."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from multiway.errors import ConfigError, DataError, ShapeError

CELLS_PER_CHUNK = 8_000_000
LAG_CELLS = 500_000
"""Of products of lags made at once, which stay in a processor's cache."""
CURVATURE = 0.5
"""Greatest curvature of a log loss by its logits (Böhning 1992)."""
ITERATIONS, HISTORY, SLOPE = 200, 20, 1e-7

Part = TypeVar("Part")
Result = TypeVar("Result")
Solution = tuple[Tensor, Tensor]
"""Weight `(classes, features)` and bias `(classes,)`."""


def naive(past: Tensor, horizon: int) -> Tensor:
    """Repeat the last value: `(batch, lookback, variates)` to `(batch, horizon, variates)`."""
    return past[:, -1:].expand(-1, horizon, -1)


def seasonal_naive(past: Tensor, horizon: int, season: int) -> Tensor:
    """Repeat the last season; a look-back shorter than one leaves the naive forecast."""
    if season > past.shape[1]:
        return naive(past, horizon)
    steps = torch.arange(horizon, device=past.device) % season
    return past[:, past.shape[1] - season :][:, steps]


def ridge_path(
    gram: Float[Tensor, "*groups rows columns"],
    cross: Float[Tensor, "*groups in out"],
    penalties: Sequence[float],
    towards: Tensor | None = None,
) -> Iterator[Float[Tensor, "*groups out in"]]:
    """Yield, penalty by penalty, the weights that minimise ‖Y - X Wᵀ‖² + penalty ‖W - S‖².

    W = ((XᵀX + λI)⁻¹ XᵀY)ᵀ with XᵀX = U diag(e) Uᵀ, so each penalty costs one product and no new factorisation. The
    penalty is added to the sum over rows as it is, so its meaning depends on the number of rows and on the scale of
    X. Computed in float64; eigenvalues that rounding made negative count as zero.

    Args:
        gram: XᵀX, symmetric: `(*groups, in, in)`.
        cross: XᵀY.
        penalties: λ > 0 each; each solution is computed on demand.
        towards: S, weights that these are drawn towards, `(*groups, out, in)` or one group for all; zero if not given.

    Raises:
        ShapeError: `gram` is not square, or `cross` does not belong to it.
        ConfigError: A penalty is not a positive number.
        DataError: A moment is NaN or infinite.
    """
    _check_moments(gram, cross, penalties)
    if towards is not None:
        rest = cross - gram @ towards.to(gram.dtype).mT
        return (towards + weight for weight in ridge_path(gram, rest, penalties))
    values, vectors = torch.linalg.eigh(gram.double())
    rotated = cross.double().mT @ vectors  # (*groups, out, in)
    values = values.clamp_min(0)[..., None, :]
    return ((rotated / (values + penalty)) @ vectors.mT for penalty in penalties)


def _check_moments(gram: Tensor, cross: Tensor, penalties: Sequence[float]) -> None:
    if gram.shape[-1] != gram.shape[-2] or cross.shape[:-1] != gram.shape[:-1]:
        raise ShapeError(
            f"ridge_path: gram must be (*groups, in, in) and cross (*groups, in, out). Got gram {tuple(gram.shape)} "
            f"and cross {tuple(cross.shape)}."
        )
    wrong = [penalty for penalty in penalties if not (penalty > 0 and math.isfinite(penalty))]
    if wrong:
        raise ConfigError(f"ridge_path: every penalty must be a positive number. Got {wrong}.")
    for name, moments in {"gram": gram, "cross": cross}.items():
        if not bool(moments.isfinite().all()):
            raise DataError(f"ridge_path: {name} has a NaN or an infinity; leave out or fill missing rows first.")


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
    size = max(LAG_CELLS // (lookback * span + rows.shape[1]), 1)
    parts = over_parts(lambda part: _lag_moments(part, count, lookback), torch.split(rows, size))
    gram, cross, square = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    cells = torch.full((len(rows),), float(count * (span - lookback)), dtype=torch.float64)
    return Moments(gram=gram, cross=cross, square=square, count=cells)


def sum_ridge_moments(rows: Float[Tensor, "rows variates"], count: int, lookback: int) -> Moments:
    """The sum of `ridge_moments` over variates, where these are many more than the rows.

    Products of two rows are summed over the variates first, by one matrix product; those of a window are sums of them
    along a diagonal: O(rows variates (lookback + horizon)) multiplications in place of as many passes over memory.
    """
    span = len(rows) - count + 1
    last, size = lookback - 1, max(CELLS_PER_CHUNK // len(rows), 1)
    by_lag = torch.zeros(len(rows) + 1, span, dtype=torch.float64)  # of row t with row t + lag
    for part in rows.split(size, dim=1):
        centred = F.pad(part.double() - part.double().mean(0), (0, 0, 0, 2 * span))
        for start in range(0, len(rows), span):
            block = centred[start : start + span] @ centred[start : start + 2 * span].T
            kept = by_lag[start + 1 : start + span + 1]
            kept += block.as_strided((len(kept), span), (2 * span + 1, 1))
    sums = by_lag.cumsum(0)
    diagonals = sums[count : count + span] - sums[:span]
    i, j = torch.arange(span)[:, None], torch.arange(span)
    products = diagonals[torch.minimum(i, j), (i - j).abs()]
    steps = products - products[last] - products[:, last, None] + products[last, last]
    cells = torch.tensor([float(count * (span - lookback) * rows.shape[1])], dtype=torch.float64)
    square = steps.diagonal()[lookback:].sum()[None]
    return Moments(
        gram=steps[None, :lookback, :lookback], cross=steps[None, :lookback, lookback:], square=square, count=cells
    )


def over_parts(function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Results of a pure function for each part, in their order, the same bits for any number of threads.

    A part has one thread of torch's, and as many parts run at once as it has threads. Gradients do not go through.
    """
    threads = torch.get_num_threads()

    def run(part: Part) -> Result:
        torch.set_num_threads(1)  # torch counts threads for each thread of Python, but for its matrix products
        with torch.no_grad():
            return function(part)

    try:
        if min(threads, len(parts)) < 2:
            return [run(part) for part in parts]
        with ThreadPoolExecutor(min(threads, len(parts))) as pool:
            return list(pool.map(run, parts))
    finally:
        torch.set_num_threads(threads)


def _lag_moments(rows: Tensor, count: int, lookback: int) -> tuple[Tensor, Tensor, Tensor]:
    products = _lag_products(rows, count, lookback)
    last = lookback - 1
    row, corner = products[:, last, None, :], products[:, last, None, None, last]
    steps = (products - products[:, :, last, None]).sub_(row - corner)
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


def logistic_path(
    x: Float[Tensor, "samples features"],
    y: Int[Tensor, " samples"],
    penalties: Sequence[float],
    num_classes: int,
    weights: Float[Tensor, " samples"] | None = None,
) -> Iterator[Solution]:
    """Yield, penalty by penalty, the weight and bias of the least mean log loss + penalty / 2 * |weight|².

    The bias is not penalised. For two classes, weights of d/2 and -d/2 stand for one weight of d, and cost half of
    what it would. Each solution starts the search of the next, so give the largest penalty first.

    Features may be sparse: the search then scales each by its own curvature, and leaves their correlation alone.

    weights: How much each sample counts in the mean, of features that are not sparse; alike if not given.
    """
    shares = None if weights is None else weights.to(x.dtype) / weights.sum()
    values, vectors = _curvatures(x if shares is None else x * (len(y) * shares).sqrt()[:, None])
    weight, bias = (
        torch.zeros(shape, dtype=x.dtype, device=x.device) for shape in ((num_classes, x.shape[1]), (num_classes,))
    )
    for penalty in penalties:
        steepness = (CURVATURE * values.clamp_min(0) + penalty).sqrt()
        basis = 1 / steepness if vectors is None else vectors / steepness
        weight, bias = _minimise(x, y, shares, penalty, basis, weight, bias)
        yield weight, bias


def _curvatures(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Mean squares of the features along the directions in which they do not correlate; of sparse ones as they are."""
    if x.is_sparse:
        x = x.coalesce()
        sums = torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)
        return sums.index_add_(0, x.indices()[1], x.values().square()) / len(x), None
    values, vectors = torch.linalg.eigh(x.T @ x / len(x))
    return values, vectors


def _minimise(
    x: Tensor, y: Tensor, shares: Tensor | None, penalty: float, basis: Tensor, weight: Tensor, bias: Tensor
) -> Solution:
    """L-BFGS in a basis in which no curvature of the objective exceeds one, whatever the features' correlation.

    The bound is that of ridge regression, so one eigendecomposition serves all classes and penalties. Of sparse
    features the basis is one number each.
    """
    steep = math.sqrt(CURVATURE)
    start = weight / basis if basis.ndim == 1 else torch.linalg.solve(basis, weight.T).T.contiguous()
    free, turned = [start, bias * steep], x.T.coalesce() if x.is_sparse else x.T
    solver = torch.optim.LBFGS(
        free,
        max_iter=ITERATIONS,
        history_size=HISTORY,
        tolerance_grad=SLOPE,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def objective() -> Tensor:
        weight = _in(basis, free[0])
        loss, by_weight, by_bias = logistic_loss(x, turned, y, weight, free[1] / steep, shares)
        by_weight += penalty * weight
        free[0].grad = by_weight * basis if basis.ndim == 1 else by_weight @ basis
        free[1].grad = by_bias / steep
        return loss + penalty / 2 * weight.square().sum()

    solver.step(objective)
    return _in(basis, free[0]), free[1] / steep


def logistic_loss(
    x: Tensor, turned: Tensor, y: Tensor, weight: Tensor, bias: Tensor, shares: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean log loss with its gradients by weight and bias, in closed form: autograd costs more than these small sums.

    turned: x transposed, which takes sorting where it is sparse.
    shares: Of the samples in the mean; alike if not given.
    """
    logs = F.log_softmax(F.linear(x, weight, bias), 1)
    slopes, rows = logs.exp(), torch.arange(len(y), device=y.device)
    slopes[rows, y] -= 1
    shares = logs.new_full((len(y),), 1 / len(y)) if shares is None else shares
    slopes *= shares[:, None]
    return -(shares @ logs[rows, y]), (turned @ slopes).T.contiguous(), slopes.sum(0)


def _in(basis: Tensor, weight: Tensor) -> Tensor:
    """Weights of the features by those of the basis."""
    return weight * basis if basis.ndim == 1 else weight @ basis.T
