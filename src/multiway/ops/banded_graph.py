"""The same graph filter in blocks along the diagonal: linear in length, no square of it is ever formed."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.errors import ConfigError, ShapeError
from multiway.ops.graph import Damping, check_damping, degree_scales, scale_keys, time_weights, weighed


def banded_graph_filter(
    key: Float[Tensor, "*batch length dim"],
    value: Float[Tensor, "*value_batch value_length out"],
    damping: Damping,
    *,
    reach: int,
    causal: bool = False,
    normalisation: str = "none",
) -> Float[Tensor, "*batch length out"]:
    """Filter by I + Ψ with every lag up to `reach`, and some longer ones; the rest is taken as zero.

    With blocks of `reach` steps, Ψ is block-tridiagonal: a block on the diagonal and one ahead of it per block of
    steps. The blocks behind are the transposes of those ahead, as K Kᵀ is symmetric. Every entry that is kept is that
    of `attention_adjacency`, and `damping_reach` says what those left out weigh.

    Cost: 2 reach · dim + 3 reach · out multiply-adds per step, and 2 reach numbers saved for the gradient.

    Raises:
        ShapeError: Keys and values differ in length or batch.
        ConfigError: `damping`, `reach` or `normalisation` is out of range.
    """
    _check(key, value, damping, reach)
    if value.shape[-2] == 0:
        return value
    keys, values = _to_blocks(scale_keys(key), reach), _to_blocks(value, reach)
    here, ahead = _adjacency_blocks(keys, damping, causal)
    before, after = degree_scales(_received(here, ahead, causal), normalisation)
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
    here = weighed(keys @ keys.mT, near)
    ahead = weighed(keys[..., :-1, :, :] @ keys[..., 1:, :, :].mT, far)
    return here, ahead


def _received(here: Tensor, ahead: Tensor, causal: bool) -> Tensor:
    """Sums of the rows of Ψ, `(..., blocks, size)`."""
    behind = _shift(ahead.sum(-2)[..., None], 1)[..., 0]
    received = here.sum(-1) + behind
    return received if causal else received + _shift(ahead.sum(-1)[..., None], -1)[..., 0]


def _shift(blocks: Tensor, by: int) -> Tensor:
    """Lay n - 1 blocks over n: one later (1) or in place (-1), zeros where none is."""
    return F.pad(blocks, (0, 0, 0, 0, 1, 0) if by > 0 else (0, 0, 0, 0, 0, 1))


def _check(key: Tensor, value: Tensor, damping: Damping, reach: int) -> None:
    check_damping("banded_graph_filter", damping)
    if reach < 1:
        raise ConfigError(f"banded_graph_filter: at least one lag must count. Got reach={reach}.")
    if key.shape[:-1] != value.shape[:-1]:
        raise ShapeError(
            f"banded_graph_filter: keys and values need the same batch and length. Got key {tuple(key.shape)} and "
            f"value {tuple(value.shape)}."
        )
