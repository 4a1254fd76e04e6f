"""Attention as a graph filter: adjacencies in time and in content, and I + Ψ (TGA secs. 2-3)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.errors import ConfigError, ShapeError, closest
from multiway.ops.checks import check_signals

NORMALISATIONS = ("none", "symmetric", "row")
Damping = float | Tensor
"""One weight of a neighbour in time, or a tensor `(*graphs)` with one for each graph, such as for each head."""


def time_adjacency(
    length: int,
    damping: Damping,
    *,
    causal: bool = False,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "*graphs length length"]:
    """Weigh pairs of time steps by their distance: Ω = (A + Aᵀ)/2 with a = c^lag and a zero diagonal (TGA sec. 2).

    Causal: the one triangle alone, c^(i - j) for j < i. Differs from the paper, whose A is the upper triangle: left of
    the values, as in its eq. y = (I + A) x, that one shows every step its future.

    Args:
        length: Time steps (TGA: L).
        damping: Weight of a neighbour, between 0 and 1 (TGA: c); a tensor `(*graphs)` gives one graph for each.
        causal: Whether a step sees only what came before, at full weight instead of half.
        device: Of the result.
        dtype: Of the result.

    Raises:
        ConfigError: `damping` is not between 0 and 1.
    """
    check_damping("time_adjacency", damping)
    steps = torch.arange(length, device=device)
    return time_weights(steps[:, None] - steps, damping, causal, dtype or torch.get_default_dtype())


def content_adjacency(key: Float[Tensor, "*batch length dim"]) -> Float[Tensor, "*batch length length"]:
    """Weigh pairs of tokens by what they hold: Θ = ReLU(K Kᵀ / √d) with a zero diagonal (TGA sec. 3)."""
    scaled = scale_keys(key)
    others = ~torch.eye(key.shape[-2], dtype=torch.bool, device=key.device)
    return (scaled @ scaled.mT).relu() * others


def attention_adjacency(
    key: Float[Tensor, "*batch length dim"], damping: Damping, *, causal: bool = False
) -> Float[Tensor, "*batch length length"]:
    """Weigh pairs of tokens by time and content: Ψ = Ω ⊙ Θ (TGA sec. 3).

    Ω is not negative and its diagonal is zero, so Ψ = ReLU(Ω ⊙ K Kᵀ / √d), of which one tensor is saved for the
    gradient instead of two. A damping that is learnt needs both.

    Args:
        key: Keys (TGA: K).
        damping: As for `time_adjacency`; a tensor has the last of the batch axes.
        causal: Whether a step sees only what came before.

    Raises:
        ConfigError: `damping` is not between 0 and 1.
    """
    time = time_adjacency(key.shape[-2], damping, causal=causal, device=key.device, dtype=key.dtype)
    scaled = scale_keys(key)
    return weigh_scores(scaled @ scaled.mT, time)


def graph_filter(
    x: Float[Tensor, "*batch length dim"],
    adjacency: Float[Tensor, "*graphs rows columns"],
    normalisation: str = "none",
) -> Float[Tensor, "*batch length dim"]:
    """Filter a signal on a graph: Y = (I + Ψ) X (TGA sec. 3).

    Args:
        x: Signals at the vertices (TGA: V).
        adjacency: Weights of the edges, not negative; row i holds what vertex i receives (TGA: Ψ).
        normalisation: With D = diag(1 + Ψ 1): "none" as printed; "symmetric", D^-½ (I + Ψ) D^-½, whose norm is at most
            1 where Ψ is symmetric (Kipf & Welling 2017); "row", D⁻¹ (I + Ψ), means over what a vertex receives.

    Raises:
        ShapeError: The adjacency is not square or not of the signals' length.
        ConfigError: The normalisation is unknown.
    """
    if adjacency.shape[-2:] != (x.shape[-2], x.shape[-2]):
        raise ShapeError(
            f"graph_filter: the adjacency must be ({x.shape[-2]}, {x.shape[-2]}), as x has {x.shape[-2]} vertices. Got "
            f"x {tuple(x.shape)} and adjacency {tuple(adjacency.shape)}, batch first."
        )
    before, after = degree_scales(adjacency.sum(-1), normalisation)
    scaled = rescale(x, before)
    return rescale(scaled + adjacency @ scaled, after)


def degree_scales(received: Tensor, normalisation: str) -> tuple[Tensor | float, Tensor | float]:
    """Factors on the rows of a signal before and after I + Ψ, from what each vertex receives over its edges."""
    if normalisation not in NORMALISATIONS:
        raise ConfigError(
            f"graph_filter: normalisation={normalisation!r} is not one of {', '.join(NORMALISATIONS)}"
            f"{closest(normalisation, NORMALISATIONS)}"
        )
    if normalisation == "none":
        return 1.0, 1.0
    degree = (1 + received)[..., None]  # the vertex itself counts once, so no degree is zero
    return (degree.rsqrt(), degree.rsqrt()) if normalisation == "symmetric" else (1.0, 1 / degree)


def rescale(x: Tensor, scale: Tensor | float) -> Tensor:
    """Rows times their factors; the number one costs no pass."""
    return x * scale if isinstance(scale, Tensor) else x


def weigh_scores(scores: Tensor, time: Tensor) -> Tensor:
    """ReLU(Ω ⊙ S), in the place of S where the gradient does not need it."""
    return (scores * time).relu_() if time.requires_grad else scores.mul_(time).relu_()


def time_weights(lags: Tensor, damping: Damping, causal: bool, dtype: torch.dtype) -> Tensor:
    """Entries of the time adjacency at the lags row minus column, integers; the axes of the damping lead."""
    wide = torch.promote_types(dtype, torch.float32)
    base = damping.to(wide)[..., None, None] if isinstance(damping, Tensor) else damping
    weights: Tensor = base ** lags.abs().to(wide)
    kept = torch.where(lags > 0, weights, 0) if causal else torch.where(lags != 0, weights / 2, 0)
    return kept.to(dtype)


def scale_keys(key: Tensor) -> Tensor:
    """Bring in 1/√d on the small side of the product K Kᵀ, half of it on either factor."""
    return key / math.sqrt(math.sqrt(max(key.shape[-1], 1)))


def check_damping(where: str, damping: Damping) -> None:
    """Refuse a number that does not damp; a tensor is bounded by what made it."""
    if not isinstance(damping, Tensor) and not 0 < damping < 1:
        raise ConfigError(f"{where}: damping must lie between 0 and 1, neither included. Got damping={damping}.")


def damping_reach(damping: float, tolerance: float) -> int:
    """Longest lag that counts: all longer ones together weigh at most `tolerance` of a neighbour, Σ cˡ = cʳ⁺¹/(1 - c).

    Raises:
        ConfigError: `damping` or `tolerance` is not between 0 and 1.
    """
    check_damping("damping_reach", damping)
    if not 0 < tolerance < 1:
        raise ConfigError(
            f"damping_reach: tolerance must lie between 0 and 1, neither included. Got tolerance={tolerance}."
        )
    return max(1, math.ceil(math.log(tolerance * (1 - damping)) / math.log(damping)) - 1)


def banded_graph_filter(
    key: Float[Tensor, "*batch length dim"],
    value: Float[Tensor, "*value_batch value_length out"],
    damping: Damping,
    *,
    reach: int,
    causal: bool = False,
    normalisation: str = "none",
) -> Float[Tensor, "*batch length out"]:
    """Filter by I + Ψ in blocks along its diagonal, linear in length: every lag up to `reach`, and some longer ones.

    With blocks of `reach` steps, Ψ is block-tridiagonal: a block on the diagonal and one ahead of it per block of
    steps. The blocks behind are the transposes of those ahead, as K Kᵀ is symmetric. Every entry that is kept is that
    of `attention_adjacency`; the others count as zero, and `damping_reach` says what they weigh.

    Cost: 2 reach · dim + 3 reach · out multiply-adds per step, and 2 reach numbers saved for the gradient.

    Raises:
        ShapeError: Keys and values differ in length or batch.
        ConfigError: `damping`, `reach` or `normalisation` is out of range.
    """
    check_damping("banded_graph_filter", damping)
    if reach < 1:
        raise ConfigError(f"banded_graph_filter: at least one lag must count. Got reach={reach}.")
    check_signals("banded_graph_filter", key, value)
    if value.shape[-2] == 0:
        return value
    keys, values = _to_blocks(scale_keys(key), reach), _to_blocks(value, reach)
    here, ahead = _adjacency_blocks(keys, damping, causal)
    received = here.sum(-1) + _shift(ahead.sum(-2)[..., None], 1)[..., 0]
    received = received if causal else received + _shift(ahead.sum(-1)[..., None], -1)[..., 0]
    before, after = degree_scales(received, normalisation)
    scaled = values * before
    out = scaled + here @ scaled + _shift(ahead.mT @ scaled[..., :-1, :, :], 1)
    if not causal:
        out = out + _shift(ahead @ scaled[..., 1:, :, :], -1)
    filtered: Tensor = (out * after).flatten(-3, -2)[..., : value.shape[-2], :]
    return filtered


def _to_blocks(x: Tensor, size: int) -> Tensor:
    """Cut `(..., length, dim)` to `(..., blocks, size, dim)`, zeros filling up the last: a zero key has no edge."""
    blocks = -(-x.shape[-2] // size)
    filled = F.pad(x, (0, 0, 0, blocks * size - x.shape[-2]))
    return filled.reshape(*x.shape[:-2], blocks, size, x.shape[-1])


def _adjacency_blocks(keys: Tensor, damping: Damping, causal: bool) -> tuple[Tensor, Tensor]:
    """Ψ between steps of one block `(..., blocks, size, size)`, and from each block's rows to the next's columns.

    In the causal case the second is what the next block receives, transposed.
    """
    steps = torch.arange(keys.shape[-2], device=keys.device)
    lags = steps[:, None] - steps
    per_block = damping[..., None] if isinstance(damping, Tensor) else damping
    near = time_weights(lags, per_block, causal, keys.dtype)
    far = time_weights(keys.shape[-2] - lags, per_block, causal, keys.dtype)
    here = weigh_scores(keys @ keys.mT, near)
    ahead = weigh_scores(keys[..., :-1, :, :] @ keys[..., 1:, :, :].mT, far)
    return here, ahead


def _shift(blocks: Tensor, by: int) -> Tensor:
    """Lay n - 1 blocks over n: one later (1) or in place (-1), zeros where none is."""
    return F.pad(blocks, (0, 0, 0, 0, 1, 0) if by > 0 else (0, 0, 0, 0, 0, 1))
