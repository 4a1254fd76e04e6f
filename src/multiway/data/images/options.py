"""How images are read, split and varied."""

from typing import Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config
from multiway.data.shares import SplitShares
from multiway.data.volumes.options import AugmentOptions

MAX_BYTES = 4 * 2**30
Channels = Literal["auto", "grey", "rgb"]


class ImageOptions(Config):
    """What is made of images whose sizes or colours differ, and of their values."""

    size: int | None = Field(None, ge=1, le=8192)
    """Side in pixels that every image is resized to; unless given, all must be of one size."""
    channels: Channels = "auto"
    """What images become: `auto` is grey where all of them are grey, else colour."""
    normalise: Literal["half", "train"] = "half"
    """Values: `half` from 0-255 to -1-1, or by mean and deviation of each channel over the training images."""
    max_bytes: int = Field(MAX_BYTES, gt=0)
    """What all images together may take in memory, one byte per value."""


class ImageSplit(SplitShares):
    """Shares of the images; where the data name a test part, `validation` is a share of the other images."""


class ImageAugmentation(AugmentOptions):
    """Random changes of training images, drawn anew for each; all off unless given. Axes are 0, down, and 1, across."""

    @model_validator(mode="after")
    def _axes_are_two(self) -> Self:
        named = {*self.flips, *(axis for plane in self.rotate90 for axis in plane)}
        if not named <= {0, 1}:
            raise ValueError(f"images have the axes 0 and 1. Got {sorted(named)}")
        return self

    @property
    def is_on(self) -> bool:
        """Whether anything is changed."""
        return self != type(self)()
