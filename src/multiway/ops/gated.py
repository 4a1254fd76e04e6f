"""The gate of a SwiGLU, which keeps its input alone for the backward pass."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def gated(gate_up: Float[Tensor, "*batch two_hidden"]) -> Float[Tensor, "*batch hidden"]:
    """H = silu(G) * U, where the last axis of `gate_up` holds G and then U (Shazeer 2020).

    Autograd would keep silu(G) too; here it is computed again. The operations are the same otherwise, so values and
    gradients are the same to the bit.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return _gated(gate_up)  # compilers and vmap follow plain operations best
    return _Gated.apply(gate_up)  # type: ignore[no-any-return, no-untyped-call]


def _gated(gate_up: Tensor) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    return F.silu(gate) * up


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate_up: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(gate_up)
        return _gated(gate_up)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        (gate_up,) = ctx.saved_tensors
        return (_derive_again if torch.is_grad_enabled() else _derive)(grad, gate_up)


def _derive(grad: Tensor, gate_up: Tensor) -> Tensor:
    """The gradients of G and of U, written side by side where they belong."""
    both = torch.empty_like(gate_up)
    (grad_gate, grad_up), (gate, up) = both.chunk(2, dim=-1), gate_up.chunk(2, dim=-1)
    torch.mul(grad, F.silu(gate), out=grad_up)
    torch.ops.aten.silu_backward.grad_input(grad * up, gate, grad_input=grad_gate)
    return both


def _derive_again(grad: Tensor, gate_up: Tensor) -> Tensor:
    """The same by operations that have derivatives, which torch's own step backward through silu has not."""
    gate, up = gate_up.chunk(2, dim=-1)
    share = torch.sigmoid(gate)
    return torch.cat([grad * up * share * (1 + gate * (1 - share)), grad * gate * share], dim=-1)
