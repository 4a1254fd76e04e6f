"""Rotary position encoding (Su et al. 2021), half-split, on one mode after pooling."""

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
    half = x.shape[-1] // 2
    wide = torch.promote_types(x.dtype, torch.float32)
    frequencies = theta ** (-torch.arange(half, device=x.device, dtype=wide) / half)
    angles = torch.arange(x.shape[-2], device=x.device, dtype=wide)[:, None] * frequencies
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)
