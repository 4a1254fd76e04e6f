"""Attention over tokens as a choice: twins of a network differ in it and in nothing else."""

from collections.abc import Callable
from typing import Literal

from pydantic import Field
from torch import nn as torch_nn

from multiway import nn
from multiway.config import Config

AttentionName = Literal["graph", "dot_product", "additive"]


class AttentionConfig(Config):
    """An attention without biases, as the experiments of TGA compare; the fields from `rank` on are of the graph."""

    kind: AttentionName = "graph"
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
    """A layer that maps `(..., tokens, dim)` to the same, with `valid=` for tokens that are there.

    Raises:
        ShapeError: The features do not suit it.
    """
    return _KINDS[config.kind](config, dim, causal)


def _graph(config: AttentionConfig, dim: int, causal: bool) -> torch_nn.Module:
    return nn.TensorGraphAttention(
        dim, num_heads=config.num_heads, in_sizes=config.sizes, tt_ranks=config.rank, preset=config.preset,
        damping=config.damping, learn_damping=config.learn_damping, causal=causal,
    )  # fmt: skip


def _dot_product(config: AttentionConfig, dim: int, causal: bool) -> torch_nn.Module:
    return nn.DotProductAttention(dim, num_heads=config.num_heads, causal=causal)


def _additive(config: AttentionConfig, dim: int, causal: bool) -> torch_nn.Module:
    return nn.AdditiveAttention(dim, num_heads=config.num_heads, causal=causal)


_KINDS: dict[AttentionName, Callable[[AttentionConfig, int, bool], torch_nn.Module]] = {
    "graph": _graph, "dot_product": _dot_product, "additive": _additive
}  # fmt: skip
