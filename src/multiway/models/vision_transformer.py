"""The vision transformer of NdLinear's distillation (section 4.2.3, table 7), with every place for its layer."""

from typing import Any, Literal, Self

import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn
from multiway.config import Config, merge
from multiway.models.blocks import check_sizes
from multiway.models.choices import LayerName, build_layer, check_rank
from multiway.models.registry import register
from multiway.models.transformer import BlockChoice, FeedForward, TransformerBlock

USUAL_BLOCK: dict[str, Any] = {"norm_first": True, "feed_forward": {"hidden": (128,)}}


class VisionTransformerConfig(Config):
    """Everything needed to rebuild a `VisionTransformer`; saved inside each run."""

    sizes: tuple[int, int] = (32, 32)
    """Height and width in pixels."""
    in_channels: int = Field(3, gt=0)
    """Values per pixel."""
    num_classes: int = Field(10, ge=2)
    resize: int | None = Field(None, gt=0)
    """Height and width that images are brought to before they are cut; as they are if not given."""
    patch_size: int = Field(4, gt=0)
    """Height and width of a patch."""
    patches: LayerName = "linear"
    """Map of a patch, height by width by channels, to its token (NdLinear, section 3.1)."""
    patches_rank: int | None = Field(None, gt=0)
    dim: int = Field(64, gt=0)
    """Features of a token."""
    num_blocks: int = Field(4, ge=0)
    block: BlockChoice = BlockChoice.parse(USUAL_BLOCK)
    """Norms stand first unless given."""
    mixing: Literal["features", "tokens"] = "features"
    """Feed-forward of each token apart, or of tokens by features at once (section 3.1)."""
    pooling: Literal["class_token", "mean", "grid"] = "class_token"
    """What the head sees: a token of its own, the mean of all, or all of them as rows by columns by features."""
    embedding_dropout: float = Field(0.0, ge=0.0, lt=1.0)
    """Share of the tokens' features set to zero in training, before the first block."""
    distill_token: bool = False
    """In training a token more, with a head of its own that learns from a teacher; there is none in answers."""
    head: LayerName = "linear"
    """Map to the classes; for the grid (rows, columns, dim) to (1, 1, classes) (section 3.4)."""
    head_rank: int | None = Field(None, gt=0)

    @property
    def grid(self) -> tuple[int, int]:
        """Patches down and across."""
        height, width = (self.resize or size for size in self.sizes)
        return height // self.patch_size, width // self.patch_size

    @property
    def num_tokens(self) -> int:
        """Patches, and the class token where there is one."""
        return self.grid[0] * self.grid[1] + (self.pooling == "class_token")

    @field_validator("block", mode="before")
    @classmethod
    def _block_starts_from_the_usual(cls, given: Any) -> Any:
        return merge(USUAL_BLOCK, given) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _patches_fit(self) -> Self:
        sizes = [self.resize or size for size in self.sizes]
        if any(size % self.patch_size for size in sizes):
            shown = " x ".join(map(str, sizes))
            raise ValueError(f"patch_size must divide height and width of an image, {shown}. Got {self.patch_size}")
        return self

    @model_validator(mode="after")
    def _block_fits(self) -> Self:
        block, feed_forward = self.block, self.block.feed_forward
        if block.causal:
            raise ValueError("block.causal is for texts; patches see each other in all directions")
        if block.head_dim is None and self.dim % block.num_heads:
            raise ValueError(f"dim must be a multiple of block.num_heads. Got {self.dim} and {block.num_heads}")
        if self.mixing == "features":
            feed_forward.sizes_of(self.dim)
        elif feed_forward.sizes is not None:
            raise ValueError(
                f"block.feed_forward.sizes are tokens by features with mixing tokens. Got {feed_forward.sizes}"
            )
        return self

    @model_validator(mode="after")
    def _token_fits(self) -> Self:
        if self.distill_token and (self.pooling, self.mixing) != ("class_token", "features"):
            raise ValueError(
                "distill_token needs a class token, and no layer mixes a fixed number of tokens. "
                f"Got pooling {self.pooling} and mixing {self.mixing}"
            )
        return self

    @model_validator(mode="after")
    def _ranks_fit(self) -> Self:
        for name in ("patches", "head"):
            check_rank(getattr(self, name), getattr(self, f"{name}_rank"), f"{name}_rank")
        return self


class VisionTransformer(torch_nn.Module):
    r"""Patches as tokens with learnt places, transformer blocks, and a linear head.

    $$Z_0 = \mathrm{LN}(\mathrm{Map}(\mathrm{LN}(\mathrm{patches}))) + P, \qquad
    Z_{l+1} = \mathrm{Block}_l(Z_l), \qquad y = \mathrm{Head}(\mathrm{pool}(\mathrm{LN}(Z_L)))$$

    NdLinear, sections 3.1 and 4.2.3. Its layer is a choice for patches, feed-forward, the projection after the
    attention and the head; `mixing="tokens"` maps tokens by features, (L, d) to (L, d), in place of each token apart.

    Differs from the paper: it prints widths and numbers of blocks alone. The rest is that of its parameter counts:
    norms around the patches, 8 heads of 64 features and biases; dropout and the token that learns from a teacher are
    those of its public code, `vit/vit.py`.

    Shape:
        `(batch, in_channels, *sizes)`, or resized before, to `(batch, num_classes)`; in training with `distill_token` a
        pair of them, what the labels teach and what the teacher does.
    """

    def __init__(self, config: VisionTransformerConfig) -> None:
        super().__init__()
        self.config = config
        patch, dim = (config.patch_size, config.patch_size, config.in_channels), config.dim
        self.patch_norm = torch_nn.LayerNorm(patch[0] * patch[1] * patch[2])
        self.patches = build_layer(config.patches, patch, (1, 1, dim), rank=config.patches_rank)
        self.token_norm = torch_nn.LayerNorm(dim)
        self.class_token = torch_nn.Parameter(torch.empty(dim)) if config.pooling == "class_token" else None
        self.places = torch_nn.Parameter(torch.empty(config.num_tokens, dim))
        self.distill_token = torch_nn.Parameter(torch.empty(dim)) if config.distill_token else None
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.blocks = torch_nn.ModuleList(_block(config) for _ in range(config.num_blocks))
        self.norm = torch_nn.LayerNorm(dim)
        seen = (*config.grid, config.dim) if config.pooling == "grid" else (config.dim,)
        classes = (*[1] * (len(seen) - 1), config.num_classes)
        self.head = build_layer(config.head, seen, classes, rank=config.head_rank)
        self.distill_head = torch_nn.Linear(dim, config.num_classes) if config.distill_token else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw places and tokens normal with deviation 0.02; layers have drawn their own."""
        for parameter in (self.places, self.class_token, self.distill_token):
            if parameter is not None:
                torch_nn.init.normal_(parameter, std=0.02)

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Logits of classes; in training with a token for the teacher, those of both heads."""
        config = self.config
        if tuple(x.shape[1:]) != (config.in_channels, config.resize, config.resize):
            check_sizes("VisionTransformer", x, (config.in_channels, *config.sizes))
            x = x if config.resize is None else at_side(x, config.resize)
        tokens = self._tokens(x)
        token = self.distill_token if self.training else None
        if token is not None:
            tokens = torch.cat([tokens, token.expand(len(tokens), 1, -1)], dim=1)
        tokens = self.dropout(tokens)
        for block in self.blocks:
            tokens = block(tokens)
        tokens = self.norm(tokens)
        out: Tensor = self.head(self._pool(tokens)).flatten(1)
        return out if token is None or self.distill_head is None else (out, self.distill_head(tokens[:, -1]))

    def _tokens(self, x: Tensor) -> Tensor:
        patches = image_patches(x, self.config.patch_size)  # (batch, patches, rows, columns, channels)
        normed = self.patch_norm(patches.flatten(2)).unflatten(2, patches.shape[2:])
        tokens = self.token_norm(self.patches(normed).flatten(2))
        if self.class_token is not None:
            tokens = F.pad(tokens, (0, 0, 1, 0)) + F.pad(self.class_token[None], (0, 0, 0, tokens.shape[1]))
        placed: Tensor = tokens + self.places
        return placed

    def _pool(self, tokens: Tensor) -> Tensor:
        if self.config.pooling == "class_token":
            return tokens[:, 0]
        pooled: Tensor = tokens.mean(1) if self.config.pooling == "mean" else tokens.unflatten(1, self.config.grid)
        return pooled


class TokenMixing(torch_nn.Module):
    """A feed-forward over tokens by features, (L, d), at once (NdLinear, section 3.1).

    Shape:
        `(batch, num_tokens, dim)`, in and out.
    """

    def __init__(self, num_tokens: int, dim: int, choice: BlockChoice) -> None:
        super().__init__()
        both = choice.feed_forward.replace(sizes=(num_tokens, dim))
        self.mix = FeedForward(num_tokens * dim, both, choice.activation, choice.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Mix tokens and features."""
        out: Tensor = self.mix(x.flatten(1)).view_as(x)
        return out


def at_side(x: Tensor, size: int) -> Tensor:
    """Images `(batch, channels, height, width)` brought to one height and width, interpolated."""
    return F.interpolate(x, (size, size), mode="bilinear")


def image_patches(x: Tensor, size: int) -> Tensor:
    """Images `(batch, channels, height, width)` as patches `(batch, patches, rows, columns, channels)`, row by row."""
    grid: Tensor = x.unflatten(3, (-1, size)).unflatten(2, (-1, size))  # (batch, channels, down, rows, across, columns)
    return grid.permute(0, 2, 4, 3, 5, 1).flatten(1, 2)


def _block(config: VisionTransformerConfig) -> TransformerBlock:
    if config.mixing == "features":
        return TransformerBlock(config.dim, config.block)
    mixing = TokenMixing(config.num_tokens, config.dim, config.block)
    return TransformerBlock(config.dim, config.block, feed_forward=mixing)


register("vision_transformer", VisionTransformer)
