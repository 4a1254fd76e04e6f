"""Everything that determines a run on a table of rows."""

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from multiway.config import Config, merge
from multiway.data.tabular import TableOptions, TableSplit
from multiway.errors import closest
from multiway.extras import is_installed
from multiway.models import list_models, model_config
from multiway.training import TrainingConfig

Baseline = Literal["constant", "linear", "trees"]
NETWORK = "tabular_mlp"
SET_BY_DATA = ("in_features", "num_outputs")
TRAINING: dict[str, Any] = {"loss": "mse", "epochs": 40, "batch_size": 64, "patience": 8}
"""Fields of `TrainingConfig` where rows differ from a forecast."""


def usual_baselines() -> tuple[Baseline, ...]:
    """All of them; without scikit-learn all but the trees."""
    return ("constant", "linear", "trees") if is_installed("sklearn") else ("constant", "linear")


class TabularConfig(Config):
    """A run of the task `tabular`; stored in its folder."""

    data: str | None = None
    """A table, or the name of a known data set; None for arrays in memory."""
    read: TableOptions = TableOptions()
    split: TableSplit = TableSplit()
    model: dict[str, Any] = Field(default_factory=dict)
    """Fields of `TabularMLP` without the inputs and outputs that the data set; `name` is one of its named sizes."""
    baselines: tuple[Baseline, ...] = Field(default_factory=usual_baselines)
    """Class shares or mean; logistic or ridge regression; gradient-boosted trees, which need scikit-learn."""
    training: TrainingConfig = TrainingConfig.parse(TRAINING)
    """`loss` is that of numbers; classes have cross-entropy."""
    draws: int = Field(200, ge=0)
    """Bootstrap samples of rows, or of groups, behind each interval; 0 gives none."""

    @field_validator("training", mode="before")
    @classmethod
    def _training_starts_from_that_of_rows(cls, training: Any) -> Any:
        return merge(TRAINING, training) if isinstance(training, dict) else training

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        known = list_models(f"{NETWORK}*")
        if self.model_name not in known:
            raise ValueError(f"model.name must be one of {', '.join(known)}{closest(self.model_name, known)}")
        given = [name for name in SET_BY_DATA if name in self.model]
        if given:
            raise ValueError(f"model.{given[0]} is set by the data. Leave it out")
        if self.training.loss == "cross_entropy":
            raise ValueError("training.loss is that of numbers: mse, mae or huber; classes have cross-entropy anyway")
        model_config(self.model_name, **self.network_fields(1, 1))
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", NETWORK))

    def network_fields(self, inputs: int, outputs: int) -> dict[str, Any]:
        """Fields of `create_model` on this data."""
        own = {name: value for name, value in self.model.items() if name != "name"}
        return {**own, "in_features": inputs, "num_outputs": outputs}
