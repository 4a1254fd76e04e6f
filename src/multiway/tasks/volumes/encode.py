"""The config of a run on volumes, from cases to normalised volumes, and what training learns of them."""

import dataclasses
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor

from multiway.config import Plain, merge
from multiway.data.options import AugmentOptions, VolumeOptions, VolumeSplit
from multiway.data.samples import Rows
from multiway.data.sources.scans.cases import Cases, Scans
from multiway.data.sources.scans.encoding import IntensityScale, spacings_of, warn_of_spacing
from multiway.data.sources.scans.volume import Volume
from multiway.errors import DataError
from multiway.tasks.options import NetworkConfig, check_class_losses
from multiway.tasks.scan_task import ScanState
from multiway.training import TrainingConfig

Baseline = Literal["majority", "logistic", "cnn", "resnet18_3d", "resnet50_3d"]
NETWORKS = {"cnn": "cnn_volume_classifier", "resnet18_3d": "resnet18_3d", "resnet50_3d": "resnet50_3d"}
"""Baselines that are trained, and the model that each is."""
OURS = "hot_volume_classifier"
TRAINING: Plain = {
    "loss": "cross_entropy", "epochs": 60, "learning_rate": 1e-3, "weight_decay": 0.05, "patience": 0,
}  # fmt: skip
"""Fields of `TrainingConfig` where classes of volumes differ from a forecast."""


class VolumeState(ScanState):
    """What a run has learnt of its volumes."""

    target: ClassVar[None] = None
    sizes: tuple[int, ...]
    """Voxels along each axis, after preparing."""
    label_kind: str = "text"
    """Kind of the labels that were given: "text", "number" or "bool"."""

    @classmethod
    def learn(cls, cases: Cases, train: Rows, options: VolumeOptions) -> Self:
        """Classes, sizes, and the intensities of the training volumes alone; every volume is read."""
        scans, rows = cases.inputs, train.tolist()
        values = scans.stored
        header = scans.header
        assert header is not None
        return cls(
            classes=cases.classes or (), channels=header.channels, sizes=header.sizes, axes=header.axes,
            scale=IntensityScale.fit(values.__getitem__, rows, options), label_kind=scans.label_kind,
            spacings=spacings_of(scans.spacing, rows), target_name=cases.target_name,
        )  # fmt: skip

    def check_form(self, shape: tuple[int, ...], source: str) -> None:
        """Hold `(channels, *sizes)` of a later volume to those of the training."""
        known = (self.channels, *self.sizes)
        if shape != known:
            raise DataError(
                f"{source}: the run was trained on (channels, *sizes) {known}. Got {shape}. Give "
                f"scans of that size, or train with read.size or read.resample_to, which bring any scan to one size."
            )

    def normalised(self, volume: Volume) -> Tensor:
        """A prepared volume as the training's were, `(1, channels, *sizes)`."""
        self.check_form(volume.values.shape, volume.source)
        warn_of_spacing(volume.spacing, self.spacings)
        return self.scale.apply_to(volume.values)[None]

    def decode(self, volumes: "Stored") -> Tensor:
        """Some volumes as the network takes them, `(batch, channels, *sizes)` float32."""
        return self.scale.apply(volumes.gathered())


@dataclasses.dataclass(frozen=True, eq=False)
class Stored:
    """Prepared volumes as rows of one array, which is read when it is first needed.

    scans: All of them.
    rows: Which of them these are.
    """

    scans: Scans
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Self:
        return dataclasses.replace(self, rows=self.rows[np.asarray(rows)])

    def gathered(self) -> Tensor:
        """A copy of them, `(volumes, channels, *sizes)`, before normalisation."""
        return torch.from_numpy(self.scans.stored).index_select(0, torch.from_numpy(self.rows))


class VolumeConfig(NetworkConfig):
    """A run of the task `volumes`; stored in its folder. Data are a MedMNIST .npz, or a table of scans."""

    NETWORK, BY_DATA = OURS, {"sizes": (28, 28, 28), "in_channels": 1, "num_classes": 2}
    NETWORKS = ("*volume_classifier*", "resnet*_3d")

    read: VolumeOptions = VolumeOptions()
    split: VolumeSplit = VolumeSplit()
    augment: AugmentOptions = AugmentOptions()
    baselines: tuple[Baseline, ...] = ("majority", "logistic")
    """Baselines that are fitted and scored under the same protocol."""
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
