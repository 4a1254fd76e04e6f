"""Settings of a run on grids."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from multiway.config import Flag, Plain
from multiway.data.options import Budget, Shares, ValidationShare
from multiway.tasks.options import (
    AUTO,
    Answering,
    check_model,
    network_fields,
    percentages,
    read_seconds,
)
from multiway.tasks.settings import PastMoments, Predict, TaskSettings
from multiway.training.config import TrainingConfig

NONE = "none"
"""In place of the name of a network."""
BY_DATA = ("context", "horizon", "channels", "features", "sizes")
"""Fields of a network that the data set, or other settings."""


class GridOptions(Budget):
    """How a grid is read."""

    target: Annotated[
        str | None, Flag("Variable to forecast, or several of one unit: u,v; the only one of the file if not given.")
    ] = None
    """Variable to forecast; several of one unit with commas between them."""
    axes: Annotated[
        tuple[str, ...] | None,
        Flag("What its axes are, in their order: time,lat,lon or time,height,width; found if not given."),
    ] = None
    """What the axes of the variable are, one of them time."""
    sentinels: tuple[float, ...] | None = None
    """Numbers that mean missing, besides those that the file names; those that stand apart are refused if not given."""
    season: Annotated[
        int | None,
        Flag("Steps of a season; those of a year, or of a day for steps of hours, if not given."),
        Field(ge=1),
    ] = None
    """Steps after which a season repeats; 1 is none."""

    @model_validator(mode="after")
    def _axes_differ(self) -> Self:
        if self.axes is not None and ("time" not in self.axes or len(set(self.axes)) < len(self.axes)):
            raise ValueError(f"axes are different names, one of them time. Got {','.join(self.axes)}")
        return self


class GridSplit(Shares):
    """How much of the times chooses and tests; the earliest are trained on."""

    validation: ValidationShare = 0.1
    """Share to choose on."""
    gap: int = Field(0, ge=0)
    """Times before each of these parts that are in none. No time is forecast in two parts in any case."""


class GridTraining(TrainingConfig):
    """How a network is trained."""

    batch_size: int = Field(8, ge=1)
    """Samples of a step: a time and a member each."""
    loss: Literal["mse"] = "mse"
    """Squared errors by area."""
    validation_loss: None = None
    """That of the training."""


class GridConfig(Answering):
    """A run of the task `grids`; stored in its folder. Data are NetCDF, Zarr, or .npz with the names of axes."""

    data: str | None = None
    """A path, or the name of a known data set; None for what is in memory."""
    read: GridOptions = GridOptions()
    split: GridSplit = GridSplit()
    context: Annotated[int, Flag("Times that a forecast sees."), Field(ge=1)] = 12
    """Last times that a forecast is made from."""
    horizon: Annotated[int, Flag("Times to forecast."), Field(ge=1)] = 6
    """Times after them that are forecast."""
    model: Annotated[
        Plain,
        Flag(
            'Network that corrects the floors: auto, none, or one of `multiway.list_models("*_grid_forecaster")`.',
            key="name",
            name="model",
            commands=("train",),
        ),
    ] = Field(default_factory=dict)
    """`name` of a network and its fields, without those that the data set. `auto` lets validation choose after a tenth
    of the budget each; without a budget, or with fields that not all have, it is a Higher-Order Transformer."""
    budget: Annotated[
        float | None,
        Flag("Time that the network may take: 60s, 10m or 1h.", commands=("train",), read=read_seconds),
        BeforeValidator(read_seconds),
    ] = 200.0
    """Seconds that the choice and the training of the network may take; it has the epochs that fit, which the run then
    keeps in place of the budget. None leaves it as long as it needs."""
    training: GridTraining = GridTraining()

    @model_validator(mode="after")
    def _network_fits(self) -> Self:
        if self.model.get("name", AUTO) not in (AUTO, NONE):
            from multiway.models import model_config  # the usual settings need no torch

            check_model(self.model, AUTO, ("*_grid_forecaster",), BY_DATA)
            model_config(str(self.model["name"]), **network_fields(self.model, sizes=(1, 1)))
        return self


class GridPredict(Predict):
    """Options of `multiway predict`."""

    levels: Annotated[
        tuple[float, ...] | None,
        Flag("Bands in percent, any: 80,95; their ends are quantiles beside the middle.", read=percentages),
    ] = None


GRIDS = TaskSettings(
    name="grids",
    purpose="The next fields of a grid in space and time.",
    example="--data sst.nc --target sst",
    config=GridConfig,
    data="check:GRID",
    uses={"predict": GridPredict, "backtest": PastMoments},
)
