"""Ridge under errors with heavy tails, and the features of a kernel that make it more than linear."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

ROUNDS = 2
"""Fits after the first, each under the weights of the last."""
NEAREST = 0.3
"""Share of the median error below which an error counts as this much."""
SMALLEST = 1e-8
"""Eigenvalues of the landmarks' kernel that are left out, as a share of the largest."""


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
        line = _weighted(x, y, weights, penalty)
        if each < rounds:
            errors = (y - x @ line.weight - line.bias).square().mean(1, keepdim=True).sqrt()
            floor = (NEAREST * errors.median()).clamp_min(torch.finfo(x.dtype).tiny)
            weights = 1 / errors.maximum(floor)
            weights = weights / weights.mean()
    return line


def _weighted(x: Tensor, y: Tensor, weights: Tensor, penalty: float) -> Affine:
    total = weights.sum()
    centre, level = (weights * x).sum(0) / total, (weights * y).sum(0) / total
    moved = x - centre
    gram = (weights * moved).T @ moved
    gram.diagonal().add_(penalty)
    weight = torch.cholesky_solve((weights * moved).T @ (y - level), torch.linalg.cholesky(gram))
    return Affine(weight, level - centre @ weight)


def gaussian_features(
    x: Float[Tensor, "rows features"], landmarks: Float[Tensor, "marks features"], width: float
) -> Float[Tensor, "rows marks"]:
    r"""$\exp(-w \lVert x_i - c_j \rVert^2 / p)$ for landmarks c of p features."""
    squares = x.square().sum(1)[:, None] + landmarks.square().sum(1) - 2 * x @ landmarks.T
    return torch.exp(-width / x.shape[1] * squares.clamp_min(0.0))


def whitening(landmarks: Float[Tensor, "marks features"], width: float) -> Float[Tensor, "marks rank"]:
    """K^(-1/2) of the landmarks' kernel, so that ridge on the features times it is ridge in the kernel's space.

    Nyström's method (Williams & Seeger 2001); directions in which the landmarks are alike are left out.
    """
    values, vectors = torch.linalg.eigh(gaussian_features(landmarks, landmarks, width))
    keep = values > SMALLEST * values.max()
    return torch.as_tensor(vectors[:, keep] / values[keep].sqrt())
