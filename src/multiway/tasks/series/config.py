"""Everything that determines a run on labelled series."""

from typing import Annotated, Self

from pydantic import model_validator

from multiway.config import Plain
from multiway.data.sources.series import SequenceOptions
from multiway.models.series_baselines import SeriesBaseline
from multiway.tasks.options import NetworkConfig, starting_from
from multiway.tasks.series.source import SequenceSplit
from multiway.training import TrainingConfig

TRAINING: Plain = {
    "loss": "cross_entropy", "epochs": 100, "batch_size": 16, "learning_rate": 0.005, "patience": 0
}  # fmt: skip
"""Fields of `TrainingConfig` where labelled series differ from a forecast: they are few."""


class SeriesConfig(NetworkConfig):
    """A run of the task `series`; stored in its folder."""

    NETWORK, BY_DATA = "series_classifier", {"variates": 1, "num_classes": 2}

    read: SequenceOptions = SequenceOptions()
    split: SequenceSplit = SequenceSplit()
    baselines: tuple[SeriesBaseline, ...] = ("majority", "logistic", "rocket")
    """Class shares, logistic regression on all values of a series, and ridge on what random kernels give."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)

    @model_validator(mode="after")
    def _loss_fits(self) -> Self:
        if self.training.loss != "cross_entropy":
            raise ValueError(f"training.loss of classes is cross_entropy. Got {self.training.loss}")
        return self
