"""Higher-order attention: a small attention per mode, combined as a Kronecker product (HOT sec. 4); its parts."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn import functional as F

from multiway.errors import ShapeError
from multiway.ops.dispatch import fast_scores, faster

Factor = Tensor | tuple[Tensor, Tensor] | None
"""Attention of one mode: a row-stochastic matrix, a pair (A, B) of normalised features, or None for identity."""


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
    step_mode: int | None = None,
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
        step_mode: One that comes first, U = V × S, and whose steps t the others then go by: Y[t] = U[t] ×ᵢ Sᵢ(t). Their
            queries and keys are `(batch · steps, heads, size, head_dim)`, see `by_step`.
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
    if step_mode is None:
        return apply_factors(value, factors, num_heads, combine), factors
    others = [*factors[:step_mode], *factors[step_mode + 1 :]]
    alone = [factor if mode == step_mode else None for mode, factor in enumerate(factors)]
    mixed = apply_factors(value, alone, num_heads)
    steps = mixed.shape[step_mode + 1]
    last = value.narrow(step_mode + 1, value.shape[step_mode + 1] - steps, steps)  # all, unless the queries are fewer
    stepped = by_step(last if combine == "sum" else mixed, step_mode)
    out = from_steps(apply_factors(stepped, others, num_heads, combine), step_mode, steps)
    if combine == "sum" and factors[step_mode] is not None:
        out = out + mixed
    return out, factors


def by_step(x: Shaped[Tensor, "batch *sizes"], mode: int) -> Shaped[Tensor, "samples *others"]:
    """A sample for each step of one mode, those of a sample one after another."""
    return x.movedim(mode + 1, 1).flatten(0, 1)


def from_steps(x: Shaped[Tensor, "samples *others"], mode: int, steps: int) -> Shaped[Tensor, "batch *sizes"]:
    """The inverse of `by_step`."""
    return torch.unflatten(x, 0, (len(x) // max(steps, 1), steps)).movedim(1, mode + 1)


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
    _check_factors(value.shape[1:-1], factors, combine)
    given = [(mode, factor) for mode, factor in enumerate(factors) if factor is not None]
    if not given:
        return value
    # (batch, heads, *sizes but the last, head_dim, last size): the first mode and the last are then products on views
    laid = torch.unflatten(value, -1, (num_heads, -1)).movedim((-2, -1), (1, -2)).contiguous()
    if combine == "sum":  # V ×₁ S₁ + V ×₂ S₂ + ⋯
        laid = torch.stack([_mix(laid, mode, factor) for mode, factor in given]).sum(0)
    else:  # V ×₁ S₁ ×₂ S₂ ⋯ (HOT eq. 9): the products commute, and the one that leaves least comes first
        if not torch.compiler.is_compiling():  # sizes in a graph may be symbols, which have no order
            given.sort(key=_growth)
        for mode, factor in given:
            laid = _mix(laid, mode, factor)
    return laid.movedim((1, -2), (-2, -1)).flatten(-2)


def _mix(laid: Tensor, mode: int, factor: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    """Values laid out by `apply_factors`, mixed along one mode; a pair (A, B) as A (Bᵀ V) (eq. 12)."""
    if isinstance(factor, tuple):
        queries, keys = factor
        return _mix(_mix(laid, mode, keys.mT), mode, queries)
    factor, batch, heads = factor.to(laid.dtype), *laid.shape[:2]
    if mode == laid.ndim - 4:
        return (laid.flatten(2, -2) @ factor.mT).reshape(*laid.shape[:-1], factor.shape[-2])
    before, after = laid.shape[2 : mode + 2], laid.shape[mode + 3 :]
    rows = laid.reshape(batch, heads, math.prod(before), laid.shape[mode + 2], math.prod(after))
    return (factor.unsqueeze(2) @ rows).reshape(batch, heads, *before, factor.shape[-2], *after)


def _growth(item: tuple[int, Tensor | tuple[Tensor, Tensor]]) -> float:
    """What a mode adds to the cost of those after it: sizes a, b to α, β cost αab + αβb, or βab + αβa."""
    queries, keys = _factor_shape(item[1])
    return 1 / max(keys, 1) - 1 / max(queries, 1)


def _factor_shape(factor: Tensor | tuple[Tensor, Tensor]) -> tuple[int, int]:
    """Queries and keys of a factor."""
    queries, keys = (factor[0], factor[1].mT) if isinstance(factor, tuple) else (factor, factor)
    return queries.shape[-2], keys.shape[-1]


def _check_factors(sizes: Sequence[int], factors: Sequence[Factor], combine: str) -> None:
    if len(factors) != len(sizes):
        raise ShapeError(
            f"attention: give one factor or None per mode. Got {len(factors)} for values with sizes {tuple(sizes)}."
        )
    attended = {mode: _factor_shape(factor) for mode, factor in enumerate(factors) if factor is not None}
    for mode, (_, keys) in attended.items():
        if keys != sizes[mode]:
            raise ShapeError(
                f"attention: mode {mode} of the values has size {sizes[mode]} but its factor has {keys} keys."
            )
    if combine == "sum" and len(attended) > 1 and any(queries != keys for queries, keys in attended.values()):
        raise ShapeError(
            "attention: a sum over modes needs as many queries as keys on every attended mode; "
            f"got {list(attended.values())}. Use combine='product'."
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


def masked_softmax(
    logits: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch q k"]:
    """Softmax over keys; a row with nothing to attend to becomes zeros, with zero gradient.

    Weights below the cube root of the smallest normal number, 2e-13 in float32, are zero: a product over three modes is
    then no denormal number, which processors multiply ten times slower.

    Args:
        logits: Scores.
        mask: Broadcasts to the logits; True where a key may be attended.
    """
    smallest = min(torch.finfo(logits.dtype).tiny, torch.finfo(torch.float32).tiny) ** (1 / 3)
    if mask is None:
        return F.threshold(torch.softmax(logits, -1), smallest, 0.0)
    allowed = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)  # not -inf: a row of -inf alone is NaN
    return F.threshold(torch.softmax(allowed, -1), smallest, 0.0) * mask


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


def without_autocast(x: Tensor) -> AbstractContextManager[object]:
    """Compute in the precision of the operands; the meta device has no autocast to switch off."""
    return nullcontext() if x.is_meta else torch.autocast(x.device.type, enabled=False)


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
    x: Float[Tensor, "batch heads size head_dim"], *, theta: float = 10_000.0, start: int = 0
) -> Float[Tensor, "batch heads size head_dim"]:
    """Turn pair (x_f, x_{f + d/2}) at position t by the angle t θ^(-2f/d); positions count from a start.

    A dot product of two rotated vectors depends on their distance only. Applied to pooled queries and keys on
    their own mode, which commutes with pooling over the other modes. `head_dim` is even.
    """
    half, wide = x.shape[-1] // 2, _wide(x)
    frequencies = theta ** (-torch.arange(half, device=x.device, dtype=wide) / half)
    places = start + torch.arange(x.shape[-2], device=x.device, dtype=wide)
    return _turn(x, places[:, None] * frequencies)


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


def default_num_features(head_dim: int) -> int:
    """d (1 + log₂ d), rounded up to an even number: enough for the kernel's error to fall as in theory."""
    return 2 * math.ceil(head_dim * (1 + math.log2(max(head_dim, 2))) / 2)


def orthogonal_projection(
    num_rows: int, head_dim: int, *, generator: torch.Generator | None = None, dtype: torch.dtype | None = None
) -> Float[Tensor, "rows head_dim"]:
    """Draw directions of norm √d, orthogonal within each block of d rows (Choromanski et al. 2020, sec. 3.3).

    QR of a Gaussian matrix with the signs of R's diagonal moved into Q is uniform over rotations. The norm is
    fixed, not chi-distributed: that is what makes SMReg the regularised kernel.
    """
    blocks = []
    for _ in range(math.ceil(num_rows / head_dim)):
        q, r = torch.linalg.qr(torch.randn(head_dim, head_dim, generator=generator, dtype=torch.float64))
        blocks.append(q * r.diagonal().sign())
    return (torch.cat(blocks)[:num_rows] * math.sqrt(head_dim)).to(dtype or torch.get_default_dtype())


def draw_projection(
    feature_map: str, head_dim: int, num_features: int | None = None, *, dtype: torch.dtype | None = None
) -> Float[Tensor, "rows head_dim"]:
    """Draw directions for `num_features`, `default_num_features` if not given; SMReg uses each with both signs."""
    count = default_num_features(head_dim) if num_features is None else num_features
    return orthogonal_projection(math.ceil(count / 2) if feature_map == "smreg" else count, head_dim, dtype=dtype)


def smreg_log_features(
    x: Float[Tensor, "*batch head_dim"], projection: Float[Tensor, "rows head_dim"]
) -> Float[Tensor, "*batch features"]:
    """log φ for SMReg: ±W x' - |x'|²/2 with x' = x d^(-1/4), both signs side by side.

    exp of a query's plus a key's, summed over features and divided by their number, estimates exp(q·k/√d)
    (Choromanski et al. 2020, lemma 1 and eq. 7).
    """
    scaled = x * float(x.shape[-1]) ** -0.25
    projected = scaled @ projection.to(x.dtype).mT
    half_square: Tensor = scaled.square().sum(-1, keepdim=True) / 2
    return torch.cat([projected - half_square, -projected - half_square], dim=-1)


def positive_log_features(
    x: Float[Tensor, "*batch head_dim"], projection: Float[Tensor, "rows head_dim"]
) -> Float[Tensor, "*batch features"]:
    """log φ for one sign only: W x' - |x'|²/2, the plain positive features of the same paper."""
    scaled = x * float(x.shape[-1]) ** -0.25
    logs: Tensor = scaled @ projection.to(x.dtype).mT - scaled.square().sum(-1, keepdim=True) / 2
    return logs


def elu_log_features(
    x: Float[Tensor, "*batch head_dim"], projection: Float[Tensor, "rows head_dim"]
) -> Float[Tensor, "*batch features"]:
    """log(elu(x) + 1) (Katharopoulos et al. 2020, eq. 7), which is x itself below zero; no projection."""
    return torch.where(x > 0, torch.log1p(x.clamp_min(0)), x)


FEATURE_MAPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "smreg": smreg_log_features,
    "positive": positive_log_features,
    "elu": elu_log_features,
}
"""Maps whose dot products stand in for the softmax kernel, in logarithms so that nothing overflows."""


def kernel_features(
    query_logs: Float[Tensor, "*batch q features"],
    key_logs: Float[Tensor, "*batch k features"],
    key_mask: Tensor | None = None,
) -> tuple[Float[Tensor, "*batch q features"], Float[Tensor, "*batch k features"]]:
    """Exponentiate without overflow or an all-zero row: factors A, B with A Bᵀ ∝ φ(q) φ(k)ᵀ row by row.

    With c_m the largest key logarithm of feature m, the keys become exp(b - c) and the queries exp(a + c - max).
    Both shifts cancel once rows are divided by their sum. Each query then has a feature of exactly 1, and for
    that feature some key has exactly 1, so every denominator is at least 1 and needs no epsilon.

    Args:
        query_logs: log φ of the queries.
        key_logs: log φ of the keys.
        key_mask: `(*batch, k)`, True where a key may be attended; the others become exact zeros.
    """
    if key_mask is not None:
        floor = torch.finfo(key_logs.dtype).min / 4  # a sum of two stays finite
        key_logs = key_logs.masked_fill(~key_mask[..., None], floor)
    peak = key_logs.detach().amax(-2, keepdim=True)
    queries = query_logs + peak
    queries = (queries - queries.detach().amax(-1, keepdim=True)).exp()
    keys = (key_logs - peak).exp()
    if key_mask is not None:
        keys = keys * key_mask[..., None]
    return queries, keys


def kernel_logits(
    query_logs: Float[Tensor, "*batch q features"], key_logs: Float[Tensor, "*batch k features"]
) -> Float[Tensor, "*batch q k"]:
    """log Σ_m φ_m(q) φ_m(k) for every pair, exact under any mask; one key at a time bounds the memory."""
    columns = [torch.logsumexp(query_logs + key[..., None, :], -1) for key in key_logs.unbind(-2)]
    return torch.stack(columns, -1)
