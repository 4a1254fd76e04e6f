"""Everything that determines a run on a table of rows."""

from typing import Annotated, Self

from pydantic import model_validator

from multiway.config import Plain
from multiway.data.splitting import SplitShares
from multiway.models.target_baselines import Baseline
from multiway.tasks.options import NetworkConfig, starting_from
from multiway.tasks.tabular.source import TableOptions
from multiway.training import TrainingConfig

TRAINING: Plain = {"loss": "mse", "epochs": 40, "batch_size": 64, "patience": 8}
"""Fields of `TrainingConfig` where rows differ from a forecast."""


class TabularConfig(NetworkConfig):
    """A run of the task `tabular`; stored in its folder."""

    NETWORK, BY_DATA = "tabular_mlp", {"in_features": 1, "num_outputs": 1}

    read: TableOptions = TableOptions()
    split: SplitShares = SplitShares()
    """By time or by group where one is named, else at random; classes in their proportions."""
    baselines: tuple[Baseline, ...] | None = None
    """Of classes majority, logistic and trees, of numbers mean, ridge and trees (scikit-learn); all if not given."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    """`loss` is that of numbers; classes have cross-entropy."""

    @model_validator(mode="after")
    def _loss_fits(self) -> Self:
        if self.training.loss == "cross_entropy":
            raise ValueError("training.loss is that of numbers: mse, mae or huber; classes have cross-entropy anyway")
        return self
