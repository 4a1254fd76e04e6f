"""Everything that determines a run that classifies images."""

from typing import Annotated, Literal, Self

from pydantic import model_validator

from multiway.config import Plain
from multiway.tasks.images.encode import ImageAugmentation, ImageSplit
from multiway.tasks.images.source import ImageOptions
from multiway.tasks.images.teaching import DistillOptions
from multiway.tasks.options import NetworkConfig, check_class_losses, starting_from
from multiway.training import TrainingConfig
from multiway.training.validation import check_pattern

Baseline = Literal["majority", "logistic"]
TRAINING: Plain = {
    "loss": "cross_entropy", "epochs": 20, "batch_size": 64, "optimizer": "adam", "learning_rate": 1e-3,
    "weight_decay": 0.0, "patience": 5,
}  # fmt: skip
"""Fields of `TrainingConfig` where classes of images differ from a forecast."""


class ImageConfig(NetworkConfig):
    """A run of the task `images`; stored in its folder. Data are a folder per class, or a .npz."""

    NETWORK, BY_DATA = "cnn_image_classifier", {"sizes": (32, 32), "in_channels": 3, "num_classes": 2}
    NETWORKS = ("*image_classifier*", "vision_transformer*")

    read: ImageOptions = ImageOptions()
    split: ImageSplit = ImageSplit()
    augment: ImageAugmentation = ImageAugmentation()
    baselines: tuple[Baseline, ...] = ("majority", "logistic")
    """Shares of the classes; logistic regression on means of blocks of pixels."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    distill: DistillOptions | None = None
    """A teacher that the network learns from beside the labels; none if not given."""
    weights: str | None = None
    """Pattern of weights whose distribution is kept after each epoch and drawn in the report, such as `hidden`."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        check_class_losses(self.training)
        check_pattern(self.weights)
        if self.model.get("distill_token") and self.distill is None:
            raise ValueError("model.distill_token learns from a teacher: give distill.teacher, or leave it out")
        return self
