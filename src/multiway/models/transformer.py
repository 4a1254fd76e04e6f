"""The transformer block of NdLinear's experiments: torch's own encoder layer, written out, its maps a choice."""

import math
from collections.abc import Callable
from typing import Self

from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn
from multiway.config import Config
from multiway.errors import ShapeError
from multiway.models.blocks import ACTIVATIONS, Activation
from multiway.models.choices import PER_AXIS, AttentionConfig, LayerName, build_attention, build_layer, check_rank


class FeedForwardConfig(Config):
    """Two maps of the features of a token with an activation between them."""

    layer: LayerName = "linear"
    sizes: tuple[int, ...] | None = Field(None, min_length=1)
    """Axes that the features are taken as; their product is `dim`. One axis if not given."""
    hidden: tuple[int, ...] = Field((64,), min_length=1)
    """Axes between the two maps."""
    rank: int | None = Field(None, gt=0)
    """Of a tensor train or a bottleneck."""

    @model_validator(mode="after")
    def _rank_fits(self) -> Self:
        check_rank(self.layer, self.rank)
        return self

    def sizes_of(self, dim: int) -> tuple[int, ...]:
        """Axes that `dim` features are taken as."""
        sizes = self.sizes or (dim,)
        if math.prod(sizes) != dim:
            raise ValueError(f"sizes of the feed-forward must multiply to dim={dim}. Got {sizes}")
        if self.layer in PER_AXIS and len(self.hidden) != len(sizes):
            raise ValueError(
                f"hidden must have a number for each of sizes with layer={self.layer}. Got hidden={list(self.hidden)} "
                f"for sizes={list(sizes)}"
            )
        return sizes


class BlockChoice(Config):
    """What a `TransformerBlock` is made of, but for its width."""

    num_heads: int = Field(4, gt=0)
    feed_forward: FeedForwardConfig = FeedForwardConfig()
    output: LayerName = "linear"
    """The projection after the attention, heads by features of a head where it has axes (NdLinear, section 3)."""
    output_rank: int | None = Field(None, gt=0)
    head_dim: int | None = Field(None, gt=0)
    """Features of a head; `dim / num_heads` if not given."""
    norm_first: bool = False
    """Normalise before attention and feed-forward, not after them."""
    activation: Activation = "gelu"
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    """Share dropped of attention maps, of hidden features, and of what is added to a token."""
    causal: bool = False
    """Let a token see itself and earlier ones only."""
    attention: AttentionConfig | None = None
    """Another attention in place of the usual one, whose heads and output projection are then unused."""


class TransformerBlock(torch_nn.Module):
    r"""Attention and feed-forward over tokens, each added to its input and normalised.

    $$h = \mathrm{LN}(x + \mathrm{Attn}(x)), \qquad y = \mathrm{LN}(h + W_2\,\sigma(W_1 h))$$

    With `norm_first` the norms stand before attention and feed-forward. NdLinear, sections 3 and 4.

    Differs from `torch.nn.TransformerEncoderLayer` in that both maps of the feed-forward and the output projection can
    be of another kind, and that a token that is absent is looked at by none and stays zero.

    Args:
        dim: Features of a token.
        config: Heads, feed-forward and norms.
        attention: One in place of the config's, such as one whose weights do not depend on the tokens.
        feed_forward: One in place of the config's, such as one that mixes tokens.
        make_norm: What normalises `dim` features.

    Shape:
        x `(batch, tokens, dim)`, keep `(batch, tokens)` true where a token is present; output like x.
    """

    def __init__(
        self,
        dim: int,
        config: BlockChoice,
        *,
        attention: torch_nn.Module | None = None,
        feed_forward: torch_nn.Module | None = None,
        make_norm: Callable[[int], torch_nn.Module] = torch_nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.dim, self.config = dim, config
        self.attention = attention or _attention(dim, config)
        self.feed_forward = feed_forward or FeedForward(dim, config.feed_forward, config.activation, config.dropout)
        self.norms = torch_nn.ModuleList(make_norm(dim) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        """Tokens after the block."""
        if x.ndim != 3 or x.shape[-1] != self.dim:
            raise ShapeError(f"TransformerBlock: x must be (batch, tokens, {self.dim}). Got {tuple(x.shape)}.")
        x = self._add(x, lambda tokens: self.attention(tokens, valid=keep), self.norms[0])
        x = self._add(x, self.feed_forward, self.norms[1])
        return x if keep is None else x * keep[..., None]

    def _add(self, x: Tensor, part: Callable[[Tensor], Tensor], norm: torch_nn.Module) -> Tensor:
        first = self.config.norm_first
        out: Tensor = x + self.dropout(part(norm(x))) if first else norm(x + self.dropout(part(x)))
        return out


class SelfAttention(torch_nn.Module):
    """Multi-head attention of tokens to each other, with biases; absent ones are looked at by none."""

    def __init__(self, dim: int, config: BlockChoice) -> None:
        super().__init__()
        self.num_heads, self.causal = config.num_heads, config.causal
        self.head_dim = config.head_dim or dim // config.num_heads
        inner = self.num_heads * self.head_dim
        self.project = torch_nn.Linear(dim, 3 * inner)
        # Features of a token by head where they divide, else one after another in the second axis
        features = (self.num_heads, dim // self.num_heads) if dim % self.num_heads == 0 else (1, dim)
        self.output = build_layer(config.output, (self.num_heads, self.head_dim), features, rank=config.output_rank)
        self.dropout = config.dropout

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Tokens `(batch, tokens, dim)` after looking at each other; `valid` is true for those that are there."""
        q, k, v = self.project(x).unflatten(-1, (3, self.num_heads, self.head_dim)).permute(2, 0, 3, 1, 4)
        looked = F.scaled_dot_product_attention(
            q, k, v, self._mask(x, valid), self.dropout if self.training else 0.0, self.causal and valid is None
        )
        out: Tensor = self.output(looked.transpose(1, 2))
        return out.flatten(2)

    def _mask(self, x: Tensor, keep: Tensor | None) -> Tensor | None:
        """True where a token looks at another; a token always looks at itself, so that no row is empty."""
        if keep is None:
            return None
        tokens = x.shape[1]
        itself = x.new_ones(tokens, tokens).bool()
        seen = keep[:, None, None, :] & (itself.tril() if self.causal else itself)
        return seen | itself.tril() & itself.triu()


class FeedForward(torch_nn.Module):
    """Two maps with an activation between them, over the features of each token taken as axes."""

    def __init__(self, dim: int, config: FeedForwardConfig, activation: Activation, dropout: float) -> None:
        super().__init__()
        self.sizes = config.sizes_of(dim)
        self.up = build_layer(config.layer, self.sizes, config.hidden, rank=config.rank)
        self.down = build_layer(config.layer, config.hidden, self.sizes, rank=config.rank)
        self.activation, self.dropout = ACTIVATIONS[activation], nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens `(*, dim)` after both maps."""
        out: Tensor = self.down(self.dropout(self.activation(self.up(x.unflatten(-1, self.sizes)))))
        return out.flatten(x.ndim - 1)


def _attention(dim: int, config: BlockChoice) -> torch_nn.Module:
    choice = config.attention
    return build_attention(choice, dim, causal=config.causal) if choice else SelfAttention(dim, config)
