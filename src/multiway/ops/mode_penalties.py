"""Penalties on the matrices of a mode-wise map: their norms, and how far their rows are from orthonormal."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


def norm_penalty(weights: Iterable[Tensor], factors: Sequence[float]) -> Tensor:
    """Σᵢ λᵢ ‖Wᵢ‖², squared Frobenius norms; a stack of terms `(rank, out, in)` adds up.

    Args:
        weights: One of each mode, `(out, in)` or `(rank, out, in)`.
        factors: λᵢ of each mode.
    """
    terms = [factor * weight.square().sum() for weight, factor in zip(weights, factors, strict=True)]
    return torch.stack(terms).sum()


def orthogonality_penalty(weights: Iterable[Tensor], factors: Sequence[float]) -> Tensor:
    """Σᵢ λᵢ ‖Wᵢ Wᵢᵀ - I‖², of each term where there are several.

    A matrix with more rows than columns has no orthonormal rows; its penalty is least, out - in, where its columns are
    orthonormal. Computed on the shorter side: ‖W Wᵀ - I‖² = ‖Wᵀ W - I‖² + out - in.

    Args:
        weights: One of each mode, `(out, in)` or `(rank, out, in)`.
        factors: λᵢ of each mode.
    """
    terms = [factor * _distance(weight) for weight, factor in zip(weights, factors, strict=True)]
    return torch.stack(terms).sum()


def _distance(weight: Tensor) -> Tensor:
    longer = max(weight.shape[-2] - weight.shape[-1], 0)
    short = weight.mT if longer else weight
    identity = torch.eye(short.shape[-2], dtype=weight.dtype, device=weight.device)
    return (short @ short.mT - identity).square().sum() + longer * weight.shape[:-2].numel()
