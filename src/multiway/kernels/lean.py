"""Operations that keep less for the backward pass than autograd would: gate, RMS normalisation, dropout."""

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway.kernels.compiled import has_memory

LEVELS = 2**16
"""A number is dropped if 16 random bits are below a threshold, so that `p` is met to within 1 / 131,072."""


def lean_gated(gate_up: Tensor) -> Tensor:
    """Fast path of `ops.gated`, which keeps its input alone.

    Autograd would keep silu(G) too; here it is recomputed. The operations are the same otherwise, so values and
    gradients are the same to the bit.
    """
    return _Gated.apply(gate_up)  # type: ignore[no-any-return, no-untyped-call]


def lean_rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Fast path of `ops.rms_norm`, which keeps `x` and a number for each row.

    torch's own form keeps three tensors of the input's size on the CPU.
    """
    return _RMSNorm.apply(x, weight, eps)  # type: ignore[no-any-return, no-untyped-call]


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate_up: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(gate_up)
        gate, up = gate_up.chunk(2, dim=-1)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        (gate_up,) = ctx.saved_tensors
        in_place = not torch.is_grad_enabled() and has_memory(grad)
        return (_derive if in_place else _differentiable_derivative)(grad, gate_up)


def _derive(grad: Tensor, gate_up: Tensor) -> Tensor:
    """The gradients of G and of U, written side by side where they belong."""
    both = torch.empty_like(gate_up)
    (grad_gate, grad_up), (gate, up) = both.chunk(2, dim=-1), gate_up.chunk(2, dim=-1)
    torch.mul(grad, F.silu(gate), out=grad_up)
    torch.ops.aten.silu_backward.grad_input(grad * up, gate, grad_input=grad_gate)
    return both


def _differentiable_derivative(grad: Tensor, gate_up: Tensor) -> Tensor:
    """The same by operations that have derivatives, which torch's own step backward through silu has not."""
    gate, up = gate_up.chunk(2, dim=-1)
    share = torch.sigmoid(gate)
    return torch.cat([grad * up * share * (1 + gate * (1 - share)), grad * gate * share], dim=-1)


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, eps: float) -> Tensor:  # type: ignore[no-untyped-def]
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scale = _scale(wide, eps)
        ctx.save_for_backward(x, weight, scale)
        ctx.eps = eps
        return (wide * scale).mul_(weight.to(wide.dtype)).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        x, weight, scale = ctx.saved_tensors
        wide = x.to(scale.dtype)
        if torch.is_grad_enabled():  # a second derivative needs to know where the scale comes from
            scale = _scale(wide, ctx.eps)
        grad, wide_weight = grad.to(wide.dtype), weight.to(wide.dtype)
        shared = grad * wide  # summed over features it serves x, over rows the weight: each a matrix product
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            along = (shared @ wide_weight).unsqueeze(-1) * scale.pow(3) / x.shape[-1]
            grad_x = torch.addcmul(grad * wide_weight * scale, wide, along, value=-1).to(x.dtype)
        if ctx.needs_input_grad[1]:
            grad_weight = (scale.reshape(-1) @ shared.reshape(-1, x.shape[-1])).to(weight.dtype)
        return grad_x, grad_weight, None


def _scale(wide: Tensor, eps: float) -> Tensor:
    return torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)


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
