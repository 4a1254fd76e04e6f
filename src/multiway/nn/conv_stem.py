"""Strided convolutions from voxels to tokens (HOT app. D: "multilayer 3D convolution")."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from multiway.errors import ConfigError, ShapeError
from multiway.nn.conv_block import make_group_norm

KERNEL_SIZES = (3, 5, 7)


class ConvStem(nn.Module):
    """Halve a volume with every layer: convolution of stride 2, group normalisation, GELU; then features last.

    The number of layers is that of `channels`, so two layers make a token of 4 × 4 × 4 voxels. A size that is odd
    is rounded up. Normalisation is over groups of channels of one sample, never over the batch.

    Args:
        in_channels: Channels of the volume.
        channels: Features after each layer; the last are those of a token.
        kernel_size: 3, 5 or 7 voxels a side.
        device, dtype: As for `torch.nn.Linear`.

    Shape:
        Input `(batch, in_channels, *sizes)` with three sizes; output `(batch, *tokens, channels[-1])`.

    Raises:
        ConfigError: The kernel has another size.
    """

    def __init__(
        self,
        in_channels: int,
        channels: Sequence[int],
        *,
        kernel_size: int = 3,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if kernel_size not in KERNEL_SIZES:
            raise ConfigError(f"ConvStem: kernel_size must be one of {KERNEL_SIZES}. Got {kernel_size}.")
        self.in_channels = in_channels
        factory = {"device": device, "dtype": dtype}
        before = (in_channels, *channels[:-1])
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Conv3d(narrow, wide, kernel_size, stride=2, padding=kernel_size // 2, bias=False, **factory),
                make_group_norm(wide, **factory),
                nn.GELU(),
            )
            for narrow, wide in zip(before, channels, strict=True)
        )

    def forward(self, x: Float[Tensor, "batch channels i j k"]) -> Float[Tensor, "batch ti tj tk dim"]:
        """Run the layers.

        Raises:
            ShapeError: The volume has another number of channels.
        """
        if x.shape[1] != self.in_channels:
            raise ShapeError(
                f"ConvStem: x must be (batch, channels, *sizes) with {self.in_channels} channels. Got {tuple(x.shape)}."
            )
        for layer in self.layers:
            x = layer(x)
        return x.movedim(1, -1)
