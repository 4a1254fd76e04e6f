"""Dropout that keeps less for the backward pass than autograd would."""

import torch
from torch import Tensor

LEVELS = 2**16
"""A number is dropped if 16 random bits are below a threshold, so that `p` is met to within 1 / 131,072."""


def can_meet(p: float) -> bool:
    """Whether 16 bits tell `p` from 0 and from 1."""
    return 0 < round(p * LEVELS) < LEVELS


def drop(x: Tensor, p: float) -> Tensor:
    """Fast path of `ops.dropout` in training, for a `p` that it `can_meet`.

    About three times as fast as `F.dropout`, and a byte per number is kept for the backward pass, not a float.
    """
    dropped = round(p * LEVELS)
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
