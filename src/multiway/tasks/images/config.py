"""Everything that determines a run that classifies images."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config, Plain
from multiway.models import list_models, model_config
from multiway.tasks.images.encode import ImageAugmentation, ImageSplit
from multiway.tasks.images.source import ImageOptions
from multiway.tasks.images.teaching import DistillOptions
from multiway.tasks.options import check_class_losses, check_model, network_fields, starting_from
from multiway.training import TrainingConfig
from multiway.training.validation import check_pattern

Baseline = Literal["majority", "logistic"]
NETWORK = "cnn_image_classifier"
NETWORKS = [*list_models("*image_classifier*"), *list_models("vision_transformer*")]
TRAINING: Plain = {
    "loss": "cross_entropy", "epochs": 20, "batch_size": 64, "optimizer": "adam", "learning_rate": 1e-3,
    "weight_decay": 0.0, "patience": 5,
}  # fmt: skip
"""Fields of `TrainingConfig` where classes of images differ from a forecast."""


class ImageConfig(Config):
    """A run of the task `images`; stored in its folder."""

    data: str | None = None
    """A folder per class, a .npz, or the name of a known data set; None for arrays in memory."""
    read: ImageOptions = ImageOptions()
    split: ImageSplit = ImageSplit()
    augment: ImageAugmentation = ImageAugmentation()
    model: Plain = Field(default_factory=dict)
    """`name` of a classifier of images and its fields, without the sizes, channels and classes that the data set."""
    baselines: tuple[Baseline, ...] = ("majority", "logistic")
    """Shares of the classes; logistic regression on means of blocks of pixels."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    distill: DistillOptions | None = None
    """A teacher that the network learns from beside the labels; none if not given."""
    weights: str | None = None
    """Pattern of weights whose distribution is kept after each epoch and drawn in the report, such as `hidden`."""
    draws: int = Field(200, ge=0)
    """Bootstrap samples of images behind each interval; 0 gives none."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        check_model(self.model, NETWORK, NETWORKS, ("sizes", "in_channels", "num_classes"))
        check_class_losses(self.training)
        check_pattern(self.weights)
        model_config(self.model_name, **self.network_fields())
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", NETWORK))

    def network_fields(self, **set_by_data: object) -> Plain:
        """Fields of `create_model` on this data."""
        return network_fields(self.model, **set_by_data)
