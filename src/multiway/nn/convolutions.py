"""Convolutions with group normalisation: a block with a residual path, and the way from voxels to tokens."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from multiway.errors import ConfigError, ShapeError

MOST_GROUPS = 8
CONVOLUTIONS: dict[int, type[nn.Module]] = {2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED: dict[int, type[nn.Module]] = {2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}
KERNEL_SIZES = (3, 5, 7)


def make_convolution(
    num_modes: int, in_channels: int, out_channels: int, kernel_size: int, *, transposed: bool = False, **options: Any
) -> nn.Module:
    """Build a convolution over two or three modes; `options` are those of `torch.nn.Conv3d`.

    Raises:
        ShapeError: Another number of modes.
    """
    if num_modes not in CONVOLUTIONS:
        raise ShapeError(f"make_convolution: there are forms for 2 and 3 modes. Got num_modes={num_modes}.")
    kind = (TRANSPOSED if transposed else CONVOLUTIONS)[num_modes]
    return kind(in_channels, out_channels, kernel_size, **options)


def make_group_norm(channels: int, *, device: Any = None, dtype: Any = None) -> nn.GroupNorm:
    """Normalise over groups of channels of one sample: as many groups as divide the channels, 8 at most."""
    groups = max(groups for groups in range(1, MOST_GROUPS + 1) if channels % groups == 0)
    return nn.GroupNorm(groups, channels, device=device, dtype=dtype)


class ConvBlock(nn.Module):
    """Two convolutions and a shortcut: y = gelu(norm(C₂ gelu(norm(C₁ x))) + P x).

    P is the identity where the channels stay as they are, else a convolution of one voxel. Sizes are kept.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        num_modes: 2 or 3.
        hidden_channels: Channels between the two; those of the output if not given.
        kernel_size: Odd, in voxels.
        device: As for `torch.nn.Conv3d`.
        dtype: As for `torch.nn.Conv3d`.

    Shape:
        `(batch, in_channels, *sizes)` to `(batch, out_channels, *sizes)`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_modes: int,
        hidden_channels: int | None = None,
        kernel_size: int = 3,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        options: dict[str, Any] = {"padding": kernel_size // 2, "bias": False, **factory}
        hidden = out_channels if hidden_channels is None else hidden_channels
        self.first = make_convolution(num_modes, in_channels, hidden, kernel_size, **options)
        self.first_norm = make_group_norm(hidden, **factory)
        self.second = make_convolution(num_modes, hidden, out_channels, kernel_size, **options)
        self.second_norm = make_group_norm(out_channels, **factory)
        self.shortcut: nn.Module = nn.Identity()
        if in_channels != out_channels:
            self.shortcut = make_convolution(num_modes, in_channels, out_channels, 1, bias=False, **factory)
        self.gelu = nn.GELU()

    def forward(self, x: Float[Tensor, "batch channels *sizes"]) -> Float[Tensor, "batch out *sizes"]:
        """Run both convolutions and add the shortcut."""
        hidden = self.gelu(self.first_norm(self.first(x)))
        return self.gelu(self.second_norm(self.second(hidden)) + self.shortcut(x))  # type: ignore[no-any-return]


class ConvStem(nn.Module):
    """Halve a volume with every layer: convolution of stride 2, group normalisation, GELU; then features last.

    HOT, appendix D: "multilayer 3D convolution".

    The number of layers is that of `channels`, so two layers make a token of 4 × 4 × 4 voxels. A size that is odd
    is rounded up. Normalisation is over groups of channels of one sample, never over the batch.

    Args:
        in_channels: Channels of the volume.
        channels: Features after each layer; the last are those of a token.
        kernel_size: 3, 5 or 7 voxels a side.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

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
        """Run the layers."""
        if x.shape[1] != self.in_channels:
            raise ShapeError(
                f"ConvStem: x must be (batch, channels, *sizes) with {self.in_channels} channels. Got {tuple(x.shape)}."
            )
        for layer in self.layers:
            x = layer(x)
        return x.movedim(1, -1)
