"""Normalisation of pooled queries and keys."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

EPS = 1e-12
"""In float32, relative to nothing: queries of any scale are brought to unit size."""


class HeadNorm(nn.Module):
    """RMS or layer norm over a head's features, in the precision of the input."""

    def __init__(self, kind: str, head_dim: int, factory: dict[str, Any]) -> None:
        super().__init__()
        self.kind = kind
        self.weight = nn.Parameter(torch.ones(head_dim, **factory))
        self.bias = nn.Parameter(torch.zeros(head_dim, **factory)) if kind == "layer" else None

    def forward(self, x: Float[Tensor, "*batch head_dim"]) -> Float[Tensor, "*batch head_dim"]:
        """Normalise the last axis."""
        weight = self.weight.to(x.dtype)
        if self.bias is None:
            return F.rms_norm(x, x.shape[-1:], weight, EPS)
        return F.layer_norm(x, x.shape[-1:], weight, self.bias.to(x.dtype))


def make_head_norms(kind: str, num_modes: int, head_dim: int, factory: dict[str, Any]) -> nn.ModuleList | None:
    """A norm of queries and one of keys for every mode; None for the kind "none"."""
    if kind == "none":
        return None
    pairs = ([HeadNorm(kind, head_dim, factory) for _ in range(2)] for _ in range(num_modes))
    return nn.ModuleList(nn.ModuleList(pair) for pair in pairs)
