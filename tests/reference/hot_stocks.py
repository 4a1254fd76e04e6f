"""The multimodal Higher-Order Transformer of the stock paper as printed, slow and literal: an oracle for tests alone.

One sample at a time: tokens are `(stocks, days, dim)`, weights `(out, in)` as in `torch.nn.Linear`, masks boolean, True
where something counts. Equation numbers are the stock paper's. Use float64.

Two slips in print are read as the text means them: scores are divided by the square root of the *head's* size, and
eqs. 5 and 18 put every S left of the values (`S @ V`, as eq. 21 does).
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.hot import BlockWeights, block
from reference.parts import Features, rms_norm, rotary

Attend = Callable[[Tensor], Tensor]
"""Self-attention of tokens `(stocks, days, dim)`."""
Cross = Callable[[Tensor, Tensor], Tensor]
"""Attention of the first tokens to the second."""


def full_scores(query: Tensor, key: Tensor) -> Tensor:
    """Eqs. 7 and 8: what stock i on day t gives stock j on day τ, `(i, j, t, τ)`, for one head."""
    (stocks, days, size), scores = query.shape, []
    for i, t in itertools.product(range(stocks), range(days)):
        logits = torch.stack([query[i, t] @ key[j, u] / math.sqrt(size) for j in range(stocks) for u in range(days)])
        scores.append((logits.exp() / logits.exp().sum()).reshape(stocks, days))
    return torch.stack(scores).reshape(stocks, days, stocks, days).permute(0, 2, 1, 3)


def full_attention(x: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, *, num_heads: int) -> Tensor:
    """Eq. 5 without its residual: Σ over heads, stocks j and days τ of S_ijtτ W_O W_V x_jτ."""
    mixed = torch.zeros_like(x)
    for head in _heads(len(query), num_heads):
        scores = full_scores(x @ query[head].T, x @ key[head].T)
        values = x @ value[head].T @ out[:, head].T
        for i, t, j, u in itertools.product(*map(range, (x.shape[0], x.shape[1], x.shape[0], x.shape[1]))):
            mixed[i, t] = mixed[i, t] + scores[i, j, t, u] * values[j, u]
    return mixed


def stock_rows(tokens: Tensor, valid: Tensor | None = None) -> Tensor:
    """f of eq. 16: one row per stock, the sum over its real days."""
    return _only(tokens, valid).sum(1)


def day_rows(tokens: Tensor, valid: Tensor | None = None) -> Tensor:
    """g of eq. 17: one row per day, the sum over its real stocks, turned by its position (sec. 5.3)."""
    return rotary(_only(tokens, valid).sum(0))


def softmax_factor(query: Tensor, key: Tensor, seen: Tensor | None = None) -> Tensor:
    """Eqs. 16 and 17: softmax of pooled queries and keys over the keys that are seen."""
    factor = query.new_zeros(len(query), len(key))
    keys = [k for k in range(len(key)) if seen is None or seen[k]]
    for q in range(len(query)):
        weights = {k: (query[q] @ key[k] / math.sqrt(query.shape[1])).exp() for k in keys}
        for k in keys:
            factor[q, k] = weights[k] / sum(weights.values())
    return factor


def kernel_factor(query: Tensor, key: Tensor, features: Features, seen: Tensor | None = None) -> Tensor:
    """Eqs. 19 and 20: Z⁻¹ φ(f(Q)) φ(f(K))ᵀ as a matrix."""
    phi_query, phi_key = features(query), features(key)
    if seen is not None:
        phi_key = phi_key * seen[:, None]
    z = torch.diag(torch.stack([row @ phi_key.sum(0) for row in phi_query]))
    factor: Tensor = torch.linalg.inv(z) @ phi_query @ phi_key.T
    return factor


def linear_stock_product(values: Tensor, query: Tensor, key: Tensor, features: Features) -> Tensor:
    """Eq. 21, day by day and from the right: Z₁⁻¹ (φ(f(Q)) (φ(f(K))ᵀ V_:t:)), never a matrix over stocks."""
    phi_query, phi_key = features(query), features(key)
    z = torch.stack([row @ phi_key.sum(0) for row in phi_query])
    days = [(phi_query @ (phi_key.T @ values[:, t])) / z[:, None] for t in range(values.shape[1])]
    return torch.stack(days, 1)


def apply_factors(values: Tensor, over_stocks: Tensor, over_days: Tensor) -> Tensor:
    """Eq. 18: V ×₁ S⁽¹⁾ ×₂ S⁽²⁾."""
    mixed = torch.zeros_like(values[:1, :1]).repeat(len(over_stocks), len(over_days), 1)
    for i, t, j, u in itertools.product(*map(range, (*mixed.shape[:2], *values.shape[:2]))):
        mixed[i, t] = mixed[i, t] + over_stocks[i, j] * over_days[t, u] * values[j, u]
    return mixed


def higher_order_attention(
    x: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    *,
    num_heads: int,
    context: Tensor | None = None,
    valid: Tensor | None = None,
    context_valid: Tensor | None = None,
    features: Features | None = None,
    attended: Sequence[str] = ("stock", "time"),
) -> tuple[Tensor, Tensor, Tensor]:
    """Eqs. 16 to 21 in every head; heads side by side, then W_O. Weights are `(dim, dim)`, without biases.

    Args:
        x: Tokens of the queries.
        query: W_Q, one for both factors.
        key: W_K, likewise.
        value: W_V.
        out: W_O; its columns are the concatenated heads.
        num_heads: R of eq. 9.
        context: Tokens of the keys and values, `x` itself if not given: the cross-attention of figure 2.
        valid: `(stocks, days)`: tokens of `x` that are pooled.
        context_valid: The same for the context; its other tokens have zero values, and a stock or a day without any
            is no key.
        features: φ of eq. 19, or None for the softmax.
        attended: Which factors attend (table 3); the others are the identity.

    Returns:
        The output, and S⁽¹⁾ and S⁽²⁾ `(heads, q, k)`.
    """
    source, known = (x, valid) if context is None else (context, context_valid)

    def factor(rows: Callable[..., Tensor], axis: int, head: slice) -> Tensor:
        asks, answers = rows(x @ query[head].T, valid), rows(source @ key[head].T, known)
        seen = None if known is None else known.any(axis)
        return softmax_factor(asks, answers, seen) if features is None else kernel_factor(asks, answers, features, seen)

    heads, stocks, times = [], [], []
    for head in _heads(len(query), num_heads):
        stocks.append(factor(stock_rows, 1, head) if "stock" in attended else torch.eye(len(x), dtype=x.dtype))
        times.append(factor(day_rows, 0, head) if "time" in attended else torch.eye(x.shape[1], dtype=x.dtype))
        heads.append(apply_factors(_only(source @ value[head].T, known), stocks[-1], times[-1]))
    return torch.cat(heads, -1) @ out.T, torch.stack(stocks), torch.stack(times)


@dataclass(frozen=True, kw_only=True)
class PrintedInputs:
    """How vectors become tokens: a linear projection and, in front of the days, each stock's own token (sec. 5.1)."""

    weight: Tensor
    """`(dim, features)`."""
    bias: Tensor
    """`(dim,)`."""
    stock_tokens: Tensor | None = None
    """`(stocks, dim)`; none in front if not given."""
    absent: Tensor | None = None
    """`(dim,)`: stands where nothing is known, as in the authors' code; if not given, such a token is not valid."""


def day_vectors(prices: Tensor, dates: Tensor) -> Tensor:
    """Sec. 5.1: price features `(stocks, days, 3)` and date features `(days, 3)` side by side: six numbers."""
    return torch.stack([torch.cat([stock, dates], -1) for stock in prices])


def tokens_of(vectors: Tensor, valid: Tensor, inputs: PrintedInputs) -> tuple[Tensor, Tensor]:
    """Tokens `(stocks, 1 + days, dim)`, the stock's own first and always valid, and which of them count."""
    rows, counts = [], []
    for i, stock in enumerate(vectors):
        days = []
        for t, vector in enumerate(stock):
            replaced = inputs.absent is not None and not valid[i, t]
            days.append(inputs.absent if replaced else inputs.weight @ vector + inputs.bias)
        real = torch.ones_like(valid[i]) if inputs.absent is not None else valid[i]
        if inputs.stock_tokens is not None:
            own = inputs.stock_tokens[i]
            days, real = [own, *days], torch.cat([real.new_ones(1), real])
        rows.append(torch.stack(days))  # type: ignore[arg-type]  # replaced only where there is such a token
        counts.append(real)
    return torch.stack(rows), torch.stack(counts)


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One block of figure 2; a decoder's block has `cross`, an encoder's has none."""

    weights: BlockWeights
    attention: Attend
    cross: Cross | None = None


def encoder_decoder(text: Tensor, prices: Tensor, encoder: Sequence[Layer], decoder: Sequence[Layer]) -> Tensor:
    """Figure 2: text through the encoder, prices through the decoder; its block l queries encoder block l's output."""
    for encode, decode in zip(encoder, decoder, strict=True):
        text = block(text, encode.weights, encode.attention)
        prices = block(prices, decode.weights, decode.attention, context=text, cross=decode.cross)
    return prices


def encoder_only(tokens: Tensor, layers: Sequence[Layer]) -> Tensor:
    """One modality alone (table 2): the blocks of figure 2 without cross-attention."""
    for layer in layers:
        tokens = block(tokens, layer.weights, layer.attention)
    return tokens


def stock_logits(tokens: Tensor, norm: Tensor, weight: Tensor, bias: Tensor, *, eps: float = 1e-6) -> Tensor:
    """Sec. 5.1: the last hidden state of each stock's own token, normalised, to one row of logits per stock."""
    return torch.stack([weight @ rms_norm(stock[0], norm, eps) + bias for stock in tokens])


def _heads(dim: int, num_heads: int) -> list[slice]:
    size = dim // num_heads
    return [slice(head * size, (head + 1) * size) for head in range(num_heads)]


def _only(tokens: Tensor, valid: Tensor | None) -> Tensor:
    return tokens if valid is None else tokens * valid[..., None]
