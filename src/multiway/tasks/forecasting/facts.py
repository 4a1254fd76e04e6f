"""What a stored run of forecasts says of its data and of the choice on validation, and what needs care in it."""

import math
from collections.abc import Iterator

from pydantic import ConfigDict, Field

from multiway.config import Config
from multiway.data.findings import list_some
from multiway.tasks.forecasting.splitting import words_on_young
from multiway.tasks.protocol import Row
from multiway.tasks.stored import Facts

FOLLOWED = {
    "following": "the errors of the last rows",
    "by_network": "the quantiles of the network",
    "by_covariates": "what is known ahead",
}
"""What bands widen and narrow with, by the fact that counts their series."""


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
    """What the bands rest on: windows of validation, and by level the share of cells under Student's t.

    following: Series whose bands follow the size of recent errors.
    by_network, by_covariates: Series whose bands are as wide as the quantiles of the network, or covariates, say.
    first: The first time of the test rows, from which on errors are recent.
    wider: What bands of the future are multiplied by, of series whose bands missed the test rows by far.
    """

    windows: int
    by_student: list[float]
    following: int = 0
    by_network: int = 0
    by_covariates: int = 0
    first: str = ""
    wider: dict[str, float] = Field(default_factory=dict)


class ShareFacts(Config):
    """Weights of the candidates up to a step, and the blocks of windows behind them."""

    stop: int
    blocks: int
    weights: dict[str, float]


class SelectionFacts(Config):
    """The candidate that answers, or a blend of several."""

    model_config = ConfigDict(extra="allow")

    sentence: str
    answer: str
    weight: float
    """Of the network, averaged over steps."""
    weights: dict[str, float]
    later: dict[str, float] = Field(default_factory=dict)
    """Those of the future, where they follow the errors on the test rows as well."""
    shares: tuple[ShareFacts, ...]
    errors: dict[str, float]
    """Losses by the metric on the windows that were compared, ours first."""
    metric: str
    windows: int
    validation: int


class CovariateFacts(Config):
    """What a covariate saves of the error of a regression on validation, where it is left out."""

    name: str
    known: bool
    """Ahead."""
    model: str
    without: float
    error: float
    saved: float


class ForecastFacts(Facts):
    """Of a panel of series."""

    rows: int
    variates: int
    layout: str
    missing_cells: int
    splits: dict[str, StretchFacts]
    young: list[str]
    unscored: list[str] = Field(default_factory=list)
    """Series of which no test value is scored."""
    intervals: Intervals
    coverage: list[Coverage]
    selection: SelectionFacts
    covariates: list[CovariateFacts] = Field(default_factory=list)
    refit: dict[str, int]
    """Rows that candidates were refitted on, by what they then forecast; none where they were not."""
    retrained: float
    """Epochs for which the network was trained once more on each of these."""


def refit_words(facts: Row) -> str:
    """On what the answer was refitted before it was used, as the end of a line; empty where it was not."""
    rows = facts["refit"]
    if not rows:
        return ""
    epochs, alone = facts["retrained"], ""
    if facts["selection"]["weight"]:
        alone = f", the network for {epochs:g} epochs" if epochs else "; the network saw the training rows alone"
    return f" Refitted on {rows['test']:,} rows for the test rows, on all {rows['future']:,} for the future{alone}."


def words_on_refit(facts: Row) -> Iterator[str]:
    """What was refitted on which rows, and what was kept, for whoever reads scores and forecasts."""
    rows, epochs = facts["refit"], facts["retrained"]
    if rows:
        but = "" if epochs else " but those of networks"
        yield (
            f"All forecasts{but} are refitted on the {rows['test']:,} rows before the test rows, "
            f"and on all {rows['future']:,} before the future is forecast."
        )
        if epochs:
            yield f"Each time the network is trained anew from its seed, for the {epochs:g} epochs that were best."
        later = facts["selection"].get("later")
        if later:
            shares = ", ".join(f"{name} {share:.0%}" for name, share in later.items())
            yield f"For the future, weights follow the errors on the test rows as well: {shares}."
            yield "The width of bands stays as validation has it, and scales as the training rows do."
        else:
            yield "Weights and the width of bands stay as validation has them, and scales as the training rows do."


def words_on_following(intervals: Row, series: int) -> Iterator[str]:
    """Whose bands follow the size of recent errors, a network's quantiles or covariates, for whoever reads them."""
    for name, cause in FOLLOWED.items():
        count = intervals[name]
        if count:
            whose = "The bands" if count == series else f"The bands of {count} of {series} series"
            yield f"{whose} widen and narrow with {cause}. That lowers their loss on validation."


def cautions(facts: Row) -> Iterator[str]:
    """One line each, from the facts of a run."""
    if facts["young"]:
        yield f"{words_on_young(facts['young'])}."
    if unscored := facts.get("unscored"):
        count = f"{len(unscored):,} of {facts['variates']:,} series"
        verb = "is" if len(unscored) == 1 else "are"
        yield f"{list_some(unscored)}: no test value to score, so {count} {verb} in no score."
    windows, shares = facts["intervals"]["windows"], facts["intervals"]["by_student"]
    levels = [row["level"] for row, share in zip(facts["coverage"], shares, strict=True) if share > 0]
    if levels:
        needed = math.ceil(levels[-1] / (100 - levels[-1]))
        listed = " and ".join(f"{level:g} %" for level in levels)
        where = "" if shares[-1] == 1 else f", for {shares[-1]:.0%} of steps and series"
        yield (
            f"Forecasts out of time are of {windows} window{'s' if windows != 1 else ''} and an interval at "
            f"{levels[-1]:g} % needs {needed}: the width of {listed} is Student's t{where}."
        )
    for row in facts["coverage"]:  # bands that missed at least twice as many test values as they may
        if 100 - row["actual"] >= 2 * (100 - row["level"]):
            yield (
                f"The {row['level']:g} % interval held {row['actual']:.0f} % of the test values: "
                "the test rows are harder than validation, and the future may be."
            )
