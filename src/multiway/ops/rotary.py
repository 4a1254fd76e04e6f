"""Rotary position encoding (Su et al. 2021), half-split, along one mode or over several flattened ones."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


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
    owner, place = pairs % count, pairs // count
    dealt = (half - 1 - owner) // count + 1
    frequencies = theta ** (-place.to(positions.dtype) / dealt)
    return _turn(x, positions[:, owner] * frequencies)


def _wide(x: Tensor) -> torch.dtype:
    """Angles of late positions need float32 at least."""
    return torch.promote_types(x.dtype, torch.float32)


def _turn(x: Tensor, angles: Float[Tensor, "size half"]) -> Tensor:
    half = x.shape[-1] // 2
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)
