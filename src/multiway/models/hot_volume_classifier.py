"""HOT classifier of volumes: convolutional stem, Kronecker attention over three modes (HOT sec. 5.2, app. C.2)."""

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.models.blocks import (
    BlockConfig,
    VolumeSizes,
    build_block,
    check_attended,
    check_sizes,
    checkpoint_part,
    need_maps,
    with_maps,
)
from multiway.models.registry import register

NUM_MODES = 3
STRIDE = 4


class HOTVolumeClassifierConfig(VolumeSizes, BlockConfig):
    """Everything needed to rebuild a `HOTVolumeClassifier`; saved inside each run."""

    dim: int = Field(96, gt=0)
    """Features per token."""
    num_blocks: int = Field(2, ge=0)
    """Attention blocks, one after another."""
    kernel_size: Literal[3, 5, 7] = 3
    """Side of the stem's convolutions, in voxels."""
    stem_channels: int = Field(32, gt=0)
    """Features between the two convolutions of the stem."""
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    """Share of each block's attention and SwiGLU outputs, and of the head's features, dropped in training."""
    pooling: Literal["mean", "flatten"] = "mean"
    """How the tokens become the head's input."""
    attended_modes: tuple[int, ...] = (0, 1, 2)
    """Modes with an attention factor; () leaves value and output projections only (HOT table 4)."""
    checkpoint: bool = False
    """Recompute activations in the backward pass instead of keeping them: less memory, a third more time."""

    @property
    def token_sizes(self) -> tuple[int, ...]:
        """Tokens along each mode."""
        return tuple(-(-size // STRIDE) for size in self.sizes)

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        self.check_heads(num_ordered=NUM_MODES)
        check_attended(self.attended_modes, NUM_MODES)
        return self


class HOTVolumeClassifier(torch_nn.Module):
    """Class logits of a volume: tokens of 4 × 4 × 4 voxels, blocks of Kronecker attention, a linear head.

    Differs from the paper, which leaves the stem open: two convolutions of stride 2 with group normalisation. A
    sample's logits depend on that sample alone.

    Shape:
        Input `(batch, in_channels, *sizes)`; output `(batch, num_classes)`.
    """

    stride = STRIDE
    """Voxels per token, along every mode."""

    def __init__(self, config: HOTVolumeClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.stem = nn.ConvStem(config.in_channels, (config.stem_channels, config.dim), kernel_size=config.kernel_size)
        self.blocks = torch_nn.ModuleList(
            build_block(config, num_modes=NUM_MODES, ordered_modes=range(NUM_MODES)) for _ in range(config.num_blocks)
        )
        self.norm = nn.make_norm(config.norm, config.dim)
        tokens = torch.Size(config.token_sizes).numel() if config.pooling == "flatten" else 1
        self.dropout = nn.Dropout(config.dropout)
        self.head = torch_nn.Linear(config.dim * tokens, config.num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Class logits."""
        return self.classify(self.forward_features(x))

    def forward_features(self, x: Tensor) -> Tensor:
        """Tokens before the head, `(batch, *token_sizes, dim)`."""
        tokens = self._embed(x)
        for block in self.blocks:
            tokens = self._run_saving_memory(block, tokens)
        normed: Tensor = self.norm(tokens)
        return normed

    def forward_with_maps(self, x: Tensor) -> tuple[Tensor, list[list[Tensor]]]:
        """Class logits, and for each block one `(batch, heads, size, size)` map per mode, rows summing to one.

        Raises:
            ConfigError: There is no attention, or it is full and has no map per mode.
        """
        need_maps(self, self.config)
        tokens, maps = with_maps(self.blocks, self._embed(x))
        return self.classify(self.norm(tokens)), maps

    def classify(self, features: Tensor) -> Tensor:
        """Logits of what `forward_features` returns."""
        pooled = features.flatten(1) if self.config.pooling == "flatten" else features.mean((1, 2, 3))
        logits: Tensor = self.head(self.dropout(pooled))
        return logits

    def _embed(self, x: Tensor) -> Tensor:
        check_sizes("HOTVolumeClassifier", x, (self.config.in_channels, *self.config.sizes))
        return self._run_saving_memory(self.stem, x)

    def _run_saving_memory(self, part: torch_nn.Module, x: Tensor) -> Tensor:
        return checkpoint_part(part, x, when=self.config.checkpoint and self.training)


register("hot_volume_classifier", HOTVolumeClassifier)
