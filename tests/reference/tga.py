"""Tensorized Graph Attention and tensor trains as printed, slow and literal: the oracle of `multiway.nn`.

Tokens are `(length, dim)`, one sequence at a time; cores are `(rank, in, out, next_rank)` as in eq. (2). Axes count
from 1, as in print, in `contraction` alone. Use float64.
"""

import itertools
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


def contraction(left: Tensor, right: Tensor, left_modes: Sequence[int], right_modes: Sequence[int]) -> Tensor:
    """×_n^m of section 2: n are modes of the left tensor, m of the right, from 1; the left's other modes come first."""
    kept = [mode for mode in range(left.ndim) if mode + 1 not in left_modes]
    right_kept = [mode for mode in range(right.ndim) if mode + 1 not in right_modes]
    rows = left.permute(*kept, *(mode - 1 for mode in left_modes))
    columns = right.permute(*(mode - 1 for mode in right_modes), *right_kept)
    summed = math.prod(left.shape[mode - 1] for mode in left_modes)
    product = rows.reshape(rows.numel() // summed, summed) @ columns.reshape(summed, columns.numel() // summed)
    return product.reshape(*rows.shape[: len(kept)], *columns.shape[len(right_modes) :])


def full_tensor(cores: Sequence[Tensor]) -> Tensor:
    """Eq. 2, core by core: `(I_1, J_1, …, I_N, J_N)`."""
    tensor = cores[0]
    for core in cores[1:]:
        tensor = contraction(tensor, core, [tensor.ndim], [1])  # the open rank is the last mode: 4 for the first
    return tensor.squeeze(-1).squeeze(0)


def full_entries(cores: Sequence[Tensor]) -> Tensor:
    """The same, entry by entry: W[i_1, j_1, …] = G_1[:, i_1, j_1, :] ⋯ G_N[:, i_N, j_N, :], a product of matrices."""
    sizes = [size for core in cores for size in core.shape[1:3]]
    entries = []
    for index in itertools.product(*map(range, sizes)):
        product = cores[0].new_ones(1, 1)
        for site, core in enumerate(cores):
            product = product @ core[:, index[2 * site], index[2 * site + 1], :]
        entries.append(product.squeeze())
    return torch.stack(entries).reshape(sizes)


def flat_matrix(cores: Sequence[Tensor]) -> Tensor:
    """W of the flat layer, `(J, I)` as `torch.nn.Linear` stores it: rows j_1 … j_N, columns i_1 … i_N, last fastest."""
    tensor = full_tensor(cores)
    outs, ins = range(1, tensor.ndim, 2), range(0, tensor.ndim, 2)
    rows = math.prod(core.shape[2] for core in cores)
    return tensor.permute(*outs, *ins).reshape(rows, -1)


def apply_full(x: Tensor, cores: Sequence[Tensor]) -> Tensor:
    """Eq. 1: X ×_{2, 3, …, N+1}^{1, 3, …, 2N-1} W, for `(L, I_1, …, I_N)`."""
    count = len(cores)
    return contraction(x, full_tensor(cores), range(2, count + 2), range(1, 2 * count, 2))


def apply_cores(x: Tensor, cores: Sequence[Tensor]) -> Tensor:
    """Eq. 3: X ×_2^2 G_1 ×_{2, N+3}^{2, 1} G_2 ⋯; the result's R_0 and R_N, both 1, are taken away."""
    count = len(cores)
    out = contraction(x, cores[0], [2], [2])  # (L, I_2, …, I_N, R_0, J_1, R_1)
    for core in cores[1:]:
        out = contraction(out, core, [2, count + 3], [2, 1])  # (L, I_n+1, …, I_N, R_0, J_1, …, J_n, R_n)
    return out.squeeze(-1).squeeze(1)


def paired(matrix: Tensor, in_sizes: Sequence[int], out_sizes: Sequence[int]) -> Tensor:
    """Tensorise a matrix `(J, I)` to `(I_1, J_1, …, I_N, J_N)`: the inverse of `flat_matrix`."""
    count = len(in_sizes)
    order = [axis for mode in range(count) for axis in (count + mode, mode)]
    return matrix.reshape(*out_sizes, *in_sizes).permute(order)


def tails(matrix: Tensor, in_sizes: Sequence[int], out_sizes: Sequence[int], tt_ranks: Sequence[int]) -> list[float]:
    """Per inner bond, the norm of the singular values that a rank leaves out, of the tensor unfolded there.

    No tensor train of these ranks is closer than the largest of them; TT-SVD is no farther than the root of the sum of
    their squares (Oseledets 2011, theorem 2.2).
    """
    tensor, norms = paired(matrix, in_sizes, out_sizes), []
    for bond in range(1, len(in_sizes)):
        rows = math.prod(tensor.shape[: 2 * bond])
        values = torch.linalg.svdvals(tensor.reshape(rows, -1))
        norms.append(values[tt_ranks[bond] :].norm().item())
    return norms


def num_entries(in_sizes: Sequence[int], out_sizes: Sequence[int], tt_ranks: Sequence[int]) -> int:
    """Count Σ R_n-1 I_n J_n R_n (remark 4); 16 (N - 1) if all sizes and inner ranks are 2 (remark 5)."""
    pairs = zip(in_sizes, out_sizes, itertools.pairwise(tt_ranks), strict=True)
    return sum(before * i * j * after for i, j, (before, after) in pairs)
