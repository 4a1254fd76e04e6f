"""Dropout whose random bits are drawn four numbers at a time: on a CPU the draws are what dropout costs."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

LEVELS = 2**16
"""A number is dropped if 16 random bits are below a threshold, so that `p` is met to within 1 / 131,072."""


def dropout(x: Float[Tensor, "*shape"], p: float, training: bool = True) -> Float[Tensor, "*shape"]:
    """Set each number to zero with probability p and divide the others by 1 - p, as `F.dropout` does.

    About three times as fast as that on a CPU, and it keeps a byte per number for the backward pass, not a float. The
    draws are others than those of `F.dropout` after the same seed. On other devices, and under compilers and vmap, it
    is `F.dropout`.
    """
    if not training or p == 0:
        return x
    dropped = round(p * LEVELS)
    is_plain = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    if x.device.type != "cpu" or is_plain or not 0 < dropped < LEVELS:
        return F.dropout(x, p)
    kept = (_random_int16(x.numel()) >= dropped - LEVELS // 2).view(x.shape)
    return _Dropout.apply(x, kept, LEVELS / (LEVELS - dropped))  # type: ignore[no-any-return, no-untyped-call]


def _random_int16(count: int) -> Tensor:
    """Numbers from -32768 to 32767, all alike, from torch's global generator."""
    return torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)[:count]


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, kept: Tensor, scale: float) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return x * (kept.to(x.dtype) * scale)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        (kept,) = ctx.saved_tensors
        return grad * (kept.to(grad.dtype) * ctx.scale), None, None
