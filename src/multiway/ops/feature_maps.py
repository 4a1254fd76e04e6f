"""Feature maps whose dot products stand in for the softmax kernel, in logarithms so that nothing overflows.

A map returns log φ(x); `kernel_features` turns the logarithms of queries and keys into factors in [0, 1].
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

LogFeatureMap = Callable[[Tensor, Tensor], Tensor]


def default_num_features(head_dim: int) -> int:
    """d (1 + log₂ d), rounded up to an even number: enough for the kernel's error to fall as in theory."""
    return 2 * math.ceil(head_dim * (1 + math.log2(max(head_dim, 2))) / 2)


def orthogonal_projection(
    num_rows: int, head_dim: int, *, generator: torch.Generator | None = None
) -> Float[Tensor, "rows head_dim"]:
    """Draw directions of norm √d, orthogonal within each block of d rows (Choromanski et al. 2020, sec. 3.3).

    QR of a Gaussian matrix with the signs of R's diagonal moved into Q is uniform over rotations. The norm is
    fixed, not chi-distributed: that is what makes SMReg the regularised kernel.
    """
    blocks = []
    for _ in range(math.ceil(num_rows / head_dim)):
        q, r = torch.linalg.qr(torch.randn(head_dim, head_dim, generator=generator, dtype=torch.float64))
        blocks.append(q * r.diagonal().sign())
    return (torch.cat(blocks)[:num_rows] * math.sqrt(head_dim)).float()


def draw_projection(feature_map: str, head_dim: int, num_features: int | None = None) -> Float[Tensor, "rows head_dim"]:
    """Draw directions for `num_features`, `default_num_features` if not given; SMReg uses each with both signs."""
    count = default_num_features(head_dim) if num_features is None else num_features
    return orthogonal_projection(math.ceil(count / 2) if feature_map == "smreg" else count, head_dim)


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


FEATURE_MAPS: dict[str, LogFeatureMap] = {
    "smreg": smreg_log_features,
    "positive": positive_log_features,
    "elu": elu_log_features,
}


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
