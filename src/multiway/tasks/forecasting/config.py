"""Everything that determines a forecasting run."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from multiway.config import Config, merge
from multiway.data import ReadOptions, SplitOptions
from multiway.models import list_models, model_config, model_defaults
from multiway.tasks.settings import check_model, network_fields, starting_from
from multiway.training import TrainingConfig

LONGEST_PATCH = 16
OURS = "hot_forecaster"
Baseline = Literal["rlinear", "dlinear"]
LINEAR: dict[str, Any] = {"loss": "mse", "epochs": 10}
"""Fields of `TrainingConfig` where a linear baseline differs from the network: as in print, until it stops early."""


class ForecastConfig(Config):
    """A run of the task `forecast`; stored in its folder."""

    data: str | None = None
    """Path of a file, or the name of a known data set; None for a frame in memory."""
    read: ReadOptions = ReadOptions()
    split: SplitOptions = SplitOptions()
    lookback: int = Field(96, ge=1)
    """Past steps that every model sees."""
    horizon: int = Field(96, ge=1)
    """Steps to forecast."""
    season: int | None = Field(None, ge=1)
    """Steps in a season, for the seasonal naive forecast; from the frequency if not given."""
    network: bool = True
    """Train a network; without one the run is the ridge forecast, in about a second."""
    selection: Literal["auto", "ridge", "network"] = "auto"
    """Let validation decide between ridge, network and a blend, or decide beforehand."""
    model: dict[str, Any] = Field(default_factory=dict)
    """`name` of a forecaster and its fields, without the variates, which the data set, and the steps, set above."""
    training: TrainingConfig = TrainingConfig.parse({})
    baselines: tuple[Baseline, ...] = ()
    """Linear forecasters of the literature, trained and scored beside ridge and the naive forecasts."""
    baseline_training: Annotated[dict[str, Any], starting_from(LINEAR)] = Field(LINEAR)
    """Fields of `training` that are others for the baselines."""
    levels: tuple[float, ...] = (80.0, 95.0)
    """Interval levels in percent."""

    @field_validator("levels")
    @classmethod
    def _levels_are_percentages(cls, levels: tuple[float, ...]) -> tuple[float, ...]:
        if not all(1 <= level < 100 for level in levels):
            raise ValueError("levels are percentages, from 1 to less than 100")
        return tuple(sorted(set(levels)))

    @model_validator(mode="after")
    def _losses_are_of_numbers(self) -> Self:
        for training in (self.training, self.linear_training):
            if "cross_entropy" in (training.loss, training.validation_loss):
                raise ValueError("a forecast is trained with mse, mae or huber; cross_entropy is for classes")
        return self

    @model_validator(mode="after")
    def _model_can_be_built(self) -> Self:
        check_model(self.model, OURS, list_models("*hot_forecaster*"), ("num_variates",))
        given = [name for name in ("lookback", "horizon") if name in self.model]
        if given:
            raise ValueError(f"model.{given[0]} is the {given[0]} of the run. Set {given[0]} instead")
        if self.network:
            model_config(self.model_name, **self.network_fields(num_variates=1))
        return self

    @property
    def linear_training(self) -> TrainingConfig:
        """How the baselines are trained."""
        return TrainingConfig.parse(merge(self.training.plain(), self.baseline_training), "baseline_training")

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", OURS))

    def network_fields(self, num_variates: int) -> dict[str, Any]:
        """Fields of `create_model` on this data; patches adapt to the look-back unless they are given."""
        has_patch = "patch_length" in {**model_defaults(self.model_name), **self.model}
        patch = {} if has_patch else {"patch_length": _longest_patch(self.lookback)}
        sizes = {"num_variates": num_variates, "lookback": self.lookback, "horizon": self.horizon}
        return {**patch, **network_fields(self.model, **sizes)}


def _longest_patch(lookback: int) -> int:
    return max(length for length in range(1, LONGEST_PATCH + 1) if lookback % length == 0)
