"""Everything that determines a run that classifies volumes."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from multiway.config import Plain, merge
from multiway.data.augmentation import AugmentOptions
from multiway.data.sources.scans.options import VolumeOptions, VolumeSplit
from multiway.tasks.options import NetworkConfig, check_class_losses
from multiway.training import TrainingConfig

Baseline = Literal["majority", "logistic", "cnn", "resnet18_3d", "resnet50_3d"]
NETWORKS = {"cnn": "cnn_volume_classifier", "resnet18_3d": "resnet18_3d", "resnet50_3d": "resnet50_3d"}
"""Baselines that are trained, and the model that each is."""
OURS = "hot_volume_classifier"
TRAINING: Plain = {
    "loss": "cross_entropy", "epochs": 60, "learning_rate": 1e-3, "weight_decay": 0.05, "patience": 0,
}  # fmt: skip
"""Fields of `TrainingConfig` where classes of volumes differ from a forecast."""


class VolumeConfig(NetworkConfig):
    """A run of the task `volumes`; stored in its folder. Data are a MedMNIST .npz, or a table of scans."""

    NETWORK, BY_DATA = OURS, {"sizes": (28, 28, 28), "in_channels": 1, "num_classes": 2}
    NETWORKS = ("*volume_classifier*", "resnet*_3d")

    read: VolumeOptions = VolumeOptions()
    split: VolumeSplit = VolumeSplit()
    augment: AugmentOptions = AugmentOptions()
    baselines: tuple[Baseline, ...] = ("majority", "logistic")
    """What is fitted and scored beside it, under the same protocol."""
    baseline_training: Plain = Field(default_factory=dict)
    """Fields of `training` that are others for the baselines that are trained."""
    training: TrainingConfig = TrainingConfig.parse(TRAINING)
    evaluate_flips: bool = False
    """Average the probabilities of a volume over its eight reflections, outside of training."""
    draws: int = Field(1000, ge=0)
    """Bootstrap samples of cases behind each interval; 0 gives none."""

    @field_validator("training", mode="before")
    @classmethod
    def _training_starts_from_that_of_classes(cls, training: object) -> object:
        if not isinstance(training, dict):
            return training
        usual = {**TRAINING, "validation_batch_size": training.get("batch_size", 32)}
        return merge(usual, training)

    @model_validator(mode="after")
    def _losses_fit(self) -> Self:
        check_class_losses(self.training, self.network_training)
        return self

    @property
    def network_training(self) -> TrainingConfig:
        """How the baselines that are trained are trained."""
        return TrainingConfig.parse(merge(self.training.plain(), self.baseline_training), "baseline_training")
