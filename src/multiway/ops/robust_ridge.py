"""Regression under errors with heavy tails: ridge, and a Gaussian process that is more than linear."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

ROUNDS = 2
"""Fits after the first, each under the weights of the last."""
NEAREST = 0.3
"""Share of the median error below which an error counts as this much."""


class Affine(NamedTuple):
    """A weight `(features, out)` and a bias `(out,)`."""

    weight: Tensor
    bias: Tensor


def robust_ridge(
    x: Float[Tensor, "rows features"], y: Float[Tensor, "rows out"], penalty: float, rounds: int = ROUNDS
) -> Affine:
    r"""Minimise $\sum_i \lVert y_i - x_i W - b \rVert + \lambda \lVert W \rVert^2$ by reweighted least squares.

    Every round weighs a row by $1 / \max(r_i, 0.3\,\mathrm{median}(r))$, r the root mean square of its errors, scaled
    to a mean of one; the bias is free of the penalty. Without rounds it is ridge.

    Cost:
        rounds + 1 products of `x` with itself and solutions.
    """
    weights = x.new_ones(len(x), 1)
    for each in range(rounds + 1):
        total = weights.sum()
        centre, level = (weights * x).sum(0) / total, (weights * y).sum(0) / total
        moved = x - centre
        gram = (weights * moved).T @ moved
        gram.diagonal().add_(penalty)
        weight = torch.cholesky_solve((weights * moved).T @ (y - level), torch.linalg.cholesky(gram))
        line = Affine(weight, level - centre @ weight)
        if each < rounds:
            errors = (y - x @ line.weight - line.bias).square().mean(1, keepdim=True).sqrt()
            floor = (NEAREST * errors.median()).clamp_min(torch.finfo(x.dtype).tiny)
            weights = 1 / errors.maximum(floor)
            weights = weights / weights.mean()
    return line


def gaussian_features(
    x: Float[Tensor, "*series rows features"], others: Float[Tensor, "*series others features"], width: float
) -> Float[Tensor, "*series rows others"]:
    r"""$\exp(-w \lVert x_i - c_j \rVert^2)$ for other rows c."""
    squares = x.square().sum(-1)[..., None] + others.square().sum(-1)[..., None, :] - 2 * x @ others.mT
    return torch.exp(-width * squares.clamp_min(0.0))


def clipped_process(
    kernel: Float[Tensor, "*series rows rows"], y: Float[Tensor, "*series rows out"], noise: float
) -> tuple[Tensor, Tensor]:
    r"""Gaussian-process regression on rows in the order of time, whose errors ahead are clipped one after another.

    With $L L^\top = K + \lambda I$, row t is foreseen from those before it by $m_t = \sum_{s<t} L_{ts} e_s$, and
    $e_t = c(y_t - m_t) / L_{tt}$. c shortens an error whose root mean square over `out` is above $\sqrt\lambda$ to
    that, and makes it zero where any of it is NaN. Without clipping it is the process itself (Rasmussen & Williams
    2006, algorithm 2.1), as $m_t$ is its mean given the rows before.

    Returns:
        y - m `(…, rows, out)`, and the weights $L^{-\top} e$ of rows in a forecast.

    Cost:
        One Cholesky factor of `rows`.
    """
    noisy = kernel.clone()
    noisy.diagonal(dim1=-2, dim2=-1).add_(noise)
    factor, surprises, errors = torch.linalg.cholesky(noisy), torch.zeros_like(y), torch.empty_like(y)
    for row in range(y.shape[-2]):
        ahead = (factor[..., row : row + 1, :row] @ surprises[..., :row, :])[..., 0, :]
        errors[..., row, :] = error = y[..., row, :] - ahead
        size = error.square().mean(-1, keepdim=True).sqrt()
        clipped = torch.where(size > noise**0.5, error * (noise**0.5 / size), error)
        surprises[..., row, :] = torch.where(size.isfinite(), clipped, 0.0) / factor[..., row, row, None]
    return errors, torch.linalg.solve_triangular(factor.mT, surprises, upper=True)
