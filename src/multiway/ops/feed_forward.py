"""What stands around attention: the gate of a SwiGLU, RMS normalisation and dropout."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.ops.dispatch import fast_dropout, faster


def gated(gate_up: Float[Tensor, "*batch two_hidden"]) -> Float[Tensor, "*batch hidden"]:
    """H = silu(G) * U, where the last axis of `gate_up` holds G and then U (Shazeer 2020)."""
    g, u = gate_up.chunk(2, dim=-1)
    return F.silu(g) * u


def rms_norm(x: Float[Tensor, "*batch dim"], weight: Float[Tensor, " dim"], eps: float) -> Float[Tensor, "*batch dim"]:
    """Divide by the root mean square of the last axis: y = x / sqrt(mean(x²) + eps) * weight (Zhang & Sennrich 2019).

    In float32 or wider, whatever the input; the result has the input's type, also where the weight is wider, as
    under autocast.
    """
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (wide * scale * weight.to(wide.dtype)).to(x.dtype)


@faster(fast_dropout)
def dropout(x: Float[Tensor, "*shape"], p: float, training: bool = True) -> Float[Tensor, "*shape"]:
    """Set each number to zero with probability p and divide the others by 1 - p, as `F.dropout` does.

    The draws on a CPU are others than those of `F.dropout` after the same seed, and cost a third.
    """
    return F.dropout(x, p) if training and p else x
