"""Dropout with draws that cost a third on a CPU."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.kernels import gate
from multiway.kernels.dropout import can_meet, drop


def dropout(x: Float[Tensor, "*shape"], p: float, training: bool = True) -> Float[Tensor, "*shape"]:
    """Set each number to zero with probability p and divide the others by 1 - p, as `F.dropout` does.

    The draws on a CPU are others than those of `F.dropout` after the same seed.
    """
    if not training or p == 0:
        return x
    if can_meet(p) and gate.is_open(x, cpu=True):
        return drop(x, p)
    return F.dropout(x, p)
