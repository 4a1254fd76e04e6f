"""The block of a Higher-Order Transformer as the config of a model describes it."""

from collections.abc import Sequence
from typing import Any, Protocol

from torch import nn as torch_nn

from multiway import nn


class BlockConfig(Protocol):
    """What the config of every Higher-Order Transformer says of its blocks."""

    @property
    def dim(self) -> int:
        """Features of a token."""

    @property
    def norm(self) -> str:
        """Normalisation before each part."""

    @property
    def ffn_multiple(self) -> int:
        """Hidden features of the SwiGLU over those of a token."""

    @property
    def dropout(self) -> float:
        """Share of features that are dropped in training."""

    @property
    def num_heads(self) -> int:
        """Heads of an attention."""

    @property
    def attention(self) -> str:
        """One attention per mode (`kronecker`), or one over all tokens (`full`)."""

    @property
    def feature_map(self) -> str:
        """Softmax, or the kernel in its place."""

    @property
    def preset(self) -> str:
        """Details of Kronecker attention, as a set."""

    @property
    def mode_pooling(self) -> str | None:
        """Pooling of queries and keys, where it is not the preset's."""

    @property
    def combine(self) -> str:
        """How the attentions of the modes come together."""

    @property
    def attended_modes(self) -> Sequence[int]:
        """Modes that are attended over."""


def build_block(
    config: BlockConfig, *, num_modes: int, rotary_modes: Sequence[int], is_decoder: bool = False
) -> nn.HOTBlock:
    """Attention, in a decoder cross-attention too, and a SwiGLU."""
    return nn.HOTBlock(
        build_attention(config, num_modes=num_modes, rotary_modes=rotary_modes),
        dim=config.dim,
        norm=config.norm,
        hidden_dim=config.ffn_multiple * config.dim,
        dropout=config.dropout,
        cross_attention=build_attention(config, num_modes=num_modes, rotary_modes=rotary_modes) if is_decoder else None,
    )


def build_attention(config: BlockConfig, *, num_modes: int, rotary_modes: Sequence[int]) -> torch_nn.Module:
    """One attention per mode, or one over all tokens, which knows no positions; softmax or a kernel."""
    sizes: dict[str, Any] = {"num_heads": config.num_heads, "num_modes": num_modes}
    if config.attention == "full" and config.feature_map == "softmax":
        return nn.FullAttention(config.dim, **sizes)
    if config.attention == "full":
        return nn.FullKernelAttention(config.dim, **sizes, feature_map=config.feature_map)
    return nn.KroneckerAttention(
        config.dim,
        **sizes,
        preset=config.preset,
        pooling=config.mode_pooling,
        combine=config.combine,
        feature_map=config.feature_map,
        attended_modes=config.attended_modes,
        rotary_modes=rotary_modes,
    )
