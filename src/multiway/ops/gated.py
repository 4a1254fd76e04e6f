"""The gate of a SwiGLU."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.kernels import gate
from multiway.kernels.lean import lean_gated


def gated(gate_up: Float[Tensor, "*batch two_hidden"]) -> Float[Tensor, "*batch hidden"]:
    """H = silu(G) * U, where the last axis of `gate_up` holds G and then U (Shazeer 2020)."""
    if gate.is_open(gate_up):
        return lean_gated(gate_up)
    g, u = gate_up.chunk(2, dim=-1)
    return F.silu(g) * u
