"""Decoder-only transformers after OPT, and those of NdLinear's experiments on them (section 4.3)."""

import math
from collections.abc import Iterator
from typing import Any, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway.config import Config
from multiway.errors import ShapeError
from multiway.models.blocks import Activation
from multiway.models.choices import AttentionConfig, LayerName
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock

START = 0.02
"""Standard deviation of a new embedding, as in OPT."""


class CausalTransformerConfig(Config):
    """Everything needed to rebuild a `CausalTransformer`; saved inside each run."""

    vocabulary: int = Field(gt=1)
    """Tokens there are."""
    context: int = Field(gt=0)
    """Tokens that are read at most."""
    dim: int = Field(128, gt=0)
    num_blocks: int = Field(2, gt=0)
    num_heads: int = Field(4, gt=0)
    layer: LayerName = "linear"
    """Maps of the feed-forward: dense, one per axis, a tensor train, or a bottleneck."""
    sizes: tuple[int, ...] | None = Field(None, min_length=1)
    """Axes that the features of a token are taken as; two of like size for nd_linear and tensor_train, else one."""
    hidden: tuple[int, ...] | None = Field(None, min_length=1)
    """Axes between the two maps; four times the features, in as many axes, if not given."""
    rank: int | None = Field(None, gt=0)
    """Of tensor_train and low_rank."""
    replaced: int | None = Field(None, ge=0)
    """How many blocks, the last ones, have `layer`; the others are dense. All if not given."""
    embedding: int | None = Field(None, gt=0)
    """Features of an embedding, mapped to `dim` and back; `dim` and no map if not given."""
    attention: AttentionConfig | None = None
    """Another attention to earlier tokens than the usual one, such as a tensorized graph attention."""
    norm_first: bool = True
    """Normalise before attention and feed-forward, and after the last block; else after each, as in OPT of 350M."""
    activation: Activation = "relu"
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    spare_positions: int = Field(0, ge=0)
    """Rows of the table of positions that no token uses; OPT has two."""

    @classmethod
    def opt(cls, dim: int, num_blocks: int, num_heads: int, **fields: Any) -> dict[str, Any]:
        """Fields of a published OPT."""
        shape = {"dim": dim, "num_blocks": num_blocks, "num_heads": num_heads}
        return {"vocabulary": 50_272, "context": 2048, "spare_positions": 2, **shape, **fields}

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.dim % self.num_heads:
            raise ValueError(f"dim must be a multiple of num_heads. Got dim={self.dim}, num_heads={self.num_heads}")
        if (self.replaced or 0) > self.num_blocks:
            raise ValueError(f"replaced counts blocks, of which there are {self.num_blocks}. Got {self.replaced}")
        self.feed_forward.sizes_of(self.dim)
        return self

    @property
    def feed_forward(self) -> FeedForwardConfig:
        """That of the blocks that have `layer`."""
        has_axes = self.layer in ("nd_linear", "tensor_train")
        sizes = self.sizes or (balanced(self.dim) if has_axes else (self.dim,))
        hidden = self.hidden or ((2 * sizes[0], 2 * sizes[1]) if len(sizes) == 2 else (4 * self.dim,))
        return FeedForwardConfig(layer=self.layer, sizes=sizes, hidden=hidden, rank=self.rank)

    def blocks(self) -> Iterator[BlockChoice]:
        """What each block is made of."""
        dense, chosen = self._block(FeedForwardConfig(hidden=(4 * self.dim,))), self._block(self.feed_forward)
        first = 0 if self.replaced is None else self.num_blocks - self.replaced
        return (dense if index < first else chosen for index in range(self.num_blocks))

    def _block(self, feed_forward: FeedForwardConfig) -> BlockChoice:
        return BlockChoice(
            num_heads=self.num_heads,
            feed_forward=feed_forward,
            norm_first=self.norm_first,
            activation=self.activation,
            dropout=self.dropout,
            causal=True,
            attention=self.attention,
        )


class CausalTransformer(torch_nn.Module):
    r"""Say each token from those before it: embeddings of tokens and places, blocks, and the embeddings again.

    $$h = E_{x} + P, \qquad p(x_{t+1}) = \mathrm{softmax}(E\, \mathrm{LN}(\mathrm{Blocks}(h))_t)$$

    OPT (Zhang et al., 2022): learnt positions, ReLU, tied embeddings. NdLinear, section 4.3, replaces the maps of its
    feed-forward.

    Shape:
        Tokens `(batch, tokens)`, at most `context` of them; logits `(batch, tokens, vocabulary)`.
    """

    def __init__(self, config: CausalTransformerConfig) -> None:
        super().__init__()
        self.config = config
        width = config.embedding or config.dim
        self.tokens = torch_nn.Embedding(config.vocabulary, width)
        self.positions = torch_nn.Embedding(config.context + config.spare_positions, config.dim)
        self.widen = _map(width, config.dim)
        self.blocks = torch_nn.ModuleList(TransformerBlock(config.dim, block) for block in config.blocks())
        self.norm = torch_nn.LayerNorm(config.dim) if config.norm_first else torch_nn.Identity()
        self.narrow = _map(config.dim, width)
        for table in (self.tokens, self.positions):
            torch_nn.init.normal_(table.weight, 0.0, START)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the token after each."""
        if tokens.ndim != 2 or tokens.shape[1] > self.config.context:
            raise ShapeError(
                f"CausalTransformer: tokens must be (batch, tokens) with at most {self.config.context} tokens. "
                f"Got {tuple(tokens.shape)}."
            )
        positions = torch.arange(tokens.shape[1], device=tokens.device) + self.config.spare_positions
        x = self.widen(self.tokens(tokens)) + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.narrow(self.norm(x)) @ self.tokens.weight.T
        return out


def balanced(number: int) -> tuple[int, int]:
    """The two factors that are nearest to each other, the smaller first."""
    small = next(divisor for divisor in range(math.isqrt(number), 0, -1) if number % divisor == 0)
    return small, number // small


def _map(before: int, after: int) -> torch_nn.Module:
    return torch_nn.Identity() if before == after else torch_nn.Linear(before, after, bias=False)


OPT_125M = CausalTransformerConfig.opt(768, 12, 12)
OPT_350M = CausalTransformerConfig.opt(1024, 24, 16, embedding=512, norm_first=False)
OPT_125M_NDLINEAR = {**OPT_125M, "context": 512, "layer": "nd_linear", "sizes": (768, 1), "hidden": (2800, 8)}
"""The printed 119M: the configuration of the public code."""
OPT_350M_NDLINEAR = {**OPT_350M, "context": 512, "layer": "nd_linear", "replaced": 2, "embedding": None}
"""The printed 337M: a reading, as no configuration that is printed or public has so many."""
