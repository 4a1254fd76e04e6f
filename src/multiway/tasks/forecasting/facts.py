"""What a stored run of forecasts says of its data and of the choice on validation, and what needs care in it."""

import math
from collections.abc import Iterator, Sequence

from pydantic import ConfigDict

from multiway.config import Config
from multiway.tasks.forecasting.splitting import about_young
from multiway.tasks.protocol import Row
from multiway.tasks.stored import Facts


class StretchFacts(Config):
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


class ShareFacts(Config):
    """The network's share up to a step."""

    stop: int
    weight: float
    prior: float
    optimum: float
    deviation: float | None
    blocks: int


class SelectionFacts(Config):
    """Ridge, the network, or a blend."""

    model_config = ConfigDict(extra="allow")

    sentence: str
    weight: float = 0.0
    shares: tuple[ShareFacts, ...] = ()
    floor_error: float | None = None
    network_error: float | None = None
    blend_error: float | None = None


class ForecastFacts(Facts):
    """Of a panel of series."""

    rows: int
    variates: int
    layout: str
    missing_cells: int
    splits: dict[str, StretchFacts]
    young: list[str]
    intervals: Intervals
    coverage: list[Coverage]
    selection: SelectionFacts


def cautions(facts: Row) -> Iterator[str]:
    """One line each, from the facts of a run."""
    if facts["young"]:
        yield f"{about_young(facts['young'])}."
    yield from _on_few_errors(facts)
    yield from _not_held(facts["coverage"])


def _on_few_errors(facts: Row) -> Iterator[str]:
    windows, shares = facts["intervals"]["windows"], facts["intervals"]["by_student"]
    levels = [row["level"] for row, share in zip(facts["coverage"], shares, strict=True) if share > 0]
    if levels:
        needed = math.ceil(levels[-1] / (100 - levels[-1]))
        listed = " and ".join(f"{level:g} %" for level in levels)
        where = "" if shares[-1] == 1 else f", for {shares[-1]:.0%} of steps and series"
        yield (
            f"Validation has {windows} window{'s' if windows != 1 else ''} and an interval at {levels[-1]:g} % needs "
            f"{needed}: the width of {listed} is Student's t over errors of ridge out of time as well{where}."
        )


def _not_held(coverage: Sequence[Row]) -> Iterator[str]:
    """Bands that missed at least twice as many test values as they may."""
    for row in coverage:
        if 100 - row["actual"] >= 2 * (100 - row["level"]):
            yield (
                f"The {row['level']:g} % interval held {row['actual']:.0f} % of the test values: "
                "the test rows are harder than validation, and the future may be."
            )
