"""A small convolutional classifier of volumes, of the size of the small HOT classifier: its neighbour in every run."""

from typing import Self

from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.models.blocks import VolumeSizes, check_sizes, checkpoint_part
from multiway.models.registry import register

NUM_MODES = 3


class CNNVolumeClassifierConfig(VolumeSizes):
    """Everything needed to rebuild a `CNNVolumeClassifier`; saved inside each run."""

    channels: tuple[int, ...] = (16, 32, 64)
    """Features of each stage; every stage halves the volume."""
    kernel_size: int = Field(3, gt=0)
    """Side of the convolutions, in voxels; odd."""
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    """Share of the head's features dropped in training."""
    checkpoint: bool = False
    """Recompute activations in the backward pass instead of keeping them."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if not self.channels or min(self.channels) < 1:
            raise ValueError(f"channels needs one positive number per stage, at least one. Got {self.channels}.")
        if self.kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be odd, so that a size is kept. Got {self.kernel_size}.")
        return self


class CNNVolumeClassifier(torch_nn.Module):
    """Class logits of a volume: stages of a strided and two further convolutions, mean over voxels, a linear head.

    Group normalisation throughout, so that a sample's logits depend on that sample alone, in training too.

    Shape:
        Input `(batch, in_channels, *sizes)`; output `(batch, num_classes)`.
    """

    def __init__(self, config: CNNVolumeClassifierConfig) -> None:
        super().__init__()
        self.config = config
        before = (config.in_channels, *config.channels[:-1])
        self.stages = torch_nn.ModuleList(
            torch_nn.Sequential(
                torch_nn.Conv3d(
                    narrow, wide, config.kernel_size, stride=2, padding=config.kernel_size // 2, bias=False
                ),
                nn.make_group_norm(wide),
                torch_nn.GELU(),
                nn.ConvBlock(wide, wide, num_modes=NUM_MODES, kernel_size=config.kernel_size),
            )
            for narrow, wide in zip(before, config.channels, strict=True)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.head = torch_nn.Linear(config.channels[-1], config.num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Class logits."""
        check_sizes("CNNVolumeClassifier", x, (self.config.in_channels, *self.config.sizes))
        for stage in self.stages:
            x = checkpoint_part(stage, x, when=self.config.checkpoint and self.training)
        logits: Tensor = self.head(self.dropout(x.mean((2, 3, 4))))
        return logits


register("cnn_volume_classifier", CNNVolumeClassifier)
