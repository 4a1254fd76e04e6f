"""The convolutional network of NdLinear's experiments on images (section 4.1.1, table 2)."""

import math
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.config import Config
from multiway.models.blocks import check_sizes
from multiway.models.choices import LayerName, build_layer
from multiway.models.registry import register


class CNNImageClassifierConfig(Config):
    """Everything needed to rebuild a `CNNImageClassifier`; saved inside each run."""

    sizes: tuple[int, int] = (32, 32)
    """Height and width in pixels."""
    in_channels: int = Field(3, gt=0)
    """Values per pixel."""
    num_classes: int = Field(10, ge=2)
    channels: tuple[int, ...] = Field((32, 64, 64), min_length=1)
    """Features of each convolution; each halves height and width."""
    pooling: Literal["max", "none"] = "max"
    """The largest value of each channel over all positions, so that what is seen may lie anywhere, or all values."""
    layer: LayerName = "nd_linear"
    """What maps the features to the hidden layer, or to the classes."""
    place: Literal["hidden", "head"] = "hidden"
    """Map to a hidden layer under a dense head, or straight to the classes, (channels, height, width) to
    (classes, 1, 1) (NdLinear, section 3.4)."""
    hidden: tuple[int, ...] | None = Field(None, min_length=1)
    """Sizes of the hidden layer: (channels, height, width), or one width; those of the features if not given."""
    rank: int | None = Field(None, ge=1)
    """Of tensor_train and low_rank."""
    norm: Literal["batch", "group"] = "group"
    """Over the values of a batch, as the paper's, or of a sample alone."""
    dropout: float = Field(0.05, ge=0.0, lt=1.0)
    """Share of the channels dropped after each convolution in training."""
    hidden_dropout: float = Field(0.0, ge=0.0, lt=1.0)
    """Share of the hidden features set to zero in training, as the paper's code does for its dense network."""
    logit_dropout: float = Field(0.0, ge=0.0, lt=1.0)
    """Share of the logits set to zero in training, as the paper's code does for its NdLinear network."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if min(self.channels) < 1 or min(self.hidden or (1,)) < 1:
            raise ValueError(f"channels and hidden are positive. Got {self.channels} and {self.hidden}")
        if self.place == "head" and self.hidden is not None:
            raise ValueError(f"hidden is for place hidden; with head there is no hidden layer. Got {self.hidden}")
        if min(self.features) < 1:
            raise ValueError(f"images must be {2 ** len(self.channels)} pixels wide or more. Got {self.sizes}")
        return self

    @property
    def features(self) -> tuple[int, int, int]:
        """Channels, height and width before the hidden layer."""
        height, width = (min(size >> len(self.channels), 1 if self.pooling == "max" else size) for size in self.sizes)
        return self.channels[-1], height, width


class CNNImageClassifier(torch_nn.Module):
    """Class logits of an image: convolutions of 3 x 3, each halved by its maxima, a hidden layer and a linear head.

    NdLinear, section 4.1.1 and figure 7. With `nd_linear` the hidden layer maps channels, height and width one after
    another, (64, 8, 8) to (64, 8, 8) on CIFAR.

    Differs from the paper: what is seen may lie anywhere, as the hidden layer takes maxima over positions;
    `pooling="none"` is the paper's. Its text names (32, 8, 8), with which the printed counts do not come out. Rectified
    after the maxima, which gives the same values and gradients as before them. `NdLinear` keeps the variance.
    Group normalisation, so that in training too a sample's logits depend on it alone; `norm="batch"` is the paper's.

    Shape:
        Input `(batch, in_channels, *sizes)`; output `(batch, num_classes)`.
    """

    def __init__(self, config: CNNImageClassifierConfig) -> None:
        super().__init__()
        self.config = config
        before = (config.in_channels, *config.channels[:-1])
        self.stages = torch_nn.ModuleList(
            _build_stage(narrow, wide, config) for narrow, wide in zip(before, config.channels, strict=True)
        )
        is_head, classes = config.place == "head", config.num_classes
        hidden = (classes, 1, 1) if is_head else config.hidden or config.features
        layer = build_layer(config.layer, config.features, hidden, rank=config.rank)
        self.hidden = None if is_head else layer
        self.activation = torch_nn.ReLU()
        self.hidden_dropout = nn.Dropout(config.hidden_dropout)
        self.head = layer if is_head else torch_nn.Linear(math.prod(hidden), classes)
        self.logit_dropout = nn.Dropout(config.logit_dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Class logits."""
        check_sizes("CNNImageClassifier", x, (self.config.in_channels, *self.config.sizes))
        x = x.contiguous(memory_format=torch.channels_last)  # maxima are taken several times faster so
        for stage in self.stages:
            x = stage(x)
        if self.config.pooling == "max":
            x = x.amax((2, 3), keepdim=True)
        seen = x if self.hidden is None else self.hidden_dropout(self.activation(self.hidden(x))).flatten(1)
        logits: Tensor = self.logit_dropout(self.head(seen).flatten(1))
        return logits


def _build_stage(in_channels: int, out_channels: int, config: CNNImageClassifierConfig) -> torch_nn.Sequential:
    is_paper = config.norm == "batch"
    return torch_nn.Sequential(
        torch_nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=is_paper),  # a norm takes a bias out again
        torch_nn.BatchNorm2d(out_channels) if is_paper else nn.make_group_norm(out_channels),
        torch_nn.MaxPool2d(2),
        torch_nn.ReLU(),
        torch_nn.Dropout2d(config.dropout),
    )


register("cnn_image_classifier", CNNImageClassifier)
