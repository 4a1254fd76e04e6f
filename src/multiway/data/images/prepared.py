"""Images with their splits, and what a run learnt of them."""

import dataclasses
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.config import Config
from multiway.data.images.images import Bytes, Images
from multiway.data.images.options import Channels, ImageOptions, ImageSplit
from multiway.data.images.reading import read_images
from multiway.data.images.splitting import drawn_notes, split_images
from multiway.data.labelled import UNKNOWN, Labelled, PreparedSamples
from multiway.errors import DataError

HALF = 127.5


class ImageState(Config):
    """What a run has learnt of its images."""

    classes: tuple[str, ...]
    """Names, in the order of the logits."""
    channels: int
    """1 of grey images, 3 of coloured ones."""
    sizes: tuple[int, int]
    """Height and width in pixels."""
    centre: tuple[float, ...]
    """What is taken from the values of each channel, 0 to 255."""
    spread: tuple[float, ...]
    """What they are divided by then."""

    @classmethod
    def learn(cls, images: Images, rows: NDArray[np.int64], options: ImageOptions) -> Self:
        """Classes and sizes, and the values of the training images where these set the scale."""
        channels, *sizes = images.form
        centre, spread = [HALF] * channels, [HALF] * channels
        if options.normalise == "train":
            centre, spread = moments(images.values[rows])
        return cls.parse(
            {"classes": images.classes, "channels": channels, "sizes": sizes, "centre": centre, "spread": spread}
        )

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of a network on these images."""
        return {"in_channels": self.channels, "sizes": self.sizes, "num_classes": len(self.classes)}

    def decode(self, images: Tensor) -> Tensor:
        """Bytes `(images, height, width, channels)` as numbers `(images, channels, height, width)`.

        They stay in memory as they lie, channels last, which convolutions are fastest on.
        """
        centre, spread = (torch.tensor(values, dtype=torch.float32) for values in (self.centre, self.spread))
        return images.float().sub_(centre).div_(spread).permute(0, 3, 1, 2)

    def samples(self, images: Images) -> Labelled:
        """Images that are normalised when they are gathered.

        Raises:
            DataError: They are of another size or other colours than those of the training.
        """
        wanted, got = (self.channels, *self.sizes), images.form
        if got != wanted:
            raise DataError(
                f"{images.source}: the run was trained on (channels, height, width) {wanted}. Got {got}. Train with "
                f"size and channels (--size {self.sizes[0]} --channels rgb), which bring any image to one form."
            )
        truth = np.full(len(images), UNKNOWN) if images.labels is None else images.labels
        return Labelled(
            inputs=torch.from_numpy(images.values), truth=truth, classes=self.classes, names={"image": images.names},
            decode=self.decode,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedImages(PreparedSamples):
    """Images with their splits and what the training ones say."""

    state: ImageState


def moments(images: Bytes) -> tuple[list[float], list[float]]:
    """Mean and deviation of the values of each channel, exactly: by how often each byte occurs."""
    steps = np.arange(256)
    counts = [np.bincount(channel.reshape(-1), minlength=256) / channel.size for channel in np.moveaxis(images, -1, 0)]
    means = [float(count @ steps) for count in counts]
    squares = [float(count @ (steps - mean) ** 2) for count, mean in zip(counts, means, strict=True)]
    return means, [square**0.5 or 1.0 for square in squares]


def prepare_images(source: Any, options: ImageOptions, split: ImageSplit) -> PreparedImages:
    """Read and split; what can be wrong with the data shows here.

    Raises:
        DataError: An image is not sound, classes lack, or a split has no image.
    """
    images = read_images(source, options)
    splits = split_images(images, split)
    state = ImageState.learn(images, splits["train"], options)
    notes = (*images.notes, *drawn_notes(images, splits))
    return PreparedImages(source=images.source, samples=state.samples(images), splits=splits, notes=notes, state=state)


def match_images(source: Any, options: ImageOptions, state: ImageState, *, has_classes: bool = True) -> PreparedImages:
    """Images that came after the training, under what it learnt; without classes, those that lie there are ignored.

    Raises:
        DataError: They are of another size, a class is unknown, or classes are wanted and lack.
    """
    channels: Channels = "grey" if state.channels == 1 else "rgb"
    images = read_images(source, options.replace(channels=channels))
    images = images.with_classes(state.classes) if has_classes else dataclasses.replace(images, labels=None)
    return PreparedImages(source=images.source, samples=state.samples(images), notes=images.notes, state=state)
