"""The transformer of NdLinear's experiments on classes of series (section 4.2.2, table 6)."""

import math
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.config import Config
from multiway.errors import ShapeError
from multiway.models.blocks import Activation
from multiway.models.choices import AttentionConfig, LayerName
from multiway.models.registry import register
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock


class SeriesClassifierConfig(Config):
    """Everything needed to rebuild a `SeriesClassifier`; saved inside each run."""

    variates: int = Field(gt=0)
    """Numbers at each step."""
    num_classes: int = Field(gt=0)
    """Outputs; the published counts have one more than there are classes."""
    dim: int = Field(32, gt=0)
    """Features of a step (paper: d)."""
    num_heads: int = Field(4, gt=0)
    """Of the attention over steps; not stated in print, and no parameter depends on it."""
    num_blocks: int = Field(1, gt=0)
    layer: LayerName = "nd_linear"
    """Maps of the feed-forward."""
    sizes: tuple[int, ...] | None = Field(None, min_length=1)
    """Axes that the features are taken as by these maps; (dim, 1) for nd_linear, two like factors for tensor_train."""
    hidden: tuple[int, ...] | None = Field(None, min_length=1)
    """Axes between the two maps: (dim, k) for nd_linear, (4 dim,) for linear, if not given with k = dim."""
    rank: int | None = Field(None, gt=0)
    """Of tensor_train and low_rank."""
    attention: AttentionConfig | None = None
    """Another attention over steps than the usual one, such as a tensorized graph attention."""
    positions: Literal["sinusoidal", "none"] = "sinusoidal"
    """What tells steps apart: sines and cosines of the step are added to its features, or nothing."""
    pooling: Literal["mean", "max"] = "mean"
    """How steps become one row of features."""
    norm_first: bool = False
    activation: Activation = "relu"
    dropout: float = Field(0.1, ge=0.0, lt=1.0)

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.dim % self.num_heads:
            raise ValueError(f"num_heads must divide dim. Got num_heads={self.num_heads}, dim={self.dim}")
        self.block().feed_forward.sizes_of(self.dim)
        return self

    def block(self) -> BlockChoice:
        """What each block is made of."""
        sizes, hidden = _usual_axes(self.layer, self.dim)
        forward = FeedForwardConfig(
            layer=self.layer, sizes=self.sizes or sizes, hidden=self.hidden or hidden, rank=self.rank
        )
        return BlockChoice(
            num_heads=self.num_heads,
            feed_forward=forward,
            norm_first=self.norm_first,
            activation=self.activation,
            dropout=self.dropout,
            attention=self.attention,
        )


class SeriesClassifier(torch_nn.Module):
    r"""Steps as tokens through transformer blocks, pooled over the observed ones, and a linear head.

    $$t_i = W x_i + b + p_i, \qquad y = W_h \,\mathrm{pool}_i\, \mathrm{Block}(t)_i + b_h$$

    NdLinear, section 4.2.2. A step is observed where any of its variates is not NaN; a missing variate of an observed
    step counts as 0, the mean after scaling. Other steps are looked at by none and pooled by none, so that padding
    changes nothing.

    Differs from the paper: it states neither positions nor pooling nor heads; sines, the mean and 4 heads are ours, and
    leave its parameter counts as they are.

    Shape:
        Input `(batch, steps, variates)`, NaN where missing or padded; output `(batch, num_classes)`.
    """

    def __init__(self, config: SeriesClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = torch_nn.Linear(config.variates, config.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = torch_nn.ModuleList(
            TransformerBlock(config.dim, config.block()) for _ in range(config.num_blocks)
        )
        self.head = torch_nn.Linear(config.dim, config.num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of classes."""
        if x.ndim != 3 or x.shape[-1] != self.config.variates:
            raise ShapeError(
                f"SeriesClassifier: x must be (batch, steps, {self.config.variates}). Got {tuple(x.shape)}. Batch "
                f"first, then steps, then variates."
            )
        observed = ~x.isnan()
        tokens, keep = self._tokens(torch.where(observed, x, 0.0)), observed.any(-1)
        for block in self.blocks:
            tokens = block(tokens, keep)
        out: Tensor = self.head(self._pool(tokens, keep))
        return out

    def _tokens(self, x: Tensor) -> Tensor:
        tokens = self.embed(x)
        if self.config.positions == "sinusoidal":
            tokens = tokens + sinusoids(x.shape[1], self.config.dim).to(tokens)
        out: Tensor = self.dropout(tokens)
        return out

    def _pool(self, tokens: Tensor, keep: Tensor) -> Tensor:
        """Mean or maximum over the observed steps; zeros where there are none."""
        if self.config.pooling == "max":
            lowest = torch.finfo(tokens.dtype).min
            largest: Tensor = tokens.masked_fill(~keep[..., None], lowest).amax(1)
            return largest * keep.any(1, keepdim=True)
        total: Tensor = (tokens * keep[..., None]).sum(1)
        return total / keep.sum(1, keepdim=True).clamp_min(1)


def sinusoids(steps: int, dim: int) -> Tensor:
    """Sines and cosines `(steps, dim)` of wave lengths from 2π to 20,000π (Vaswani et al. 2017, section 3.5)."""
    waves = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64) * (-math.log(10_000) / dim))
    angles = torch.arange(steps, dtype=torch.float64)[:, None] * waves
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :dim]


def _usual_axes(layer: LayerName, dim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Axes of the features and between the maps, where none are given."""
    if layer == "nd_linear":
        return (dim, 1), (dim, dim)
    if layer == "tensor_train":
        first = max(divisor for divisor in range(1, math.isqrt(dim) + 1) if dim % divisor == 0)
        return (first, dim // first), (2 * first, 2 * dim // first)
    return (dim,), (4 * dim,)


register("series_classifier", SeriesClassifier)
