"""The second half of a SwiGLU in one step, which computes its hidden features again in the backward pass."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def gated_linear(
    gate_up: Float[Tensor, "*batch two_hidden"], weight: Float[Tensor, "out hidden"]
) -> Float[Tensor, "*batch out"]:
    """Y = (silu(G) * U) Wᵀ, where the last axis of `gate_up` holds G and then U (Shazeer 2020).

    Keeps `gate_up` for the backward pass; autograd would keep silu(G), and its product with U, beside it. The same
    operations in the same order otherwise, so that values and gradients are the same to the bit.
    """
    weight = weight.to(gate_up.dtype)  # under autocast gate_up is narrower
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return F.linear(_hidden(gate_up), weight)  # compilers and vmap follow plain operations best
    return _GatedLinear.apply(gate_up, weight)  # type: ignore[no-any-return, no-untyped-call]


def _hidden(gate_up: Tensor) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    return F.silu(gate) * up


class _GatedLinear(torch.autograd.Function):
    @staticmethod
    def forward(gate_up: Tensor, weight: Tensor) -> Tensor:
        return F.linear(_hidden(gate_up), weight)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        gate_up, weight = ctx.saved_tensors
        gate, up = gate_up.chunk(2, dim=-1)
        silu = F.silu(gate)
        grad_gate_up = grad_weight = None
        if ctx.needs_input_grad[0]:
            derive = _derive_again if torch.is_grad_enabled() else _derive
            grad_gate_up = derive(grad @ weight, gate_up, gate, up, silu)
        if ctx.needs_input_grad[1]:
            grad_weight = grad.reshape(-1, len(weight)).mT @ (silu * up).reshape(-1, weight.shape[1])
        return grad_gate_up, grad_weight


def _derive(grad: Tensor, gate_up: Tensor, gate: Tensor, up: Tensor, silu: Tensor) -> Tensor:
    """The gradient of G and of U, written side by side where they belong."""
    both = torch.empty_like(gate_up)
    grad_gate, grad_up = both.chunk(2, dim=-1)
    torch.mul(grad, silu, out=grad_up)
    torch.ops.aten.silu_backward.grad_input(grad.mul_(up), gate, grad_input=grad_gate)
    return both


def _derive_again(grad: Tensor, gate_up: Tensor, gate: Tensor, up: Tensor, silu: Tensor) -> Tensor:
    """The same by operations that have derivatives, which torch's own step backward through silu has not."""
    share = torch.sigmoid(gate)
    return torch.cat([grad * up * share * (1 + gate * (1 - share)), grad * silu], dim=-1)
