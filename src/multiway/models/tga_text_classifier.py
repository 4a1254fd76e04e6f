"""The classifier of TGA's figure 2: word vectors, attention blocks whose attention is a choice, a pooled head."""

import math
from collections.abc import Iterator
from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.config import Config
from multiway.errors import ShapeError
from multiway.models.choices import AttentionConfig, build_attention
from multiway.models.registry import register
from multiway.models.text_classifier import masked_mean, without_tail

START = 0.1
"""Standard deviation of new word vectors, so that training decides how large those of rare words become."""


class EmbeddingConfig(Config):
    """A table of word vectors, dense or a tensor train."""

    layer: Literal["dense", "tensor_train"] = "dense"
    rank: int = Field(8, gt=0)
    """Of a tensor train."""
    sizes: tuple[int, ...] | None = Field(None, min_length=2)
    """Factors of the features, one for each core of a tensor train; three like powers of two if not given."""


class TGATextClassifierConfig(Config):
    """Everything needed to rebuild a `TGATextClassifier`; saved inside each run."""

    num_words: int = Field(gt=0)
    """Ids of words, that of padding (0) among them."""
    num_tokens: int = Field(gt=0)
    """Words of a text at most, or of one of its sentences."""
    num_classes: int = Field(gt=1)
    dim: int = Field(64, gt=0)
    """Features of a word (TGA: I)."""
    embedding: EmbeddingConfig = EmbeddingConfig()
    attention: AttentionConfig = AttentionConfig()
    num_blocks: int = Field(1, ge=0)
    """Attention blocks of each axis."""
    num_axes: Literal[1, 2] = 1
    """1 for texts as words, 2 for texts as sentences of words."""
    positions: Literal["none", "learnt"] = "none"
    """A vector added at each place, or nothing: the graph of TGA knows how far apart words are, the others do not."""
    residual: bool = True
    """Add each block's input to its output and normalise; without it blocks follow each other bare, as in print."""
    dropout: float = Field(0.2, ge=0.0, lt=1.0)
    """Share dropped of word vectors, of what is added, and of the pooled text."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.embedding.layer == "tensor_train" and math.prod(self.embedding_sizes) != self.dim:
            raise ValueError(f"embedding.sizes must multiply to dim={self.dim}. Got {self.embedding_sizes}")
        if self.attention.kind == "graph" and math.prod(self.attention_sizes) != self.dim:
            raise ValueError(f"attention.sizes must multiply to dim={self.dim}, or dim must be a power of two")
        if self.attention.kind != "graph" and self.dim % self.attention.num_heads:
            raise ValueError(f"attention.num_heads must divide dim={self.dim}. Got {self.attention.num_heads}")
        return self

    @property
    def attention_sizes(self) -> tuple[int, ...]:
        """Axes that the attention takes features as."""
        return self.attention.sizes or (2,) * (self.dim.bit_length() - 1)

    @property
    def embedding_sizes(self) -> tuple[int, ...]:
        """Factors of the features of a tensor train, the largest first."""
        twos = self.dim.bit_length() - 1
        return self.embedding.sizes or tuple(2 ** ((twos + 2 - axis) // 3) for axis in range(3))


class AttentionBlock(torch_nn.Module):
    """Attention added to its input and normalised, LN(x + Attn(x)), as in code of TGA's authors; or attention alone."""

    def __init__(self, config: TGATextClassifierConfig) -> None:
        super().__init__()
        self.attention = build_attention(config.attention, config.dim)
        self.norm = torch_nn.LayerNorm(config.dim) if config.residual else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """Tokens `(..., length, dim)` after the block; absent ones are zero."""
        mixed: Tensor = self.attention(x, valid=keep)
        return mixed if self.norm is None else self.norm(x + self.dropout(mixed)) * keep[..., None]


class TGATextClassifier(torch_nn.Module):
    r"""Attention blocks over word vectors, pooled over the words, and a linear head.

    $$h_0 = E_w, \qquad h_l = \mathrm{LN}(h_{l-1} + \mathrm{Attn}_l(h_{l-1})), \qquad
      y = W \operatorname{mean}_t(h_L) + b$$

    TGA, section 5. With `num_axes=2`, words are filtered and pooled within each sentence, and sentences with blocks of
    their own after that: attention along every axis of an order-3 input, none of which is flattened.

    Differs from the paper: it states neither residual, norm, pooling, dropout nor positions.

    Shape:
        Ids `(batch, words)`, or `(batch, sentences, words)`, 0 where a sentence or a text has ended; output
        `(batch, num_classes)`.
    """

    def __init__(self, config: TGATextClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = _embedding(config)
        places = torch.empty(config.num_tokens, config.dim) if config.positions == "learnt" else None
        self.positions = None if places is None else torch_nn.Parameter(torch_nn.init.normal_(places, std=0.02))
        self.axes = torch_nn.ModuleList(
            torch_nn.ModuleList(AttentionBlock(config) for _ in range(config.num_blocks))
            for _ in range(config.num_axes)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.head = torch_nn.Linear(config.dim, config.num_classes)

    @property
    def attention_parameters(self) -> int:
        """Trained numbers of all attention layers, which is what figure 2 counts."""
        blocks = (block for axis in range(len(self.axes)) for block in self.blocks_of(axis))
        return sum(parameter.numel() for block in blocks for parameter in block.attention.parameters())

    def blocks_of(self, axis: int) -> list[AttentionBlock]:
        """The blocks of an axis, words first."""
        return list(self.axes[axis])  # type: ignore[call-overload,no-any-return]  # a list of blocks

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the classes."""
        x, keep = self.embedded(ids)
        for axis in range(len(self.axes)):
            for block in self.blocks_of(axis):
                x = block(x, keep)
            x, keep = masked_mean(x, keep), keep.any(-1)
        out: Tensor = self.head(self.dropout(x))
        return out

    @property
    def has_graphs(self) -> bool:
        """Whether words are filtered on a graph."""
        return self.config.attention.kind == "graph" and self.config.num_blocks > 0

    @property
    def by_degree(self) -> bool:
        """Whether filters are divided by the degrees of their graphs."""
        return self.config.attention.preset != "paper"

    @torch.no_grad()
    def graphs(self, ids: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Of each block over the words of one text, the graph of every head and the values that it filters.

        Args:
            ids: `(words,)`.

        Yields:
            `(heads, words, words)` and `(heads, words, features)`.
        """
        x, keep = self.embedded(ids[None])
        for block in self.blocks_of(0):
            words = x[0, keep[0]]
            assert isinstance(block.attention, nn.TensorGraphAttention)
            _, graph = block.attention.forward_with_maps(words)
            yield graph, torch.stack([head(words) for head in block.attention.values])
            x = block(x, keep)

    def embedded(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Word vectors `(..., words, dim)`, and which words are there; columns that no text reaches are cut."""
        config = self.config
        if ids.ndim != config.num_axes + 1 or ids.shape[-1] > config.num_tokens:
            axes = "(batch, words)" if config.num_axes == 1 else "(batch, sentences, words)"
            raise ShapeError(
                f"TGATextClassifier: ids must be {axes}, of at most {config.num_tokens} words. Got {tuple(ids.shape)}."
            )
        ids = without_tail(ids)
        vectors: Tensor = self.embedding(ids)
        placed = vectors if self.positions is None else vectors + self.positions[: ids.shape[-1]]
        keep = ids > 0
        return self.dropout(placed) * keep[..., None], keep


def _embedding(config: TGATextClassifierConfig) -> torch_nn.Module:
    if config.embedding.layer == "tensor_train":
        options: dict[str, Any] = {"tt_ranks": config.embedding.rank, "padding_idx": 0, "deviation": START}
        return nn.TTEmbedding(config.num_words, config.embedding_sizes, **options)
    table = torch_nn.Embedding(config.num_words, config.dim, padding_idx=0)
    torch_nn.init.normal_(table.weight, std=START)
    with torch.no_grad():
        table.weight[0] = 0
    return table


register("tga_text_classifier", TGATextClassifier)
