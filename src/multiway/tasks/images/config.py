"""Every setting of the task `images`."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config, Flag, Plain
from multiway.data.options import AugmentOptions, PictureOptions, SplitShares
from multiway.tasks.candidate import baseline_of
from multiway.tasks.options import LAYER, NetworkConfig, Refitting, check_class_losses, starting_from
from multiway.tasks.settings import TaskSettings
from multiway.training.config import TrainingConfig

Baseline = Annotated[str, baseline_of("multiway.tasks.images.candidates", "images")]
TRAINING: Plain = {
    "loss": "cross_entropy",
    "epochs": 20,
    "batch_size": 64,
    "optimizer": "adam",
    "learning_rate": 1e-3,
    "weight_decay": 0.0,
    "patience": 5,
}
"""Fields of `TrainingConfig` where classes of images differ from a forecast."""


class ImageOptions(PictureOptions):
    """What is made of images whose sizes or colours differ, and of their values."""

    normalise: Literal["half", "train"] = "half"
    """Values: `half` from 0-255 to -1-1, or by mean and deviation of each channel over the training images."""


class ImageSplit(SplitShares):
    """Shares of the images; where the data name a test part, `validation` is a share of the other images."""


class ImageAugmentation(AugmentOptions):
    """Random changes of training images, drawn anew for each; all off unless given. Axes are 0, down, and 1, across.

    A crop is of pixels as the network sees them, after its `resize`.
    """

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


class DistillOptions(Config):
    """What a network learns from in addition to its labels."""

    teacher: Annotated[str, Flag("Run, folder or name of a network to learn from too.")] = Field(min_length=1)
    """Folder of a finished run on the same images, folder or name of a model of Hugging Face, or timm:NAME."""
    temperature: float = Field(3.0, gt=0)
    """What logits of both are divided by; the higher, the more unlikely classes count."""
    alpha: float = Field(0.5, ge=0, le=1)
    """Share of the loss that is the teacher's; the rest is the labels'."""
    cache: str | None = None
    """Folder that logits are kept in; one of the cache of downloads if not given."""


class ImageConfig(Refitting, NetworkConfig):
    """A run of the task `images`; stored in its folder. Data are a folder per class, or a .npz."""

    NETWORK, BY_DATA = "cnn_image_classifier", {"sizes": (32, 32), "in_channels": 3, "num_classes": 2}
    NETWORKS = ("*image_classifier*", "vision_transformer*")

    read: ImageOptions = ImageOptions()
    split: ImageSplit = ImageSplit()
    augment: ImageAugmentation = ImageAugmentation()
    model: Annotated[Plain, LAYER] = Field(default_factory=dict)
    """Fields of the network without those that the data set; `name` is one of its named sizes."""
    baselines: Annotated[tuple[Baseline, ...], Flag("Some of majority and logistic.", commands=())] = (
        "majority",
        "logistic",
    )
    """Shares of the classes; logistic regression on means of blocks of pixels."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    distill: DistillOptions | None = None
    """A teacher that the network learns from in addition to the labels; none if not given."""
    weights: str | None = None
    """Pattern of weights whose distribution is kept after each epoch and drawn in the report, such as `hidden`."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        check_class_losses(self.training)
        try:
            re.compile(self.weights or "")
        except re.error as error:
            raise ValueError(f"weights is a pattern of names, such as hidden. Got {self.weights!r}: {error}") from None
        if self.model.get("distill_token") and self.distill is None:
            raise ValueError("model.distill_token learns from a teacher: give distill.teacher, or leave it out")
        return self


class Explain(Config):
    """Options of `multiway explain`."""

    images: Annotated[tuple[str, ...] | None, Flag("Images to explain: dog/1.png,cat/7.png.")] = None


IMAGES = TaskSettings(
    name="images",
    purpose="Classes of images, learnt from a teacher too where the config's `distill` names one.",
    example="--data shapes",
    config=ImageConfig,
    data="read:PICTURES",
    uses={"explain": Explain},
)
