"""Transformer forecasters of the literature: iTransformer (Liu et al. 2024) and PatchTST (Nie et al. 2023)."""

from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock
from multiway.models.windows import WindowSizes, by_mean, read_past


class TokenSizes(WindowSizes):
    """Sizes of transformer blocks over tokens; those of the authors' script of iTransformer for ETTh1 if not given."""

    dim: int = Field(256, gt=0)
    """Features of a token (papers: D)."""
    num_heads: int = Field(8, gt=0)
    """Of the attention over tokens (PatchTST: H)."""
    num_blocks: int = Field(2, ge=0)
    """Attention blocks (iTransformer: L)."""
    hidden: int = Field(256, gt=0)
    """Features between the two maps of a feed-forward (PatchTST: F)."""
    dropout: float = Field(0.1, ge=0.0, lt=1.0)

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.dim % self.num_heads:
            raise ValueError(f"num_heads must divide dim. Got num_heads={self.num_heads}, dim={self.dim}")
        return self

    @property
    def block(self) -> BlockChoice:
        """What a block is made of."""
        feed_forward = FeedForwardConfig(hidden=(self.hidden,))
        return BlockChoice(num_heads=self.num_heads, feed_forward=feed_forward, dropout=self.dropout)


class ITransformerConfig(TokenSizes):
    """Sizes of an `ITransformer`: the look-back of each series is one token."""


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
        self.embedding = torch_nn.Linear(config.lookback, config.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = torch_nn.ModuleList(TransformerBlock(config.dim, config.block) for _ in range(config.num_blocks))
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


class PatchTSTConfig(TokenSizes):
    """Sizes of a `PatchTST`; those of appendix A.1.4 for all but the small data sets if not given."""

    patch_length: int = Field(16, gt=0)
    """Time steps per token (paper: P)."""
    stride: int = Field(8, gt=0)
    """Steps from one patch to the next (paper: S); so often is the last value repeated at the end."""
    dim: int = Field(128, gt=0)
    num_heads: int = Field(16, gt=0)
    num_blocks: int = Field(3, ge=0)
    norm: Literal["batch", "layer"] = "layer"
    """Over the values of a batch, as the paper's, or of a token alone."""
    dropout: float = Field(0.2, ge=0.0, lt=1.0)

    @classmethod
    def paper(cls) -> dict[str, Any]:
        """Fields of the published network: 1.5M parameters with a head of 720 steps (HOT, table 1)."""
        return {"norm": "batch"}

    @classmethod
    def small(cls) -> dict[str, Any]:
        """Fields of the published network for ETTh1 and ETTh2 (appendix A.1.4); the dropout is that of its scripts."""
        return {**cls.paper(), "dim": 16, "num_heads": 4, "hidden": 128, "dropout": 0.3}

    @property
    def num_patches(self) -> int:
        """Tokens of a series: ⌊(L - P) / S⌋ + 2."""
        return (self.lookback - self.patch_length) // self.stride + 2

    @model_validator(mode="after")
    def _patches_fit(self) -> Self:
        if self.patch_length > self.lookback:
            raise ValueError(
                f"lookback must be patch_length or more. Got lookback={self.lookback}, patch_length={self.patch_length}"
            )
        return self


class PatchTST(torch_nn.Module):
    r"""Patches of a series as tokens, the same weights for every series, and one linear map of all its tokens.

    With x a series freed of its window's mean and deviation, and x_p its patches:

    $$t_p = W x_p + b + w_p, \qquad y = W_h \,\mathrm{flatten}\, \mathrm{Blocks}(t) + b_h$$

    Section 3.1. Blocks are normalised after each sum, with GELU between the maps of the feed-forward.

    Differs from the paper: a norm over the features of each token, so that in training too a forecast depends on its
    window alone; `norm="batch"` is the paper's. Its code adds the scores of the block before to those of each
    attention, which the text does not mention and is left out here. Dropout also acts on attention maps.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean; forecast `(batch, horizon, variates)`.
    """

    def __init__(self, config: PatchTSTConfig) -> None:
        super().__init__()
        self.config = config
        dim = config.dim
        make_norm = _TokenBatchNorm if config.norm == "batch" else torch_nn.LayerNorm
        self.embedding = torch_nn.Linear(config.patch_length, dim)
        self.positions = torch_nn.Parameter(torch.empty(config.num_patches, dim).uniform_(-0.02, 0.02))
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = torch_nn.Sequential(
            *(TransformerBlock(dim, config.block, make_norm=make_norm) for _ in range(config.num_blocks))
        )
        self.head = nn.FlattenHead(dim, config.num_patches, config.horizon)

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        normal = by_mean(read_past("PatchTST", past, past_observed, self.config), past_observed, None)
        longer = F.pad(normal.steps.transpose(1, 2), (0, self.config.stride), mode="replicate")
        patches = longer.unfold(-1, self.config.patch_length, self.config.stride)  # (batch, variates, patches, steps)
        tokens = self.dropout(self.embedding(patches) + self.positions)
        seen = self.blocks(tokens.flatten(0, 1)).unflatten(0, tokens.shape[:2])
        forecast: Tensor = self.head(seen).transpose(1, 2) * normal.scale + normal.centre
        return forecast


class _TokenBatchNorm(torch_nn.BatchNorm1d):
    """Each feature over all tokens of a batch, `(batch, tokens, dim)`."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.flatten(0, 1)).view_as(input)
