"""Two places of NdLinear that its text names and no table has: between convolutions, and in a perceptron of grids."""

import math
from typing import Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.config import Config
from multiway.errors import ConfigError
from multiway.models.blocks import check_sizes
from multiway.models.choices import PER_AXIS, LayerName, build_layer, check_rank
from multiway.models.cnn_image_classifier import CNNImageClassifier, CNNImageClassifierConfig


class MixedCNN(CNNImageClassifier):
    r"""`CNNImageClassifier` with global mixing between its convolutions (NdLinear, section 3.4).

    $$X_{s+1} = \mathrm{conv}_{s+1}(\mathrm{ReLU}(\mathrm{NdLinear}(X_s)))$$

    After each convolution but the last an NdLinear maps channels, height and width to the same sizes: every position
    sees its whole row and column. The text inserts it "along one spatial dimension or the channel dimension".

    Shape:
        Input `(batch, in_channels, *sizes)`; output `(batch, num_classes)`.
    """

    def __init__(self, config: CNNImageClassifierConfig) -> None:
        super().__init__(config)
        for halvings, (stage, channels) in enumerate(zip(self.stages[:-1], config.channels, strict=False), start=1):
            sizes = (channels, *(size >> halvings for size in config.sizes))
            stage.extend([nn.NdLinear(sizes, sizes), torch_nn.ReLU()])  # type: ignore[operator]  # ModuleList forgets


class GridImageClassifierConfig(Config):
    """Everything needed to rebuild a `GridImageClassifier`; saved inside each run."""

    sizes: tuple[int, int] = (28, 28)
    """Height and width in pixels."""
    in_channels: int = Field(1, gt=0)
    """Values per pixel; of one, layers see height by width."""
    num_classes: int = Field(10, ge=2)
    layer: LayerName = "nd_linear"
    """What maps one grid to the next."""
    hidden: tuple[tuple[int, ...], ...] = Field(((28, 28), (28, 28)), min_length=1)
    """Sizes of each hidden grid; of a dense layer, one width."""
    rank: int | None = Field(None, ge=1)
    """Of tensor_train and low_rank."""

    @property
    def grid(self) -> tuple[int, ...]:
        """Axes of the input."""
        return self.sizes if self.in_channels == 1 else (self.in_channels, *self.sizes)

    @model_validator(mode="after")
    def _rank_fits(self) -> Self:
        check_rank(self.layer, self.rank)
        return self


class GridImageClassifier(torch_nn.Module):
    r"""A perceptron that keeps the axes of an image, the Nd-MLP of NdLinear's section 3.2.

    $$H_1 = \mathrm{ReLU}(\mathrm{NdLinear}(X)), \qquad H_{l+1} = \mathrm{ReLU}(\mathrm{NdLinear}(H_l)), \qquad
    y = W\,\mathrm{vec}(H_L) + b$$

    The text has 28 × 28 → H₁ × H₂ and "additional NdLinear or other layers"; the dense head is ours.

    Shape:
        Input `(batch, in_channels, *sizes)`; output `(batch, num_classes)`.
    """

    def __init__(self, config: GridImageClassifierConfig) -> None:
        super().__init__()
        self.config = config
        if config.layer in PER_AXIS and any(len(each) != len(config.grid) for each in config.hidden):
            raise ConfigError(f"hidden grids have as many axes as the image, {config.grid}. Got {config.hidden}.")
        before = (config.grid, *config.hidden[:-1])
        self.layers = torch_nn.ModuleList(
            build_layer(config.layer, seen, hidden, rank=config.rank)
            for seen, hidden in zip(before, config.hidden, strict=True)
        )
        self.head = torch_nn.Linear(math.prod(config.hidden[-1]), config.num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Class logits."""
        check_sizes("GridImageClassifier", x, (self.config.in_channels, *self.config.sizes))
        grids = x.reshape(-1, *self.config.grid)
        for layer in self.layers:
            grids = torch.relu(layer(grids))
        logits: Tensor = self.head(grids.flatten(1))
        return logits
