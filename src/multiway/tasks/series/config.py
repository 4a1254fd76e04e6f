"""Every setting of the task `series`."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from multiway.config import Flag, Plain
from multiway.data.options import SequenceOptions, SplitShares
from multiway.tasks.candidate import baseline_of
from multiway.tasks.options import LAYER, NetworkConfig, Refitting, check_class_losses, starting_from
from multiway.tasks.settings import TaskSettings
from multiway.training.config import TrainingConfig

SeriesBaseline = Annotated[str, baseline_of("multiway.tasks.series.candidates", "series")]
TRAINING: Plain = {"loss": "cross_entropy", "epochs": 100, "batch_size": 16, "learning_rate": 0.005, "patience": 0}
"""Fields of `TrainingConfig` where labelled series differ from a forecast: they are few."""


class SequenceSplit(SplitShares):
    """Official test series stay the test, and validation takes its share of the rest; without any, all by share.

    Classes keep their proportions, and series of one group stay together.
    """


class SeriesConfig(Refitting, NetworkConfig):
    """A run of the task `series`; stored in its folder."""

    NETWORK, BY_DATA = "series_classifier", {"variates": 1, "num_classes": 2}

    read: SequenceOptions = SequenceOptions()
    split: SequenceSplit = SequenceSplit()
    model: Annotated[Plain, LAYER] = Field(default_factory=dict)
    """Fields of the network without those that the data set."""
    baselines: Annotated[
        tuple[SeriesBaseline, ...] | None, Flag("Some of majority, logistic, quant and rocket.", commands=())
    ] = None
    """Class shares, logistic regression on all values, trees on quantiles of intervals (QUANT, scikit-learn), and ridge
    on MultiRocket's and Hydra's kernels; all if not given."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)

    @model_validator(mode="after")
    def _loss_fits(self) -> Self:
        check_class_losses(self.training)
        return self


SERIES = TaskSettings(
    name="series",
    purpose="Classes of series.",
    example="--data beats.csv",
    config=SeriesConfig,
    data="source:SEQUENCES",
)
