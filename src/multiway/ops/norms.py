"""Root-mean-square normalisation that keeps little beside its input for the backward pass."""

import torch
from jaxtyping import Float
from torch import Tensor


def rms_norm(x: Float[Tensor, "*batch dim"], weight: Float[Tensor, " dim"], eps: float) -> Float[Tensor, "*batch dim"]:
    """Divide by the root mean square of the last axis: y = x / sqrt(mean(x²) + eps) * weight (Zhang & Sennrich 2019).

    In float32 or wider, whatever the input; the result has the input's type, also where the weight is wider, as
    under autocast. torch's own form keeps three tensors of the input's size on the CPU; this one keeps `x`, and a
    number for each row.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return _normalise(x, weight, eps)  # compilers and vmap follow plain operations best
    return _RMSNorm.apply(x, weight, eps)  # type: ignore[no-any-return, no-untyped-call]


def _normalise(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (wide * _scale(wide, eps) * weight.to(wide.dtype)).to(x.dtype)


def _scale(wide: Tensor, eps: float) -> Tensor:
    return torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)


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
