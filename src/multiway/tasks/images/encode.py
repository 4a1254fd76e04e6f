"""What a run learns of its images, and how they are changed at random while it does."""

from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from multiway.config import Config, Plain
from multiway.data.augmentation import augment
from multiway.data.matching import match_sizes
from multiway.data.samples import Rows, Samples
from multiway.data.scaling import Level, evenly
from multiway.data.sources.pictures import Bytes
from multiway.errors import Fix
from multiway.models.vision_transformer import at_side
from multiway.tasks.images.config import ImageAugmentation, ImageOptions

HALF = 127.5
USUAL = 1000
"""Training images at most that say what is usual."""


class Augmented:
    """Samples whose inputs are changed; draws are from torch's global generator, which a saved state keeps."""

    def __init__(self, samples: Samples[Tensor], options: ImageAugmentation, resize: int | None = None) -> None:
        """With a crop, images are first brought to the height and width `resize` that the network cuts into patches."""
        self.samples, self.options, self.resize = samples, options, resize if options.crop else None

    def __len__(self) -> int:
        return len(self.samples)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Inputs, changed, and classes of some samples."""
        batch = self.samples.gather(index)
        inputs = batch["inputs"] if self.resize is None else at_side(batch["inputs"], self.resize)
        return batch | {"inputs": augment(inputs, self.options)}


class ImageState(Config):
    """What a run has learnt of its images."""

    target: ClassVar[None] = None
    classes: tuple[str, ...]
    """Names, in the order of the logits."""
    several: bool = False
    """Whether an image has several of them, which are labels then."""
    channels: int
    """1 of grey images, 3 of coloured ones."""
    sizes: tuple[int, int]
    """Height and width in pixels."""
    centre: tuple[float, ...]
    """What is taken from the values of each channel, 0 to 255."""
    spread: tuple[float, ...]
    """What they are divided by then."""
    level: Level | None = None
    """Values of a usual image; None in a run that does not say it."""

    @classmethod
    def learn(cls, images: Samples[Bytes], rows: Rows, options: ImageOptions) -> Self:
        """Classes and sizes, and the values of the training images where these set the scale."""
        height, width, channels = images.inputs.shape[1:]
        centre, spread = [HALF] * channels, [HALF] * channels
        if options.normalise == "train":
            centre, spread = moments(images.inputs[rows])
        return cls(
            classes=images.classes or (),
            several=images.has_several,
            channels=channels,
            sizes=(height, width),
            centre=tuple(centre),
            spread=tuple(spread),
            level=Level.fit(images.inputs[rows[evenly(len(rows), USUAL)]]),
        )

    @property
    def fields(self) -> Plain:
        """Fields of a network on these images."""
        return {"in_channels": self.channels, "sizes": self.sizes, "num_classes": len(self.classes)}

    def decode(self, images: Tensor) -> Tensor:
        """Bytes `(images, height, width, channels)` as numbers `(images, channels, height, width)`.

        They stay in memory as they lie, channels last, which convolutions are fastest on.
        """
        centre, spread = (torch.tensor(values, dtype=torch.float32) for values in (self.centre, self.spread))
        return images.float().sub_(centre).div_(spread).permute(0, 3, 1, 2)

    def encode(self, images: Samples[Bytes]) -> Samples[Tensor]:
        """Images that are normalised when they are gathered."""
        height, width, channels = images.inputs.shape[1:]
        match_sizes(
            (channels, height, width),
            (self.channels, *self.sizes),
            "(channels, height, width)",
            images.source,
            (
                "Train with size and channels (",
                Fix("read.size", self.sizes[0]),
                " ",
                Fix("read.channels", "rgb"),
                "), which bring any image to one form.",
            ),
        )
        return images.with_inputs(torch.from_numpy(images.inputs), decode=self.decode)


def moments(images: Bytes) -> tuple[list[float], list[float]]:
    """Mean and deviation of the values of each channel, exactly: by how often each byte occurs."""
    steps = np.arange(256)
    counts = [np.bincount(channel.reshape(-1), minlength=256) / channel.size for channel in np.moveaxis(images, -1, 0)]
    means = [float(count @ steps) for count in counts]
    squares = [float(count @ (steps - mean) ** 2) for count, mean in zip(counts, means, strict=True)]
    return means, [square**0.5 or 1.0 for square in squares]
