"""Everything that determines a run on a table of rows."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from multiway.config import Config, Plain
from multiway.models import list_models, model_config
from multiway.models.target_baselines import Baseline
from multiway.tasks.options import check_model, network_fields, starting_from
from multiway.tasks.tabular.source import TableOptions, TableSplit
from multiway.training import TrainingConfig

NETWORK = "tabular_mlp"
TRAINING: Plain = {"loss": "mse", "epochs": 40, "batch_size": 64, "patience": 8}
"""Fields of `TrainingConfig` where rows differ from a forecast."""


class TabularConfig(Config):
    """A run of the task `tabular`; stored in its folder."""

    data: str | None = None
    """A table, or the name of a known data set; None for arrays in memory."""
    read: TableOptions = TableOptions()
    split: TableSplit = TableSplit()
    model: Plain = Field(default_factory=dict)
    """Fields of `TabularMLP` without the inputs and outputs that the data set; `name` is one of its named sizes."""
    baselines: tuple[Baseline, ...] | None = None
    """Of classes majority, logistic and trees, of numbers mean, ridge and trees (scikit-learn); all if not given."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    """`loss` is that of numbers; classes have cross-entropy."""
    draws: int = Field(200, ge=0)
    """Bootstrap samples of rows, or of groups, behind each interval; 0 gives none."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        check_model(self.model, NETWORK, list_models(f"{NETWORK}*"), ("in_features", "num_outputs"))
        if self.training.loss == "cross_entropy":
            raise ValueError("training.loss is that of numbers: mse, mae or huber; classes have cross-entropy anyway")
        model_config(self.model_name, **self.network_fields(1, 1))
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", NETWORK))

    def network_fields(self, inputs: int, outputs: int) -> Plain:
        """Fields of `create_model` on this data."""
        return network_fields(self.model, in_features=inputs, num_outputs=outputs)
