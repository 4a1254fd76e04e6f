"""iTransformer (Liu et al. 2024): the look-back of each series as one token, attention over series."""

from typing import Self

from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock
from multiway.models.windows import WindowSizes, by_mean, read_past


class ITransformerConfig(WindowSizes):
    """Sizes of an `ITransformer`; those of the authors' script for ETTh1 at 96 and 192 steps if not given."""

    dim: int = Field(256, gt=0)
    """Features of a token (paper: D)."""
    num_heads: int = Field(8, gt=0)
    """Of the attention over series."""
    num_blocks: int = Field(2, ge=0)
    """Attention blocks (paper: L)."""
    hidden: int = Field(256, gt=0)
    """Features between the two maps of a feed-forward."""
    dropout: float = Field(0.1, ge=0.0, lt=1.0)

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.dim % self.num_heads:
            raise ValueError(f"num_heads must divide dim. Got num_heads={self.num_heads}, dim={self.dim}")
        return self


class ITransformer(torch_nn.Module):
    r"""Whole series as tokens through transformer blocks, then one linear map to the horizon.

    With x_n a series freed of its window's mean and deviation:

    $$t_n = W x_n + b, \qquad y_n = W_h \,\mathrm{LN}\, \mathrm{Blocks}(t)_n + b_h$$

    Section 3.1 and algorithm 1. Blocks are normalised after each sum, with GELU between the maps of the feed-forward.

    Differs from the authors' code: calendar features, which may be further tokens there, are left out. A series without
    a value in a window is looked at by none.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean; forecast `(batch, horizon, variates)`.
    """

    def __init__(self, config: ITransformerConfig) -> None:
        super().__init__()
        self.config = config
        choice = BlockChoice(
            num_heads=config.num_heads, feed_forward=FeedForwardConfig(hidden=(config.hidden,)), dropout=config.dropout
        )
        self.embedding = torch_nn.Linear(config.lookback, config.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = torch_nn.ModuleList(TransformerBlock(config.dim, choice) for _ in range(config.num_blocks))
        self.norm = torch_nn.LayerNorm(config.dim)
        self.head = torch_nn.Linear(config.dim, config.horizon)

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        normal = by_mean(read_past("ITransformer", past, past_observed, self.config), past_observed, None)
        tokens = self.dropout(self.embedding(normal.steps.transpose(1, 2)))
        seen = None if past_observed is None else past_observed.any(1)
        for block in self.blocks:
            tokens = block(tokens, seen)
        forecast: Tensor = self.head(self.norm(tokens)).transpose(1, 2) * normal.scale + normal.centre
        return forecast
