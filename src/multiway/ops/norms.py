"""Root-mean-square normalisation that keeps its input alone for the backward pass."""

import torch
from jaxtyping import Float
from torch import Tensor


def rms_norm(x: Float[Tensor, "*batch dim"], weight: Float[Tensor, " dim"], eps: float) -> Float[Tensor, "*batch dim"]:
    """Divide by the root mean square of the last axis: y = x / sqrt(mean(x²) + eps) * weight (Zhang & Sennrich 2019).

    In float32 or wider, whatever the input; the result has the input's type, also where the weight is wider, as
    under autocast. torch's own form keeps three tensors of the input's size on the CPU; this one keeps `x`.
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
    def forward(x: Tensor, weight: Tensor, eps: float) -> Tensor:
        return _normalise(x, weight, eps)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        x, weight, ctx.eps = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        x, weight = ctx.saved_tensors
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scale, grad = _scale(wide, ctx.eps), grad.to(wide.dtype)
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            weighted = grad * weight.to(wide.dtype)
            along = (weighted * wide).mean(-1, keepdim=True) * scale.pow(3)
            grad_x = torch.addcmul(weighted * scale, wide, along, value=-1).to(x.dtype)
        if ctx.needs_input_grad[1]:
            grad_weight = (grad * (wide * scale)).reshape(-1, x.shape[-1]).sum(0).to(weight.dtype)
        return grad_x, grad_weight, None
