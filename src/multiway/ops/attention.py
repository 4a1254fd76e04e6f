"""Higher-order attention: a small attention per mode, combined as a Kronecker product (HOT sec. 4)."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from multiway.kernels import gate
from multiway.kernels.softmax import flushed_softmax
from multiway.ops.factors import Factor, apply_factors
from multiway.ops.feature_maps import kernel_features, kernel_logits


class ModeHeads(NamedTuple):
    """Pooled queries and keys of one mode (HOT: Q̃ᵢ, K̃ᵢ), `(batch, heads, size, head_dim)`, and what they may see."""

    query: Tensor
    key: Tensor
    mask: Tensor | None = None
    """Boolean, broadcasts to `(batch, heads, q, k)`; True where a key may be attended."""


def kronecker_attention(
    value: Float[Tensor, "batch *sizes dim"],
    modes: Sequence[ModeHeads | None],
    *,
    num_heads: int,
    combine: str = "product",
    log_features: Callable[[Tensor], Tensor] | None = None,
    dropout: float = 0.0,
    as_matrices: bool = False,
) -> tuple[Float[Tensor, "batch *out_sizes dim"], list[Factor]]:
    r"""Mix the values by a small attention per mode, head by head (HOT eqs. 5-10).

    $$S = S_1 \otimes \cdots \otimes S_k \;(5), \qquad Y = S V \;(6), \qquad
      S_i = \operatorname{softmax}(\tilde Q_i \tilde K_i^\top / \sqrt{d}) \;(7)$$

    or, with a feature map φ in place of the exponential, $S_i = Z_i^{-1} \phi(\tilde Q_i) \phi(\tilde K_i)^\top$
    (10). S is never formed: $S V = V \times_1 S_1 \times_2 S_2 \cdots \times_k S_k$ (9).

    Differs from the paper: S stands left of V as in eq. 8; eq. 6 prints the transpose.

    Args:
        value: Values of all heads, concatenated.
        modes: Queries, keys and mask of each mode; None for a mode that does not attend.
        num_heads: Heads, the Kronecker rank (HOT: R).
        combine: "product" of all modes, or "sum" of each mode alone.
        log_features: log φ; None for the softmax.
        dropout: Probability of dropping a weight of a factor.
        as_matrices: Whether every factor must be a matrix; a long mode may otherwise be a pair (eq. 12).

    Returns:
        The mixed values, and the factor of every mode.

    Raises:
        ShapeError: Sizes of factors and values differ, or a sum over modes would change their sizes.
    """
    factors: list[Factor] = [None] * len(modes)
    for mode, heads in enumerate(modes):
        if heads is not None:
            factor = mode_factor(heads, log_features, as_matrix=as_matrices or dropout > 0)
            factors[mode] = F.dropout(factor, dropout) if dropout and isinstance(factor, Tensor) else factor
    return apply_factors(value, factors, num_heads, combine), factors


def mode_factor(heads: ModeHeads, log_features: Callable[[Tensor], Tensor] | None, *, as_matrix: bool) -> Factor:
    """Sᵢ by eq. 7 or, with features, eq. 10; two normalised features in its place where a mode is long (eq. 12)."""
    query, key, mask = heads
    if log_features is None:
        return softmax_factor(query, key, mask)
    query_logs, key_logs = log_features(query), log_features(key)
    is_long = 2 * query_logs.shape[-1] < key.shape[-2]
    if is_long and not as_matrix and (mask is None or mask.shape[-2] == 1):
        return normalised_features(query_logs, key_logs, _key_mask(mask, key_logs))
    return kernel_factor(query_logs, key_logs, mask)


def softmax_factor(
    query: Float[Tensor, "batch heads q head_dim"],
    key: Float[Tensor, "batch heads k head_dim"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "batch heads q k"]:
    """Attention of one mode from pooled queries and keys: softmax(Q Kᵀ / √d) (HOT eq. 7)."""
    return masked_softmax(query / math.sqrt(query.shape[-1]) @ key.mT, mask)


def masked_softmax(
    logits: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch q k"]:
    """Softmax over keys; a row with nothing to attend to becomes zeros, with zero gradient.

    Args:
        logits: Scores.
        mask: Broadcasts to the logits; True where a key may be attended.
    """
    if gate.is_open(logits):
        return flushed_softmax(logits, mask)
    if mask is None:
        return torch.softmax(logits, -1)
    return torch.softmax(logits.masked_fill(~mask, torch.finfo(logits.dtype).min), -1) * mask


def kernel_factor(
    query_logs: Float[Tensor, "batch heads q features"],
    key_logs: Float[Tensor, "batch heads k features"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "batch heads q k"]:
    """The same attention with the kernel in place of the exponential, formed as a matrix (HOT eq. 10)."""
    if mask is not None and mask.shape[-2] > 1:  # which keys count depends on the query
        return masked_softmax(kernel_logits(query_logs, key_logs), mask)
    queries, keys = normalised_features(query_logs, key_logs, _key_mask(mask, key_logs))
    return queries @ keys.mT


def normalised_features(
    query_logs: Float[Tensor, "batch heads q features"],
    key_logs: Float[Tensor, "batch heads k features"],
    key_mask: Bool[Tensor, "batch heads k"] | None = None,
) -> tuple[Float[Tensor, "batch heads q features"], Float[Tensor, "batch heads k features"]]:
    """Factors (A, B) of the kernel attention S = A Bᵀ, rows summing to one: eq. 12's Z⁻¹ lies in A.

    The columns of B sum to one as well, so that Bᵀ V is a mean of values and as representable as they are.
    """
    queries, keys = kernel_features(query_logs, key_logs, key_mask)
    mass = keys.sum(-2, keepdim=True)  # at least 1 per feature, unless every key is masked
    if key_mask is not None:
        mass = torch.where(key_mask.any(-1)[..., None, None], mass, 1)
    weighted = queries * mass
    return weighted / weighted.sum(-1, keepdim=True), keys / mass


def _key_mask(mask: Tensor | None, keys: Tensor) -> Tensor | None:
    """One mask for all queries, `(batch, heads, k)`."""
    return None if mask is None else mask[..., 0, :].expand(keys.shape[:-1])
