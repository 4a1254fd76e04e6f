"""Schema of what a stored run of forecasts says of its data and of the choice on validation."""

from pydantic import ConfigDict

from multiway.config import Config
from multiway.tasks.stored import Facts


class SplitFacts(Config):
    """Rows of a split."""

    rows: int
    windows: int
    first: str
    last: str
    start: int
    stop: int


class Coverage(Config):
    """What the bands of one level hold."""

    model_config = ConfigDict(extra="allow")

    level: float
    actual: float
    width: float
    by_step: list[float]


class Intervals(Config):
    """What the bands rest on: windows of validation, and by level the share of cells under Student's t."""

    windows: int
    by_student: list[float]


class Share(Config):
    """The network's share up to a step."""

    stop: int
    weight: float
    prior: float
    optimum: float
    deviation: float | None
    blocks: int


class Selection(Config):
    """Ridge, the network, or a blend."""

    model_config = ConfigDict(extra="allow")

    sentence: str
    weight: float = 0.0
    shares: tuple[Share, ...] = ()
    floor_error: float | None = None
    network_error: float | None = None
    blend_error: float | None = None


class ForecastFacts(Facts):
    """Of a panel of series."""

    rows: int
    variates: int
    layout: str
    missing_cells: int
    splits: dict[str, SplitFacts]
    young: list[str]
    intervals: Intervals
    coverage: list[Coverage]
    selection: Selection
