"""Tensorized Graph Attention as printed, slow and literal: the oracle of `multiway.nn`, written without its code.

Tokens are `(length, dim)`, one sequence at a time; cores are `(rank, in, out, next_rank)` as in eq. (2). Use float64.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def tensorised_product(x: Tensor, cores: Sequence[Tensor]) -> Tensor:
    """Eq. (3): X ×₂² G₁ ×_{2,N+3}^{2,1} G₂ ⋯, one contraction per core; `x` is `(length, I₁⋯I_N)`."""
    out: Tensor = torch.tensordot(x.reshape(len(x), *(core.shape[1] for core in cores)), cores[0], dims=([1], [1]))
    for core in cores[1:]:
        out = torch.tensordot(out, core, dims=([1, out.ndim - 1], [1, 0]))
    return out.reshape(len(x), -1)  # (length, 1, J₁, …, J_N, 1): the ends of the train have size 1


def time_graph(length: int, damping: float | Tensor, causal: bool) -> Tensor:
    """Sec. 2: a_{l₁,l₂} = c^(l₂-l₁) for l₂ > l₁, else 0, and Ω = (A + Aᵀ)/2.

    Causal: Aᵀ, as (I + A) with the printed upper triangle would show a step its future.
    """
    a = torch.zeros(length, length, dtype=torch.float64)
    for first in range(length):
        for second in range(first + 1, length):
            a[first, second] = damping ** (second - first)
    return a.T if causal else (a.T + a) / 2


def content_graph(key: Tensor) -> Tensor:
    """Sec. 3: θ_{l₁,l₂} = ReLU(⟨k_{l₁}, k_{l₂}⟩ / √d_k) off the diagonal, 0 on it."""
    rows = []
    for first, left in enumerate(key):
        row = []
        for second, right in enumerate(key):
            score = (left * right).sum() / math.sqrt(key.shape[1])
            row.append(score if first != second and score > 0 else score.new_zeros(()))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def normalised(adjacency: Tensor, causal: bool) -> Tensor:
    """I + Ψ divided by degrees, which is not in the paper: D^-½ (I + Ψ) D^-½, or D⁻¹ (I + Ψ) where it is causal."""
    filtering = torch.eye(len(adjacency), dtype=adjacency.dtype) + adjacency
    degrees = filtering.sum(1)
    rows = [
        [entry / (degrees[i] if causal else (degrees[i] * degrees[j]).sqrt()) for j, entry in enumerate(row)]
        for i, row in enumerate(filtering)
    ]
    return torch.stack([torch.stack(row) for row in rows])


def tensor_graph_attention(
    x: Tensor,
    key_cores: Sequence[Sequence[Tensor]],
    value_cores: Sequence[Sequence[Tensor]],
    out_cores: Sequence[Tensor] | None = None,
    *,
    damping: float | Tensor,
    causal: bool = False,
    by_degree: bool = False,
) -> tuple[Tensor, Tensor]:
    """Algorithm 1 for each head; the heads' outputs are concatenated and multiplied by a tensor train.

    Args:
        x: One sequence `(length, dim)`, all of it real.
        key_cores: 𝒢⁽ᵏ⁾ per head.
        value_cores: 𝒢⁽ᵛ⁾ per head.
        out_cores: The train that combines heads, whose first input mode is the head; None for a single head.
        damping: c.
        causal: Whether a step sees only its past.
        by_degree: Whether the filter is divided by its degrees.

    Returns:
        The output `(length, out)`, and Ψ `(heads, length, length)`.
    """
    outputs, graphs = [], []
    for of_keys, of_values in zip(key_cores, value_cores, strict=True):
        key, value = tensorised_product(x, of_keys), tensorised_product(x, of_values)
        graph = time_graph(len(x), damping, causal) * content_graph(key)
        filtering = normalised(graph, causal) if by_degree else torch.eye(len(x), dtype=x.dtype) + graph
        outputs.append(filtering @ value)
        graphs.append(graph)
    joined = torch.cat(outputs, dim=1)
    return joined if out_cores is None else tensorised_product(joined, out_cores), torch.stack(graphs)


def dot_product_attention(x: Tensor, weight_q: Tensor, weight_k: Tensor, weight_v: Tensor) -> Tensor:
    """Sec. 2: Y = softmax(Q Kᵀ / √d_k) V with Q = X W⁽q⁾, K = X W⁽k⁾, V = X W⁽v⁾."""
    query, key = x @ weight_q, x @ weight_k
    scores = [[(q * k).sum() / math.sqrt(key.shape[1]) for k in key] for q in query]
    return softmax_mean(scores, x @ weight_v)


def additive_attention(x: Tensor, weight_q: Tensor, weight_k: Tensor, weight_v: Tensor, weight: Tensor) -> Tensor:
    """ADA, which the paper names and does not write down: wᵀ tanh(q + k) for the scores (Bahdanau et al. 2015)."""
    query, key = x @ weight_q, x @ weight_k
    scores = [[(weight * torch.tanh(q + k)).sum() for k in key] for q in query]
    return softmax_mean(scores, x @ weight_v)


def softmax_mean(scores: Sequence[Sequence[Tensor]], value: Tensor) -> Tensor:
    """Mean of the values with weights exp(score) / Σ exp(score), row by row."""
    rows = []
    for row in scores:
        weights = [score.exp() for score in row]
        mixed = sum((weight * head for weight, head in zip(weights, value, strict=True)), torch.zeros_like(value[0]))
        rows.append(mixed / sum(weights, torch.zeros_like(weights[0])))
    return torch.stack(rows)
