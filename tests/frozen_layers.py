"""Outputs and gradients of every layer in a few configurations, at float64 and from fixed seeds, for `frozen.py`."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from multiway import nn

KRONECKER = {
    "trainable": {"rotary_modes": (1,)},
    "paper": {"preset": "paper"},
    "per-mode": {"preset": "per_mode", "combine": "sum"},
    "kernel": {"feature_map": "smreg", "num_features": 8},
    "positive": {"preset": "paper", "feature_map": "positive"},
    "elu": {"feature_map": "elu", "attended_modes": (1,)},
    "causal": {"attended_modes": (1,), "causal_modes": (1,), "rotary_modes": (1,)},
    "norm": {"qk_norm": "layer", "pooling": "sum", "shared_projections": True},
}


def block(**options: Any) -> torch.nn.Module:
    attention = nn.KroneckerAttention(8, num_heads=2, num_modes=2)
    return nn.HOTBlock(attention, dim=8, **options)


LAYERS: dict[str, tuple[Callable[[], torch.nn.Module], tuple[int, ...]]] = {
    "NdLinear": (lambda: nn.NdLinear((4, 5), (3, 6)), (2, 4, 5)),
    "NdLinear/rank": (lambda: nn.NdLinear((4, 5, 2), (3, 6, 3), rank=2, bias="full"), (2, 4, 5, 2)),
    "NdLinear/flat": (lambda: nn.NdLinear((4, 5), (3, 6), flat=True, descending=True, bias=False), (2, 20)),
    "TTLinear": (lambda: nn.TTLinear((2, 3, 2), (3, 2, 2), tt_ranks=2), (5, 12)),
    "TTLinear/ranks": (lambda: nn.TTLinear((4, 4), (2, 8), tt_ranks=(1, 3, 1), bias=False), (2, 3, 16)),
    "LowRankLinear": (lambda: nn.LowRankLinear(7, 5, rank=3), (4, 7)),
    "TensorGraphAttention": (lambda: nn.TensorGraphAttention(8, num_heads=2), (2, 9, 8)),
    "TensorGraphAttention/paper": (lambda: nn.TensorGraphAttention(8, preset="paper", tt_ranks=3), (2, 9, 8)),
    "TensorGraphAttention/causal": (lambda: nn.TensorGraphAttention(8, causal=True, bias=True), (2, 9, 8)),
    "TensorGraphAttention/banded": (
        lambda: nn.TensorGraphAttention(8, damping=0.3, banded=True, lag_tolerance=1e-3), (2, 40, 8)
    ),
    **{
        f"KroneckerAttention/{name}": (
            lambda options=options: nn.KroneckerAttention(8, num_heads=2, num_modes=2, **options), (2, 3, 5, 8)
        )
        for name, options in KRONECKER.items()
    },
    "KroneckerAttention/three": (lambda: nn.KroneckerAttention(8, num_heads=2, num_modes=3), (2, 3, 4, 2, 8)),
    "FullAttention": (lambda: nn.FullAttention(8, num_heads=2, num_modes=2), (2, 3, 4, 8)),
    "FullKernelAttention": (lambda: nn.FullKernelAttention(8, num_heads=2, num_modes=2), (2, 3, 4, 8)),
    "AxialAttention": (lambda: nn.AxialAttention(8, num_heads=2, num_modes=2), (2, 3, 4, 8)),
    "HOTBlock": (block, (2, 3, 4, 8)),
    "HOTBlock/dropout": (lambda: block(dropout=0.3, norm="layer", hidden_dim=6), (2, 3, 4, 8)),
    "SwiGLU": (lambda: nn.SwiGLU(8, 6, dropout=0.2), (3, 8)),
    "PatchEmbedding": (lambda: nn.PatchEmbedding((2, 3), 2, 8), (2, 4, 6, 2)),
    "PooledHead": (lambda: nn.PooledHead(8, 3), (2, 5, 8)),
    "FlattenHead": (lambda: nn.FlattenHead(8, 5, 3), (2, 4, 5, 8)),
    "ConvBlock": (lambda: nn.ConvBlock(4, 8, num_modes=2), (2, 4, 6, 5)),
    "ConvBlock/three": (lambda: nn.ConvBlock(4, 4, num_modes=3, hidden_channels=8), (2, 4, 4, 3, 5)),
    "ConvStem": (lambda: nn.ConvStem(1, (4, 8)), (2, 1, 8, 8, 8)),
    "norm/rms": (lambda: nn.make_norm("rms", 8), (3, 8)),
    "norm/layer": (lambda: nn.make_norm("layer", 8), (3, 8)),
}  # fmt: skip


def layers() -> Iterator[tuple[str, Tensor]]:
    """First parameters, output and gradients of each layer, by name."""
    for name, (make, shape) in LAYERS.items():
        torch.manual_seed(7)
        layer = make().double()
        yield from ((f"{name}/first/{key}", tensor.clone()) for key, tensor in layer.state_dict().items())
        x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        out = layer(x)
        (out * torch.randn(out.shape, dtype=torch.float64)).sum().backward()
        yield f"{name}/out", out.detach()
        yield f"{name}/gradient/x", x.grad
        for key, parameter in layer.named_parameters():
            if parameter.grad is not None:
                yield f"{name}/gradient/{key}", parameter.grad
