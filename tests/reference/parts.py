"""Pieces of the Higher-Order Transformer's equations on single samples, slow and literal."""

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Features = Callable[[Tensor], Tensor]
"""φ of eq. 10, rows to rows."""


def pool(tokens: Tensor, valid: Tensor, mode: int) -> tuple[Tensor, list[int]]:
    """g_pool: add up the real tokens at each position of one mode, and count them."""
    rows = [tokens.new_zeros(tokens.shape[-1]) for _ in range(tokens.shape[mode])]
    counts = [0] * tokens.shape[mode]
    for index in itertools.product(*map(range, tokens.shape[:-1])):
        if valid[index]:
            rows[index[mode]] = rows[index[mode]] + tokens[index]
            counts[index[mode]] += 1
    return torch.stack(rows), counts


def pool_by(
    kind: str, tokens: Tensor, valid: Tensor, mode: int, scores: Tensor | None = None
) -> tuple[Tensor, list[int]]:
    """g_pool of another kind, over the real tokens at each position: mean, max, or learned, weighted by softmax scores.

    A position without any is zero; "sum" is the paper's `pool`.
    """
    sums, counts = pool(tokens, valid, mode)
    rows = []
    for position, count in enumerate(counts):
        real = valid.select(mode, position)
        there = tokens.select(mode, position)[real]
        if kind == "sum" or not count:
            row = sums[position]
        elif kind == "mean":
            row = sums[position] / count
        elif kind == "max":
            row = torch.stack([max(column) for column in there.unbind(1)])
        else:
            assert scores is not None
            weights = scores.select(mode, position)[real].exp()
            row = torch.stack([weight * token for weight, token in zip(weights, there, strict=True)]).sum(0)
            row = row / weights.sum()
        rows.append(row)
    return torch.stack(rows), counts


def rotary(rows: Tensor, theta: float = 10_000.0) -> Tensor:
    """Rotate features (f, f + d/2) at position t by t θ^(-2f/d), as complex numbers."""
    half = rows.shape[1] // 2
    turned = []
    for position, row in enumerate(rows):
        angles = torch.tensor([position * theta ** (-2 * f / (2 * half)) for f in range(half)], dtype=rows.dtype)
        pairs = torch.complex(row[:half], row[half:]) * torch.polar(torch.ones_like(angles), angles)
        turned.append(torch.cat([pairs.real, pairs.imag]))
    return torch.stack(turned)


def axial_rotary(rows: Tensor, sizes: Sequence[int], modes: Sequence[int], theta: float = 10_000.0) -> Tensor:
    """Rotate each flattened token; pairs are dealt to the modes like cards, each mode then has `rotary` of its own."""
    half = rows.shape[1] // 2
    hands = [list(range(half))[start :: len(modes)] for start in range(len(modes))]
    turned = []
    for index, row in zip(itertools.product(*map(range, sizes)), rows, strict=True):
        pairs = torch.complex(row[:half], row[half:]).unbind()
        new = list(pairs)
        for mode, hand in zip(modes, hands, strict=True):
            for rank, pair in enumerate(hand):
                angle = torch.tensor(index[mode] * theta ** (-rank / len(hand)), dtype=rows.dtype)
                new[pair] = pairs[pair] * torch.polar(torch.ones_like(angle), angle)
        turned.append(torch.cat([torch.stack(new).real, torch.stack(new).imag]))
    return torch.stack(turned)


def softmax_rows(query: Tensor, key: Tensor, allowed: Tensor) -> Tensor:
    """Eq. 7 (3 on flattened modes), each row over the keys it may see; zeros if there is none."""
    rows = []
    for q, may_see in zip(query, allowed, strict=True):
        row = query.new_zeros(len(key))
        if may_see.any():
            row = row.index_put((may_see,), torch.softmax(key[may_see] @ q / math.sqrt(query.shape[1]), 0))
        rows.append(row)
    return torch.stack(rows)


def kernel_rows(query: Tensor, key: Tensor, features: Features, allowed: Tensor) -> Tensor:
    """Eq. 10: Z⁻¹ φ(Q) φ(K)ᵀ, masked entries removed before Z."""
    scores = (features(query) @ features(key).T) * allowed
    totals = scores.sum(1, keepdim=True)  # the diagonal of Z
    return scores / torch.where(allowed.any(1, keepdim=True), totals, 1)


def smreg_features(rows: Tensor, projection: Tensor) -> Tensor:
    """φ(x) = m^(-1/2) [exp(W x' - |x'|²/2); exp(-W x' - |x'|²/2)], x' = x d^(-1/4) (Choromanski et al. 2020)."""
    num_features = 2 * len(projection)
    scaled = [row * len(row) ** -0.25 for row in rows]
    halves = [[(sign * projection @ row - row @ row / 2).exp() for sign in (1, -1)] for row in scaled]
    return torch.stack([torch.cat(half) for half in halves]) / math.sqrt(num_features)


def positive_features(rows: Tensor, projection: Tensor) -> Tensor:
    """One sign only: φ(x) = m^(-1/2) exp(W x' - |x'|²/2)."""
    scaled = [row * len(row) ** -0.25 for row in rows]
    return torch.stack([(projection @ row - row @ row / 2).exp() for row in scaled]) / math.sqrt(len(projection))


def elu_features(rows: Tensor) -> Tensor:
    """φ(x) = elu(x) + 1 (Katharopoulos et al. 2020)."""
    return torch.where(rows > 0, rows + 1, rows.clamp(max=0).exp())


def kronecker(factors: Sequence[Tensor]) -> Tensor:
    """Eq. 5: S₁ ⊗ S₂ ⊗ ⋯ ⊗ Sₖ."""
    product = factors[0].new_ones(1, 1)
    for factor in factors:
        product = torch.kron(product, factor)
    return product


def kronecker_sum(factors: Sequence[Tensor], attended: Sequence[int]) -> Tensor:
    """Σᵢ I ⊗ ⋯ ⊗ Sᵢ ⊗ ⋯ ⊗ I over the attended modes."""
    eyes = [torch.eye(*factor.shape, dtype=factor.dtype) for factor in factors]
    terms = [kronecker([*eyes[:mode], factors[mode], *eyes[mode + 1 :]]) for mode in attended]
    return torch.stack(terms).sum(0) if terms else kronecker(eyes)


def mode_product(x: Tensor, matrix: Tensor, mode: int) -> Tensor:
    """Definition 5, without a batch axis: (T ×ₙ A) at i₁…iₖ = Σⱼ T at i₁…j…iₖ times A at (iₙ, j)."""
    sizes = list(x.shape)
    sizes[mode] = len(matrix)
    entries = []
    for index in itertools.product(*map(range, sizes)):
        fibre = x.movedim(mode, -1)[(*index[:mode], *index[mode + 1 :])]
        entries.append(sum((fibre[j] * matrix[index[mode], j] for j in range(len(fibre))), x.new_zeros(())))
    return torch.stack(entries).reshape(sizes)


def linear_mode_product(x: Tensor, query: Tensor, key: Tensor, features: Features, mode: int) -> Tensor:
    """Eq. 12: ((V ×ᵢ φ(K)ᵀ) ×ᵢ φ(Q)) ×ᵢ Z⁻¹, without a batch axis."""
    phi_query, phi_key = features(query), features(key)
    inverse = torch.diag(1 / torch.stack([row @ phi_key.sum(0) for row in phi_query]))
    return mode_product(mode_product(mode_product(x, phi_key.T, mode), phi_query, mode), inverse, mode)


def swiglu(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """W_down (silu(W_gate x) ⊙ W_up x), silu(a) = a / (1 + e⁻ᵃ) (Shazeer 2020)."""
    gated = x @ gate.T
    return (gated / (1 + (-gated).exp()) * (x @ up.T)) @ down.T


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / √(mean x² + eps), times a weight per feature."""
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """(x - mean) / √(biased variance + eps), times a weight per feature, plus a bias."""
    centred = x - x.mean(-1, keepdim=True)
    scaled = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight
    return scaled if bias is None else scaled + bias
