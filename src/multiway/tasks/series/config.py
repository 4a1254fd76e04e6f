"""Everything that determines a run on labelled series."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from multiway.config import Config, Plain
from multiway.data.sources.series import SequenceOptions
from multiway.models import list_models, model_config
from multiway.models.series_baselines import SeriesBaseline
from multiway.tasks.options import check_model, network_fields, starting_from
from multiway.tasks.series.source import SequenceSplit
from multiway.training import TrainingConfig

NETWORK = "series_classifier"
TRAINING: Plain = {
    "loss": "cross_entropy", "epochs": 100, "batch_size": 16, "learning_rate": 0.005, "patience": 0
}  # fmt: skip
"""Fields of `TrainingConfig` where labelled series differ from a forecast: they are few."""


class SeriesConfig(Config):
    """A run of the task `series`; stored in its folder."""

    data: str | None = None
    """A file or folder of labelled series, or the name of a known data set; None for arrays in memory."""
    read: SequenceOptions = SequenceOptions()
    split: SequenceSplit = SequenceSplit()
    model: Plain = Field(default_factory=dict)
    """Fields of `SeriesClassifier` without the variates and classes that the data set."""
    baselines: tuple[SeriesBaseline, ...] = ("majority", "logistic", "rocket")
    """Class shares, logistic regression on all values of a series, and ridge on what random kernels give."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    draws: int = Field(200, ge=0)
    """Bootstrap samples of series, or of groups, behind each interval; 0 gives none."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        check_model(self.model, NETWORK, list_models(f"{NETWORK}*"), ("variates", "num_classes"))
        if self.training.loss != "cross_entropy":
            raise ValueError(f"training.loss of classes is cross_entropy. Got {self.training.loss}")
        model_config(self.model_name, **self.network_fields(1, 2))
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", NETWORK))

    def network_fields(self, variates: int, classes: int) -> Plain:
        """Fields of `create_model` on this data."""
        return network_fields(self.model, variates=variates, num_classes=classes)
