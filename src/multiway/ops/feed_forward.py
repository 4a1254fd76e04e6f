"""What stands around attention: the gate of a SwiGLU, RMS normalisation and dropout."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.ops.dispatch import is_plain

LEVELS = 2**16
"""Values of the bits that decide on a number."""


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


def dropout(x: Float[Tensor, "*shape"], p: float, training: bool = True) -> Float[Tensor, "*shape"]:
    """Set each number to zero with probability p and divide the others by 1 - p, as `F.dropout` does.

    On a CPU a number is dropped if 16 random bits are below a threshold: p is met to within 1 / 131,072, at a third of
    the cost, and a byte for each number is kept for the gradient. Draws are others than those of `F.dropout`.
    """
    dropped = round(p * LEVELS)
    if not (training and p):
        return x
    if not 0 < dropped < LEVELS or not is_plain(x):
        return F.dropout(x, p)
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    kept = (bits[: x.numel()] >= dropped - LEVELS // 2).view(x.shape)
    return _Dropout.apply(x, kept, LEVELS / (LEVELS - dropped))  # type: ignore[no-any-return, no-untyped-call]


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(*given: Any) -> Tensor:
        x, kept, scale = given
        return x * (kept.to(x.dtype) * scale)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        _, kept, ctx.scale = inputs
        ctx.save_for_backward(kept)

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        (kept,) = ctx.saved_tensors
        return above[0] * (kept.to(above[0].dtype) * ctx.scale), None, None
