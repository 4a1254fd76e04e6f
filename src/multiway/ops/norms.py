"""Root-mean-square normalisation."""

import torch
from jaxtyping import Float
from torch import Tensor

from multiway.kernels import gate
from multiway.kernels.lean import lean_rms_norm


def rms_norm(x: Float[Tensor, "*batch dim"], weight: Float[Tensor, " dim"], eps: float) -> Float[Tensor, "*batch dim"]:
    """Divide by the root mean square of the last axis: y = x / sqrt(mean(x²) + eps) * weight (Zhang & Sennrich 2019).

    In float32 or wider, whatever the input; the result has the input's type, also where the weight is wider, as
    under autocast.
    """
    if gate.is_open(x):
        return lean_rms_norm(x, weight, eps)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (wide * scale * weight.to(wide.dtype)).to(x.dtype)
