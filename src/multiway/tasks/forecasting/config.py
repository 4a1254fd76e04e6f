"""Everything that determines a forecasting run."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from multiway.config import Config, merge
from multiway.data import ReadOptions, SplitOptions
from multiway.models.hot_forecaster import HOTForecasterConfig
from multiway.tasks.settings import starting_from
from multiway.training import TrainingConfig

LONGEST_PATCH = 16
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
    """Fields of `HOTForecasterConfig`, without the sizes that the data sets."""
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
        if self.network:
            self.network_config(num_variates=1)
        return self

    @property
    def linear_training(self) -> TrainingConfig:
        """How the baselines are trained."""
        return TrainingConfig.parse(merge(self.training.plain(), self.baseline_training), "baseline_training")

    def network_config(self, num_variates: int) -> HOTForecasterConfig:
        """Config of the network on this data; patches adapt to the look-back unless they are given."""
        sizes = {"num_variates": num_variates, "lookback": self.lookback, "horizon": self.horizon}
        patch = {} if "patch_length" in self.model else {"patch_length": _longest_patch(self.lookback)}
        return HOTForecasterConfig.parse({**patch, **self.model, **sizes}, "model")


def _longest_patch(lookback: int) -> int:
    return max(length for length in range(1, LONGEST_PATCH + 1) if lookback % length == 0)
