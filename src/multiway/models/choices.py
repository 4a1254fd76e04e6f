"""A layer or an attention as a choice: twins of a network differ in it and in nothing else."""

import math
from collections.abc import Sequence
from typing import Literal

from pydantic import Field
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.config import Config
from multiway.errors import ConfigError

LayerName = Literal["linear", "nd_linear", "tensor_train", "low_rank"]
Sizes = Sequence[int]
RANKED = ("tensor_train", "low_rank")
PER_AXIS = ("nd_linear", "tensor_train")
"""Layers that map as many axes as they give."""


class Flattened(torch_nn.Module):
    """A map of features, applied to axes that are flattened before and restored after it.

    Shape:
        `(*, *in_sizes)` to `(*, *out_sizes)`.
    """

    def __init__(self, layer: torch_nn.Module, in_sizes: Sizes, out_sizes: Sizes) -> None:
        super().__init__()
        self.layer, self.in_sizes, self.out_sizes = layer, tuple(in_sizes), tuple(out_sizes)

    def forward(self, x: Tensor) -> Tensor:
        """Flatten, map, restore."""
        flat: Tensor = self.layer(x.flatten(x.ndim - len(self.in_sizes)))
        out: Tensor = flat.unflatten(-1, self.out_sizes)
        return out


def build_layer(layer: LayerName, in_sizes: Sizes, out_sizes: Sizes, *, rank: int | None = None) -> torch_nn.Module:
    """A layer that maps `(*, *in_sizes)` to `(*, *out_sizes)`.

    Args:
        layer: One dense map of everything, a map per axis, a tensor train, or a dense map through a bottleneck.
        in_sizes: Axes that are mapped.
        out_sizes: Axes that they become; as many as before for a map per axis and a tensor train.
        rank: Of a tensor train or a bottleneck, which need one; the others take none.
    """
    if (layer in RANKED) != (rank is not None):
        rule = "needs a rank" if layer in RANKED else "takes no rank"
        raise ConfigError(f"{layer} {rule}. Got rank={rank}. Ranks are for {' and '.join(RANKED)}.")
    if layer == "nd_linear":
        return nn.NdLinear(in_sizes, out_sizes)
    return Flattened(_flat_layer(layer, in_sizes, out_sizes, rank), in_sizes, out_sizes)


def _flat_layer(layer: LayerName, in_sizes: Sizes, out_sizes: Sizes, rank: int | None) -> torch_nn.Module:
    before, after = math.prod(in_sizes), math.prod(out_sizes)
    if rank is None:
        return torch_nn.Linear(before, after)
    if layer == "low_rank":
        return nn.LowRankLinear(before, after, rank=rank)
    return nn.TTLinear(in_sizes, out_sizes, tt_ranks=rank)


def check_rank(layer: LayerName, rank: int | None, name: str = "rank") -> None:
    """Hold the field of a rank to the layers that have one."""
    if (layer in RANKED) != (rank is not None):
        raise ValueError(f"{name} is for {' and '.join(RANKED)}, which need one. Got {layer}, {name}={rank}")


class AttentionConfig(Config):
    """An attention without biases, as the experiments of TGA compare; the fields from `rank` on are of the graph."""

    kind: Literal["graph", "dot_product", "additive"] = "graph"
    """Tensorized graph attention, dot-product attention, or additive attention."""
    num_heads: int = Field(1, gt=0)
    rank: int = Field(2, gt=0)
    """Of every tensor train."""
    sizes: tuple[int, ...] | None = Field(None, min_length=1)
    """Axes that the features of a token are taken as; all 2 if not given, which needs a power of two."""
    preset: Literal["normalised", "paper"] = "normalised"
    """Divide the filter by the degrees of its graph, or leave it as printed."""
    damping: float = Field(0.9, gt=0.0, lt=1.0)
    """Weight of a neighbour in time."""
    learn_damping: bool = False
    """Learn it, one for each head."""


def build_attention(config: AttentionConfig, dim: int, *, causal: bool = False) -> torch_nn.Module:
    """A layer that maps `(..., tokens, dim)` to the same, with `valid=` for tokens that are there."""
    if config.kind == "graph":
        return nn.TensorGraphAttention(
            dim,
            num_heads=config.num_heads,
            in_sizes=config.sizes,
            tt_ranks=config.rank,
            preset=config.preset,
            damping=config.damping,
            learn_damping=config.learn_damping,
            causal=causal,
        )
    kind = nn.DotProductAttention if config.kind == "dot_product" else nn.AdditiveAttention
    return kind(dim, num_heads=config.num_heads, causal=causal)
