"""Higher-Order Transformers as printed, slow and literal: the oracle of `multiway.nn`, written without its code.

Every matrix S stands left of the values (eq. 8; eqs. 4 and 6 print the transpose) and is formed with `torch.kron`.
Tokens are `(batch, *sizes, dim)`, weights `(out, in)` as in `torch.nn.Linear`, heads consecutive blocks of rows of the
query, key and value weights. Masks are boolean, True where something counts. Use float64.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from reference.parts import Features as Features
from reference.parts import axial_rotary as axial_rotary
from reference.parts import elu_features as elu_features
from reference.parts import kernel_rows as kernel_rows
from reference.parts import kronecker as kronecker
from reference.parts import kronecker_sum as kronecker_sum
from reference.parts import layer_norm as layer_norm
from reference.parts import linear_mode_product as linear_mode_product
from reference.parts import mode_product as mode_product
from reference.parts import pool as pool
from reference.parts import pool_by as pool_by
from reference.parts import positive_features as positive_features
from reference.parts import rms_norm as rms_norm
from reference.parts import rotary as rotary
from reference.parts import smreg_features as smreg_features
from reference.parts import softmax_rows as softmax_rows
from reference.parts import swiglu as swiglu

MAX_TEMPERATURE = 16.0


@dataclass(frozen=True, kw_only=True)
class AttentionWeights:
    """Parameters of one attention layer; a list of one serves every mode."""

    query: Sequence[Tensor]
    """W_Q per mode, or one for all: `(dim, dim)`."""
    key: Sequence[Tensor]
    """W_K, likewise."""
    value: Tensor
    """W_V `(dim, dim)`."""
    out: Tensor
    """W_O `(dim, dim)`; its columns are the concatenated heads."""
    query_bias: Sequence[Tensor] = ()
    """`(dim,)` each; none if empty."""
    key_bias: Sequence[Tensor] = ()
    """`(dim,)` each; none if empty."""
    value_bias: Tensor | None = None
    out_bias: Tensor | None = None
    query_norm: Sequence[tuple[Tensor, Tensor | None]] = ()
    """Weight and bias `(head_dim,)` of the norm of pooled queries, per mode."""
    key_norm: Sequence[tuple[Tensor, Tensor | None]] = ()
    """The same for keys."""
    log_temperature: Tensor | None = None
    """`(modes, heads)`; queries are multiplied by its exponential, at most 16."""
    pool_scores: Tensor | None = None
    """`(modes, dim)`; a token's score in learned pooling is its product with the mode's row."""


class Site(NamedTuple):
    """Where in the layer rows are made."""

    mode: int
    head: int
    part: slice
    """Features of the head."""
    is_key: bool
    causal: bool
    pooling: str | None
    """g_pool, where it is not the form's own."""


def kronecker_attention(
    x: Tensor,
    weights: AttentionWeights,
    *,
    num_heads: int,
    form: str = "paper",
    pooling: str | None = None,
    context: Tensor | None = None,
    valid: Tensor | None = None,
    context_valid: Tensor | None = None,
    mode_masks: Sequence[Tensor | None] | None = None,
    combine: str = "product",
    features: Features | None = None,
    attended_modes: Sequence[int] | None = None,
    rotary_modes: Sequence[int] = (),
    causal_modes: Sequence[int] = (),
) -> tuple[Tensor, list[Tensor]]:
    """Eqs. 5, 7 (10 if φ is given) and 8, sample by sample and head by head.

    Args:
        x: Tokens of the queries.
        weights: Parameters.
        num_heads: R.
        form: "paper", "per_mode" or "trainable": how queries and keys are made from the tokens.
        pooling: "sum", "mean", "max" or "learned" in place of the form's own.
        context: Tokens of the keys and values, `x` itself if not given.
        valid: `(batch, *sizes)`: tokens of `x` that enter the pooling.
        context_valid: The same for the context; its other tokens also have zero values, and a position without
            any real token is no key.
        mode_masks: Per mode None or `(q, k)` or `(batch, q, k)`.
        combine: "product": S = S₁ ⊗ ⋯ ⊗ Sₖ; "sum": S = Σᵢ I ⊗ ⋯ ⊗ Sᵢ ⊗ ⋯ ⊗ I.
        features: φ, or None for the softmax.
        attended_modes: Sᵢ = I for the others, which a sum leaves out; S = I when there is none.
        rotary_modes: Modes whose pooled queries and keys are turned by their position.
        causal_modes: Modes along which a position sees none after it.

    Returns:
        The output, and Sᵢ `(batch, heads, q, k)` per mode.
    """
    source, source_valid = (x, valid) if context is None else (context, context_valid)
    modes = range(x.ndim - 2)
    attended = modes if attended_modes is None else attended_modes
    head_dim = x.shape[-1] // num_heads

    def factor(sample: int, head: int, mode: int) -> Tensor:
        if mode not in attended:
            return torch.eye(x.shape[mode + 1], dtype=x.dtype)
        part, causal = slice(head * head_dim, (head + 1) * head_dim), mode in causal_modes
        here, there = _all_valid(valid, x)[sample], _all_valid(source_valid, source)[sample]
        query = FORMS[form](x[sample], here, weights, Site(mode, head, part, False, causal, pooling))
        key = FORMS[form](source[sample], there, weights, Site(mode, head, part, True, causal, pooling))
        if mode in rotary_modes:
            query, key = rotary(query), rotary(key)
        given = None if mode_masks is None else mode_masks[mode]
        mask = given[sample] if given is not None and given.ndim == 3 else given
        allowed = _allowed(mode, len(query), there, mask, causal)
        return softmax_rows(query, key, allowed) if features is None else kernel_rows(query, key, features, allowed)

    outputs, factors = [], []
    for sample in range(x.shape[0]):
        projected = _rows(_project(source[sample], weights.value, weights.value_bias))
        real = _all_valid(source_valid, source)[sample].flatten()
        values = torch.stack(
            [row if keep else torch.zeros_like(row) for row, keep in zip(projected, real, strict=True)]
        )
        of_heads = [[factor(sample, head, mode) for mode in modes] for head in range(num_heads)]
        full = [kronecker(head) if combine == "product" else kronecker_sum(head, attended) for head in of_heads]
        heads = [s @ v for s, v in zip(full, torch.split(values, head_dim, 1), strict=True)]  # eq. 8
        out = _project(torch.cat(heads, dim=1), weights.out, weights.out_bias)
        outputs.append(out.reshape(x.shape[1:]))
        factors.append(of_heads)
    maps = [torch.stack([torch.stack([head[mode] for head in sample]) for sample in factors]) for mode in modes]
    return torch.stack(outputs), maps


def paper_rows(tokens: Tensor, valid: Tensor, weights: AttentionWeights, site: Site) -> Tensor:
    """Project every token (eq. before 3), then sum over all modes but one (g_pool before eq. 7)."""
    weight, bias = _of_mode(weights, site.mode, site.is_key)
    projected = _project(tokens, weight[site.part], None if bias is None else bias[site.part])
    return _pool(projected, tokens, valid, weights, site, "sum")[0]


def per_mode_rows(tokens: Tensor, valid: Tensor, weights: AttentionWeights, site: Site) -> Tensor:
    """The authors' later form: each mode's own projections, and a layer norm over the head's pooled features."""
    scale, shift = (weights.key_norm if site.is_key else weights.query_norm)[site.mode]
    return layer_norm(paper_rows(tokens, valid, weights, site), scale, shift, eps=1e-5)


def trainable_rows(tokens: Tensor, valid: Tensor, weights: AttentionWeights, site: Site) -> Tensor:
    """Ours: projected, mean over real tokens, centred over positions that have any, RMS-normalised, scaled.

    A causal mode is not centred: its mean holds later positions. A bias is pooled too, but not centred.
    """
    weight, bias = _of_mode(weights, site.mode, site.is_key)
    rows, counts = _pool(_project(tokens, weight[site.part], None), tokens, valid, weights, site, "mean")
    seen = [position for position, count in enumerate(counts) if count]
    if seen and not site.causal:
        centre = torch.stack([rows[position] for position in seen]).mean(0)
        rows = torch.stack([row - centre if position in seen else row for position, row in enumerate(rows)])
    if bias is not None:
        everywhere = bias[site.part].expand(*valid.shape, -1)
        rows = rows + _pool(everywhere, tokens, valid, weights, site, "mean")[0]
    scale, _ = (weights.key_norm if site.is_key else weights.query_norm)[site.mode]
    rows = rms_norm(rows, scale, eps=1e-12)
    if site.is_key or weights.log_temperature is None:
        return rows
    return rows * weights.log_temperature[site.mode, site.head].exp().clamp(max=MAX_TEMPERATURE)


def _pool(
    projected: Tensor, tokens: Tensor, valid: Tensor, weights: AttentionWeights, site: Site, usual: str
) -> tuple[Tensor, list[int]]:
    """Pool projected tokens; scores of learned pooling are those of the tokens as they came."""
    scores = None if weights.pool_scores is None else tokens @ weights.pool_scores[site.mode]
    return pool_by(site.pooling or usual, projected, valid, site.mode, scores)


FORMS = {"paper": paper_rows, "per_mode": per_mode_rows, "trainable": trainable_rows}


def full_attention(
    x: Tensor,
    weights: AttentionWeights,
    *,
    num_heads: int,
    valid: Tensor | None = None,
    features: Features | None = None,
    head_norm: Callable[[Tensor, bool], Tensor] | None = None,
    rotary_modes: Sequence[int] = (),
) -> Tensor:
    """Eqs. 1, 3 and 4 on flattened modes; eq. 10 instead of the softmax if φ is given.

    `head_norm` normalises rows of a head, told whether they are keys, and `rotary_modes` turn them by the positions
    of their token; neither is in the paper.
    """
    head_dim = x.shape[-1] // num_heads
    outputs = []
    for tokens, real in zip(x, _all_valid(valid, x), strict=True):
        query, key = (_project(tokens, *_of_mode(weights, 0, is_key)) for is_key in (False, True))
        value = _project(tokens, weights.value, weights.value_bias)
        allowed = real.flatten().expand(len(_rows(value)), -1)
        heads = []
        for head in range(num_heads):
            part = slice(head * head_dim, (head + 1) * head_dim)
            q, k = _rows(query)[:, part], _rows(key)[:, part]
            if head_norm is not None:
                q, k = head_norm(q, False), head_norm(k, True)
            if rotary_modes:
                q, k = (axial_rotary(rows, tokens.shape[:-1], rotary_modes) for rows in (q, k))
            full = softmax_rows(q, k, allowed) if features is None else kernel_rows(q, k, features, allowed)
            heads.append(full @ _rows(value)[:, part])
        outputs.append(_project(torch.cat(heads, 1), weights.out, weights.out_bias).reshape(tokens.shape))
    return torch.stack(outputs)


@dataclass(frozen=True, kw_only=True)
class BlockWeights:
    """Parameters of one pre-norm block without its attention; norms are (weight, bias), no bias for RMS."""

    attention_norm: tuple[Tensor, Tensor | None]
    ffn_norm: tuple[Tensor, Tensor | None]
    gate: Tensor
    """`(4 dim, dim)`: the branch that passes through silu."""
    up: Tensor
    """`(4 dim, dim)`."""
    down: Tensor
    """`(dim, 4 dim)`."""
    cross_norm: tuple[Tensor, Tensor | None] | None = None
    context_norm: tuple[Tensor, Tensor | None] | None = None


def block(
    x: Tensor,
    weights: BlockWeights,
    attention: Callable[[Tensor], Tensor],
    *,
    norm: str = "rms",
    context: Tensor | None = None,
    cross: Callable[[Tensor, Tensor], Tensor] | None = None,
    eps: float = 1e-6,
) -> Tensor:
    """h = X + Attn(norm X) [+ Cross(norm h, norm Z)]; out = h + FFN(norm h) (fig. 1, appendix D)."""

    def normed(y: Tensor, parameters: tuple[Tensor, Tensor | None]) -> Tensor:
        scale, shift = parameters
        return rms_norm(y, scale, eps) if norm == "rms" else layer_norm(y, scale, shift, eps)

    h = x + attention(normed(x, weights.attention_norm))
    if cross is not None and context is not None and weights.cross_norm and weights.context_norm:
        h = h + cross(normed(h, weights.cross_norm), normed(context, weights.context_norm))
    return h + swiglu(normed(h, weights.ffn_norm), weights.gate, weights.up, weights.down)


def _allowed(mode: int, num_queries: int, key_valid: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """Which key each query of one mode may see, `(q, k)`."""
    allowed = torch.ones(num_queries, key_valid.shape[mode], dtype=torch.bool)
    for q, k in itertools.product(*map(range, allowed.shape)):
        real = bool(key_valid.select(mode, k).any())
        allowed[q, k] = real and (mask is None or bool(mask[q, k])) and not (causal and k > q)
    return allowed


def _of_mode(weights: AttentionWeights, mode: int, is_key: bool) -> tuple[Tensor, Tensor | None]:
    matrices = weights.key if is_key else weights.query
    biases = weights.key_bias if is_key else weights.query_bias
    index = mode if len(matrices) > 1 else 0
    return matrices[index], biases[index] if biases else None


def _project(tokens: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    out = tokens @ weight.T
    return out if bias is None else out + bias


def _rows(tokens: Tensor) -> Tensor:
    """Flatten the modes, row-major."""
    return tokens.reshape(-1, tokens.shape[-1])


def _all_valid(valid: Tensor | None, tokens: Tensor) -> Tensor:
    return torch.ones(tokens.shape[:-1], dtype=torch.bool) if valid is None else valid
