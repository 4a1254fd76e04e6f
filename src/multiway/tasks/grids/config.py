"""Settings of a run on grids."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from multiway.config import Flag
from multiway.data.options import Budget, Shares, ValidationShare
from multiway.tasks.options import Answering
from multiway.tasks.settings import TaskSettings
from multiway.training.config import TrainingConfig


class GridOptions(Budget):
    """How a grid is read."""

    target: Annotated[str | None, Flag("Variable to forecast; the only one of the file if not given.")] = None
    """Variable to forecast."""
    axes: Annotated[
        tuple[str, ...] | None,
        Flag("What its axes are, in their order: time,lat,lon or time,height,width; found if not given."),
    ] = None
    """What the axes of the variable are, one of them time."""
    fill: Annotated[
        float | None, Flag("Number that means missing, besides those that the file names; none if not given.")
    ] = None
    """A number that stands for no value."""
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


class ClosedForms(TrainingConfig):
    """A training without steps."""

    epochs: int = 1
    """Nothing is repeated."""
    track: None = None
    """Nothing is logged."""


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
    training: ClosedForms = ClosedForms()


GRIDS = TaskSettings(
    name="grids",
    purpose="The next fields of a grid in space and time.",
    example="--data sst.nc --target sst",
    config=GridConfig,
    data="check:GRID",
)
