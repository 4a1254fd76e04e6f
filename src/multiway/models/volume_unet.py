"""U-Nets of volumes with Kronecker attention at the coarser levels, and plain ones of equal size (HOT sec. 6)."""

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.errors import ConfigError, ShapeError
from multiway.models.blocks import AttentionChoice, check_attended, checkpoint_part, with_maps
from multiway.models.registry import register

KERNEL_SIZE = 3


class VolumeUNetConfig(AttentionChoice):
    """Everything needed to rebuild a `VolumeUNet`; saved inside each run."""

    in_channels: int = Field(1, gt=0)
    """Values per voxel."""
    num_classes: int = Field(2, ge=2)
    """Classes of a voxel, the background being one."""
    num_modes: Literal[2, 3] = 3
    """Modes of the input: 3 for volumes, 2 for images."""
    channels: tuple[int, ...] = (16, 32, 64)
    """Features of each level; every level halves the one before."""
    num_blocks: tuple[int, ...] = (0, 1, 2)
    """Blocks of each level after its convolutions."""
    block: Literal["attention", "convolution"] = "attention"
    """Blocks of Kronecker attention, or two convolutions with as many parameters in the place of each."""
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    """Share of the coarsest level's features, and of each attention block's branches, dropped in training."""
    attended_modes: tuple[int, ...] | None = None
    """Modes with an attention factor, all if not given; () leaves value and output projections only."""
    checkpoint: bool = False
    """Recompute each level's activations in the backward pass instead of keeping them."""

    @property
    def stride(self) -> int:
        """Voxels per token of the coarsest level; it must divide every size."""
        return int(2 ** (len(self.channels) - 1))

    @model_validator(mode="after")
    def _levels_fit(self) -> Self:
        if not self.channels or min(self.channels) < 1 or len(self.num_blocks) != len(self.channels):
            raise ValueError(
                f"channels and num_blocks need one number per level. "
                f"Got channels={self.channels}, num_blocks={self.num_blocks}."
            )
        if min(self.num_blocks) < 0:
            raise ValueError(f"num_blocks counts from 0. Got {self.num_blocks}.")
        attended = [width for width, count in zip(self.channels, self.num_blocks, strict=True) if count]
        if any(width % (2 * self.num_heads) for width in attended):
            raise ValueError(
                f"channels of a level with blocks must be an even multiple of num_heads, as rotary turns pairs of "
                f"features. Got channels={self.channels}, num_blocks={self.num_blocks}, num_heads={self.num_heads}."
            )
        if self.attended_modes is not None:
            check_attended(self.attended_modes, self.num_modes)
        return self


class VolumeUNet(torch_nn.Module):
    """Class logits of every voxel: an encoder that halves, a decoder that doubles, and skips between the two.

    Each level is two convolutions and a shortcut, then its blocks. Their tokens are the level's own voxels, so
    attention over a level of n³ voxels costs three maps of n × n a head. Group normalisation throughout: a
    sample's logits depend on that sample alone.

    With `block="convolution"` every block of attention gives way to two convolutions whose hidden width makes the
    parameters equal, to half of one such channel: what the attention does is then not a matter of size.

    The paper names Attention U-Net as future work and prints no architecture.

    Shape:
        Input `(batch, in_channels, *sizes)`, each size a multiple of `config.stride`; output
        `(batch, num_classes, *sizes)`.
    """

    def __init__(self, config: VolumeUNetConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = torch_nn.ModuleList(_build_level(config, level) for level in range(len(config.channels)))
        self.decoder = torch_nn.ModuleList(_Up(config, level) for level in range(len(config.channels) - 1))
        self.dropout = nn.Dropout(config.dropout)
        self.head = nn.make_convolution(config.num_modes, config.channels[0], config.num_classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Class logits of every voxel."""
        self._check(x)
        levels: list[Tensor] = []
        for level in self.encoder:
            x = self._run_saving_memory(level, x)
            levels.append(x)
        return self._decode(levels)

    def forward_with_maps(self, x: Tensor) -> tuple[Tensor, list[list[Tensor]]]:
        """Class logits, and for each block, finest level first, one `(batch, heads, size, size)` map per mode.

        Raises:
            ShapeError: As for `forward`.
            ConfigError: The blocks are convolutions.
        """
        if self.config.block != "attention":
            raise ConfigError(
                f"VolumeUNet: maps per mode exist only where block is 'attention'. Got block={self.config.block!r}. "
                "Build the model with that."
            )
        self._check(x)
        levels: list[Tensor] = []
        maps: list[list[Tensor]] = []
        for level in self.encoder:
            x, level_maps = level.forward_with_maps(x)  # type: ignore[operator]  # ModuleList forgets the class
            levels.append(x)
            maps += level_maps
        return self._decode(levels), maps

    def _decode(self, levels: list[Tensor]) -> Tensor:
        x = self.dropout(levels[-1])
        for up, skip in zip(reversed(self.decoder), reversed(levels[:-1]), strict=True):
            x = self._run_saving_memory(up, x, skip)
        logits: Tensor = self.head(x)
        return logits

    def _run_saving_memory(self, part: torch_nn.Module, *inputs: Tensor) -> Tensor:
        return checkpoint_part(part, *inputs, when=self.config.checkpoint and self.training)

    def _check(self, x: Tensor) -> None:
        config = self.config
        if x.ndim != config.num_modes + 2 or x.shape[1] != config.in_channels:
            raise ShapeError(
                f"VolumeUNet: x must be (batch, channels, *sizes) with {config.in_channels} channels and "
                f"{config.num_modes} sizes. Got {tuple(x.shape)}. Batch first, then channels."
            )
        if any(size % config.stride or size == 0 for size in x.shape[2:]):
            raise ShapeError(
                f"VolumeUNet: every size must be a multiple of {config.stride}, the stride of the coarsest level. Got "
                f"{tuple(x.shape[2:])}. Crop or pad, or predict by windows with `sliding_window`."
            )


class _Level(torch_nn.Module):
    """Halve unless it is the first, convolve, run the blocks."""

    def __init__(self, entry: torch_nn.Module, blocks: list[torch_nn.Module]) -> None:
        super().__init__()
        self.entry = entry
        self.blocks = torch_nn.ModuleList(blocks)

    def forward(self, x: Tensor) -> Tensor:
        x = self.entry(x)
        for block in self.blocks:
            x = block(x)
        return x

    def forward_with_maps(self, x: Tensor) -> tuple[Tensor, list[list[Tensor]]]:
        return with_maps(self.blocks, self.entry(x))


class _Attend(torch_nn.Module):
    """A HOT block for features that stand before the modes."""

    def __init__(self, config: VolumeUNetConfig, dim: int) -> None:
        super().__init__()
        self.block = config.kronecker_block(dim, config.num_modes, config.attended_modes)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.block(x.movedim(1, -1))
        return out.movedim(-1, 1)

    def forward_with_maps(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        out, maps = self.block.forward_with_maps(x.movedim(1, -1))
        return out.movedim(-1, 1), maps


class _Up(torch_nn.Module):
    """Double the coarser level, concatenate the finer one, convolve."""

    def __init__(self, config: VolumeUNetConfig, level: int) -> None:
        super().__init__()
        narrow, wide = config.channels[level : level + 2]
        self.up = nn.make_convolution(config.num_modes, wide, narrow, 2, stride=2, transposed=True)
        self.convolve = nn.ConvBlock(2 * narrow, narrow, num_modes=config.num_modes, kernel_size=KERNEL_SIZE)

    def forward(self, coarse: Tensor, skip: Tensor) -> Tensor:
        out: Tensor = self.convolve(torch.cat([self.up(coarse), skip], dim=1))
        return out


def _build_level(config: VolumeUNetConfig, level: int) -> _Level:
    wide = config.channels[level]
    first = config.in_channels if level == 0 else wide
    entry: torch_nn.Module = nn.ConvBlock(first, wide, num_modes=config.num_modes, kernel_size=KERNEL_SIZE)
    if level > 0:
        down = nn.make_convolution(config.num_modes, config.channels[level - 1], wide, 2, stride=2)
        entry = torch_nn.Sequential(down, entry)
    return _Level(entry, [_build_block(config, wide) for _ in range(config.num_blocks[level])])


def _build_block(config: VolumeUNetConfig, dim: int) -> torch_nn.Module:
    if config.block == "attention":
        return _Attend(config, dim)
    hidden = equal_width(config, dim)
    return nn.ConvBlock(dim, dim, num_modes=config.num_modes, hidden_channels=hidden, kernel_size=KERNEL_SIZE)


def equal_width(config: VolumeUNetConfig, dim: int) -> int:
    """Hidden width of two convolutions with as many parameters as one block of attention at `dim` features."""
    with torch.device("meta"):
        block = config.kronecker_block(dim, config.num_modes, config.attended_modes)
        target = sum(parameter.numel() for parameter in block.parameters())
    voxels: int = KERNEL_SIZE**config.num_modes
    per_channel = 2 * dim * voxels + 2  # a filter of each convolution, scale and shift of the norm
    return max(1, round((target - 2 * dim) / per_channel))


register("hot_volume_unet", VolumeUNet)
register("volume_unet", VolumeUNet, block="convolution")
register("unet_2d", VolumeUNet, block="convolution", num_modes=2, num_blocks=(0, 0, 0), channels=(12, 24, 48))
