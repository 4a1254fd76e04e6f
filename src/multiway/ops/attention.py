"""Higher-order attention: a small attention per mode, combined as a Kronecker product (HOT sec. 4); its parts."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from multiway.errors import ShapeError
from multiway.kernels.attention import Factor as Factor
from multiway.ops.dispatch import factor_shape, fast_mix, fast_scores, fast_softmax, faster
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


def apply_factors(
    value: Float[Tensor, "batch *sizes dim"],
    factors: Sequence[Factor],
    num_heads: int,
    combine: str = "product",
) -> Float[Tensor, "batch *out_sizes dim"]:
    """Multiply every mode of the values by its factor, head by head, never forming their Kronecker product.

    Args:
        value: Values of all heads, concatenated.
        factors: One per mode, in order.
        num_heads: Divides `dim`.
        combine: "product" or "sum".

    Raises:
        ShapeError: Sizes of factors and values differ, or a sum over modes would change their sizes.
    """
    _check_sizes(value.shape[1:-1], factors, combine)
    if all(factor is None for factor in factors):
        return value
    return _mix(value, factors, num_heads, combine)


@faster(fast_mix)
def _mix(value: Tensor, factors: Sequence[Factor], num_heads: int, combine: str) -> Tensor:
    """Product: V ×₁ S₁ ×₂ S₂ ⋯ (HOT eq. 9). Sum: V ×₁ S₁ + V ×₂ S₂ + ⋯ over the modes with a factor."""
    heads = torch.unflatten(value, -1, (num_heads, -1))
    given = [(mode, factor) for mode, factor in enumerate(factors) if factor is not None]
    if combine == "sum":
        return torch.stack([_along(heads, mode, factor) for mode, factor in given]).sum(0).flatten(-2)
    for mode, factor in given:
        heads = _along(heads, mode, factor)
    mixed: Tensor = heads.flatten(-2)
    return mixed


def _along(heads: Tensor, mode: int, factor: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    """Values `(batch, *sizes, heads, head_dim)`, mixed along one mode; a pair (A, B) as A (Bᵀ V) (eq. 12)."""
    if isinstance(factor, tuple):
        queries, keys = factor
        return _along(_along(heads, mode, keys.mT), mode, queries)
    moved = heads.movedim(mode + 1, -2)  # (batch, *rest, heads, size, head_dim)
    mixed = torch.einsum("bhij,b...hjd->b...hid", factor.to(heads.dtype), moved)
    return mixed.movedim(-2, mode + 1)


def _check_sizes(sizes: Sequence[int], factors: Sequence[Factor], combine: str) -> None:
    if len(factors) != len(sizes):
        raise ShapeError(
            f"attention: give one factor or None per mode. Got {len(factors)} for values with sizes {tuple(sizes)}."
        )
    shapes = [
        (size, size) if factor is None else factor_shape(factor) for size, factor in zip(sizes, factors, strict=True)
    ]
    for mode, (size, (_, keys)) in enumerate(zip(sizes, shapes, strict=True)):
        if keys != size:
            raise ShapeError(f"attention: mode {mode} of the values has size {size} but its factor has {keys} keys.")
    attended = [shape for shape, factor in zip(shapes, factors, strict=True) if factor is not None]
    if combine == "sum" and len(attended) > 1 and any(queries != keys for queries, keys in attended):
        raise ShapeError(
            "attention: a sum over modes needs as many queries as keys on every attended mode; "
            f"got {attended}. Use combine='product'."
        )


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


@faster(fast_softmax)
def masked_softmax(
    logits: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch q k"]:
    """Softmax over keys; a row with nothing to attend to becomes zeros, with zero gradient.

    Args:
        logits: Scores.
        mask: Broadcasts to the logits; True where a key may be attended.
    """
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


@faster(fast_scores)
def additive_scores(
    query: Float[Tensor, "*batch heads queries features"],
    key: Float[Tensor, "*batch heads keys features"],
    weight: Float[Tensor, "heads features"],
) -> Float[Tensor, "*batch heads queries keys"]:
    r"""Score every query against every key by a small network: $\theta_{ij} = w^\top \tanh(q_i + k_j)$.

    Source: Bahdanau et al. 2015, without its matrices, which the caller has applied.

    Cost: queries · keys · features values of tanh. In ops of torch all of them are in memory, and are kept for the
    gradient; the compiled form keeps none.
    """
    heads = zip(query.unbind(-3), key.unbind(-3), weight, strict=True)
    return torch.stack([torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ w for q, k, w in heads], -3)


def rotate(
    x: Float[Tensor, "batch heads size head_dim"], *, theta: float = 10_000.0
) -> Float[Tensor, "batch heads size head_dim"]:
    """Turn pair (x_f, x_{f + d/2}) at position t by the angle t θ^(-2f/d).

    A dot product of two rotated vectors depends on their distance only. Applied to pooled queries and keys on
    their own mode, which commutes with pooling over the other modes. `head_dim` is even.
    """
    half, wide = x.shape[-1] // 2, _wide(x)
    frequencies = theta ** (-torch.arange(half, device=x.device, dtype=wide) / half)
    return _turn(x, torch.arange(x.shape[-2], device=x.device, dtype=wide)[:, None] * frequencies)


def rotate_flattened(
    x: Float[Tensor, "batch heads tokens head_dim"],
    sizes: Sequence[int],
    modes: Sequence[int],
    *,
    theta: float = 10_000.0,
) -> Float[Tensor, "batch heads tokens head_dim"]:
    """Turn every token by its own positions along some of the modes that were flattened (axial rotary).

    The d/2 pairs are dealt out in turn: of m modes, the j-th has pairs f = j, j + m, j + 2m, ..., n_j of them. Its i-th
    pair turns by t θ^(-i/n_j) at position t along that mode. With one mode this is `rotate` along it.

    Args:
        x: Tokens, the last mode fastest.
        sizes: Of all modes, in order; their product is the number of tokens.
        modes: Those that turn, at most d/2.
        theta: Base of the frequencies.
    """
    axes = [torch.arange(size, device=x.device, dtype=_wide(x)) for size in sizes]
    positions = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).flatten(0, -2)[:, list(modes)]
    half, count = x.shape[-1] // 2, len(modes)
    pairs = torch.arange(half, device=x.device)
    owner, rank = pairs % count, pairs // count
    dealt = (half - 1 - owner) // count + 1
    frequencies = theta ** (-rank.to(positions.dtype) / dealt)
    return _turn(x, positions[:, owner] * frequencies)


def _wide(x: Tensor) -> torch.dtype:
    """Angles of late positions need float32 at least."""
    return torch.promote_types(x.dtype, torch.float32)


def _turn(x: Tensor, angles: Float[Tensor, "size half"]) -> Tensor:
    half = x.shape[-1] // 2
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)
