"""Everything that determines a run that classifies images, and its models: built, and baselines fitted."""

from typing import Annotated, Any, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from multiway.config import Config
from multiway.data.samples import Samples
from multiway.models import create_model, list_models, model_config
from multiway.models.baselines import Majority, PooledLogistic, fit_logistic
from multiway.tasks.images.encode import ImageAugmentation, ImageSplit, ImageState
from multiway.tasks.images.source import ImageOptions
from multiway.tasks.images.teaching import DistillOptions
from multiway.tasks.options import check_model, network_fields, starting_from
from multiway.training import TrainingConfig
from multiway.training.validation import check_pattern

Baseline = Literal["majority", "logistic"]
NETWORK = "cnn_image_classifier"
NETWORKS = [*list_models("*image_classifier*"), *list_models("vision_transformer*")]
TRAINING: dict[str, Any] = {
    "loss": "cross_entropy", "epochs": 20, "batch_size": 64, "optimizer": "adam", "learning_rate": 1e-3,
    "weight_decay": 0.0, "patience": 5,
}  # fmt: skip
"""Fields of `TrainingConfig` where classes of images differ from a forecast."""
FITTED, PENALTIES = 20_000, (1e-1, 1e-3)
"""Training images that the logistic regression is fitted on at most, and its penalties: seconds, not minutes."""


class ImageConfig(Config):
    """A run of the task `images`; stored in its folder."""

    data: str | None = None
    """A folder per class, a .npz, or the name of a known data set; None for arrays in memory."""
    read: ImageOptions = ImageOptions()
    split: ImageSplit = ImageSplit()
    augment: ImageAugmentation = ImageAugmentation()
    model: dict[str, Any] = Field(default_factory=dict)
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
        if self.training.loss != "cross_entropy" or self.training.validation_loss not in (None, "cross_entropy"):
            raise ValueError("classes are trained with training.loss=cross_entropy")
        check_pattern(self.weights)
        model_config(self.model_name, **self.network_fields())
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", NETWORK))

    def network_fields(self, **set_by_data: Any) -> dict[str, Any]:
        """Fields of `create_model` on this data."""
        return network_fields(self.model, **set_by_data)


def build_image_model(config: ImageConfig, state: ImageState, name: str) -> nn.Module:
    """A baseline by its name, or else the network."""
    if name == "majority":
        return Majority(len(state.classes))
    if name == "logistic":
        return PooledLogistic(state.sizes, state.channels, len(state.classes))
    return create_model(config.model_name, **config.network_fields(**state.fields))


def fit_image_baseline(
    model: nn.Module, training: Samples[Tensor], validation: Samples[Tensor]
) -> dict[str, Any] | None:
    """Count classes, or fit a logistic regression on means of blocks of some images."""
    if isinstance(model, Majority):
        model.fit(torch.from_numpy(training.truth))
        return None
    assert isinstance(model, PooledLogistic)
    some = training.take(np.unique(np.linspace(0, len(training) - 1, FITTED).astype(np.int64)))
    return fit_logistic(model, *_features(model, some), *_features(model, validation), PENALTIES)


@torch.no_grad()
def _features(model: PooledLogistic, samples: Samples[Tensor]) -> tuple[Tensor, Tensor]:
    parts = [model.features(batch["inputs"]) for batch in samples.batches(1024)]
    return torch.cat(parts), torch.from_numpy(samples.truth)
