"""Tables of the papers as printed, whole: every method, whether a recipe runs it or not."""

import functools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from multiway.config import Config, load_yaml
from multiway.errors import ConfigError, closest

TABLES = Path(__file__).parent / "tables"
Head = tuple[str, str]
"""A column and one of its metrics."""
Horizon = int | Literal["mean"] | None
MEAN: Literal["mean"] = "mean"
HIGHER_IS_BETTER = {
    **dict.fromkeys(("acc", "auc", "f1", "weighted_f1", "mcc", "top5", "hard_auc"), True),
    **dict.fromkeys(("mae", "mse", "smape"), False),
}
"""Metrics of which one value is the best; counts of cases and parameters are not compared."""


class Figure(NamedTuple):
    """A score and its deviation over seeds, where that is known."""

    value: float
    deviation: float | None = None


class Printing(NamedTuple):
    """A printed figure with what says how sure it is.

    deviation: Over print's seeds, where it is printed.
    decimals: Digits after the point.
    """

    value: float
    deviation: float | None
    seeds: int | None
    decimals: int


class Line(NamedTuple):
    """A method's figures, at one horizon or as their mean where a table has horizons.

    facts: Year, parameters and complexity, where they are known.
    is_ours: Whether it was measured here.
    """

    method: str
    horizon: Horizon
    figures: Mapping[Head, Figure]
    facts: Mapping[str, Any] = {}
    is_ours: bool = False


def with_mean(lines: Sequence[Line], horizons: Sequence[int]) -> list[Line]:
    """Lines of one method, and their mean where all horizons are there."""
    if not horizons or [line.horizon for line in lines] != list(horizons):
        return list(lines)
    known = [head for head in lines[0].figures if all(head in line.figures for line in lines)]
    means = {head: Figure(statistics.fmean(line.figures[head].value for line in lines)) for head in known}
    return [*lines, lines[0]._replace(horizon=MEAN, figures=means)]


def _by_horizon(given: Any) -> Any:
    """One list of numbers stands for a table without horizons."""
    return {None: given} if isinstance(given, list) else given


Numbers = tuple[int | FiniteFloat | None, ...]
"""One number for each metric of each column, in order; None where none is printed."""
Printed = Annotated[dict[int | None, Numbers], BeforeValidator(_by_horizon)]
"""A list of numbers, or one for each horizon."""


class Method(Config):
    """One method of a table, as printed."""

    title: str
    year: int | None = None
    parameters: str | None = None
    complexity: str | None = None
    figures: Printed = Field(default_factory=dict)
    """Percentages are shares."""
    deviations: Printed = Field(default_factory=dict)
    """Standard deviations over seeds."""

    @property
    def facts(self) -> dict[str, Any]:
        """What is printed with the figures."""
        return {name: getattr(self, name) for name in ("year", "parameters", "complexity")}


class Slip(Config):
    """A printed figure that other figures of the same paper contradict."""

    method: str
    column: str
    metric: str
    implied: FiniteFloat
    """What the other figures give."""


class Curves(Config):
    """What a published figure draws over a size; its recipes' variants are called by a method and a size, or a size."""

    over: str
    """What the size is."""
    panels: dict[str, str]
    """Title of each panel, by the field of a row of results."""
    rivals: tuple[str, ...] = ()
    """Baselines that are drawn as level lines."""


class PublishedTable(Config):
    """A table or figure of a paper, whole."""

    title: str
    source: str
    own: str | None = None
    """The paper's own method, where the table has one."""
    recipes: tuple[str, ...] | None = None
    """Tables of recipes whose cells belong into these columns; the one of the same name if not given."""
    measured_by: tuple[str, ...] = ()
    """Tables of recipes that measure these figures, where none has this name."""
    seeds: int | None = None
    """Of how many runs its figures are means, where that is printed."""
    incomparable: dict[str, str] = Field(default_factory=dict)
    """Metrics whose printed figures have no counterpart here, each with the reason."""
    deviations_in: str | None = None
    """The table that has deviations of the same figures."""
    columns: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Metrics by data set, named as rows of recipes are."""
    horizons: tuple[int, ...] = ()
    methods: dict[str, Method]
    curves: Curves | None = None
    """How a figure without printed values is drawn from measured cells."""
    costs: dict[str, str] = Field(default_factory=dict)
    """Titles of the scores that a figure draws over time and memory, by the field of a row of results."""
    slips: tuple[Slip, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader has to know, among it what the paper's words say and its figures do not."""

    @property
    def heads(self) -> list[Head]:
        """Columns with their metrics, in the order of the numbers of a line."""
        return [(column, metric) for column, metrics in self.columns.items() for metric in metrics]

    def decimals(self, head: Head) -> int:
        """Digits after the point, as printed."""
        printed = (line.figures[head].value for line in self.lines() if line.horizon != MEAN and head in line.figures)
        return max((len(repr(value).partition(".")[2]) for value in printed), default=3)

    def lines(self) -> list[Line]:
        """Methods as printed, each with its mean over the horizons."""
        printed = ([self._line(method, horizon) for horizon in method.figures] for method in self.methods.values())
        return [line for lines in printed for line in with_mean(lines, self.horizons)]

    def figure(self, method: str, column: str, metric: str, horizon: int | None = None) -> Figure | None:
        """One figure, if it is printed; a mean over the horizons is not."""
        known = self.methods[method]
        return self._line(known, horizon).figures.get((column, metric)) if horizon in known.figures else None

    def column_of(self, *names: str | None) -> str | None:
        """The first of some names, such as those of a cell's row and data, that a column has."""
        return next((name for name in names if name in self.columns), None)

    def scores(self, method: str, column: str, horizon: int | None = None) -> dict[str, float]:
        """What is printed of a method in a column, by metric; sizes aside."""
        for name, known in ((method, self.methods), (column, self.columns)):
            if name not in known:
                raise ConfigError(f"{self.source}: has no {name}{closest(name, known)} Known: {', '.join(known)}.")
        figures = self._line(self.methods[method], horizon).figures
        scores = [metric for metric in self.columns[column] if metric != "parameters"]
        return {metric: figures[column, metric].value for metric in scores if (column, metric) in figures}

    def printing(self, method: str, head: Head, horizon: int | None = None) -> Printing | None:
        """One figure with its deviation and seeds, its own or those of the table that has them."""
        figure = self.figure(method, *head, horizon) if head in self.heads else None
        if figure is None:
            return None
        other = load_published(self.deviations_in) if self.deviations_in else self
        spread = other.figure(method, *head, horizon) if method in other.methods else None
        return Printing(figure.value, spread.deviation if spread else None, other.seeds, self.decimals(head))

    def _line(self, method: Method, horizon: int | None) -> Line:
        deviations = method.deviations.get(horizon) or (None,) * len(self.heads)
        printed = zip(self.heads, method.figures[horizon], deviations, strict=True)
        figures = {head: Figure(value, deviation) for head, value, deviation in printed if value is not None}
        return Line(method.title, horizon, figures, method.facts)

    @model_validator(mode="after")
    def _methods_have_every_column(self) -> Self:
        horizons = list(self.horizons or [None])
        for name, method in self.methods.items():
            for field, printed in (("figures", method.figures), ("deviations", method.deviations)):
                if printed and list(printed) != horizons:
                    raise ValueError(f"methods.{name}.{field}: give horizons {horizons}. Got {list(printed)}")
                self._check_lengths(f"methods.{name}.{field}", printed.values())
        return self

    def _check_lengths(self, where: str, lines: Iterable[Numbers]) -> None:
        for numbers in lines:
            if len(numbers) != len(self.heads):
                raise ValueError(f"{where}: give {len(self.heads)} numbers a line. Got {len(numbers)}")

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        if self.own is not None and self.own not in self.methods:
            raise ValueError(f"own: is one of {', '.join(self.methods)}. Got {self.own}")
        for slip in self.slips:
            if slip.method not in self.methods or self.figure(slip.method, slip.column, slip.metric) is None:
                raise ValueError(f"slips: no cell is {slip.method} {slip.column} {slip.metric}")
        return self


@functools.cache
def published_tables() -> tuple[str, ...]:
    """Names of the published tables and figures."""
    return tuple(sorted(path.stem for path in TABLES.glob("*.yaml")))


@functools.cache
def load_published(name: str) -> PublishedTable:
    """Read a published table by its name.

    Raises:
        ConfigError: None is called so.
    """
    if name not in published_tables():
        near = closest(name, published_tables())
        raise ConfigError(f"no published table is called {name}{near} `multiway published` lists them.")
    return PublishedTable.parse(load_yaml(TABLES / f"{name}.yaml"), f"{name}.yaml")


def published_for(table: str) -> PublishedTable | None:
    """The published table into whose columns the cells of a table of recipes belong, if there is one."""
    loaded = {name: load_published(name) for name in published_tables()}
    if table in loaded and (loaded[table].recipes is None or loaded[table].measured_by):
        return loaded[table]
    return next((candidate for candidate in loaded.values() if table in (candidate.recipes or ())), None)
