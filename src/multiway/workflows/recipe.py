"""A recipe: settings to start runs from, and the cell of a published table that they reproduce, if there is one."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field, FiniteFloat

from multiway.config import Config, load_yaml, merge
from multiway.errors import ConfigError, closest
from multiway.lazy import load_extensions


class Published(Config):
    """Figures as printed, under the metrics' names, and where; percentages as shares."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, FiniteFloat] = Field(init=False)

    source: str


class Recipe(Config):
    """Settings that reproduce one cell; a cell averaged over horizons lists them all."""

    task: str
    table: str
    """Table this cell belongs to, such as hot-table-1."""
    row: str
    """What the row is called there: a data set."""
    variant: str | None = None
    """What distinguishes cells of one row, such as the attended modes."""
    form: str | None = None
    """`paper` where the model is as the paper prints it, or another form of it; none where it is not the paper's."""
    data: str | None
    """Name of a known data set, or a path; None for one that was searched in memory."""
    horizons: tuple[int, ...] = ()
    """Steps to forecast, one run each; none where the task has none."""
    published: Published | None = None
    note: str | None = None
    """What a reader of the figures has to know."""
    first: dict[str, str] = Field(default_factory=dict)
    """Runs that have to be there before, such as a teacher's: by their folder the recipe that trains each."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Fields of the task's config."""

    @property
    def figures(self) -> dict[str, float]:
        """Published scores by metric."""
        return {} if self.published is None else dict(self.published.__pydantic_extra__)

    def at(self, horizons: Collection[str]) -> "Recipe":
        """The cell at some of its horizons, without the figures that are printed of all of them."""
        left = tuple(horizon for horizon in self.horizons if str(horizon) in horizons)
        return self if left == self.horizons else self.model_copy(update={"horizons": left, "published": None})

    def of_row(self, row: Mapping[str, Any]) -> "Recipe":
        """The cell at the horizons that a measured row names; at all where it names none."""
        return self.at(str(row["horizons"]).split(",")) if row.get("horizons") else self

    def settings_of_runs(self) -> list[dict[str, Any]]:
        """Settings of each run that the cell is the mean of, one per horizon, or one.

        Its network answers, but that recipes of forecasts say so themselves: some are of ridge and a network.
        """
        answer = {} if self.task == "forecast" else {"answer": "network"}
        base = {"data": self.data, **answer, **self.settings}
        return [{"horizon": horizon, **base} for horizon in self.horizons] or [base]


class RecipeSource(NamedTuple):
    """Recipes by name.

    names: All that there are.
    load: Reads one of them.
    """

    names: Callable[[], Collection[str]]
    load: Callable[[str], Recipe]


_SOURCES: list[RecipeSource] = []


def register_recipes(source: RecipeSource) -> None:
    """Let `load_recipe` find the recipes of a source by their names."""
    _SOURCES.append(source)


def recipe_names() -> list[str]:
    """Names of all recipes, sorted."""
    load_extensions("recipes")
    return sorted(name for source in _SOURCES for name in source.names())


def load_recipe(name: str) -> Recipe:
    """Read a recipe by its name, or from a YAML file of the user's.

    Raises:
        ConfigError: No such name or file, or a field is wrong.

    """
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        return Recipe.parse(load_yaml(path), path.name)
    load_extensions("recipes")
    for source in _SOURCES:
        if name in source.names():
            return source.load(name)
    raise ConfigError(f"no recipe is called {name}{closest(name, recipe_names())} `multiway recipes` lists them.")


def under_recipe(name: str, task: str | None, settings: dict[str, Any]) -> tuple[Recipe, dict[str, Any]]:
    """A recipe and the settings of its first run, under those that are given.

    Raises:
        ConfigError: There is no such recipe, or it is one of another task.
    """
    recipe = load_recipe(name)
    if task not in (None, recipe.task):
        raise ConfigError(f"the recipe {name} is one of the task {recipe.task}. Got {task}; write {recipe.task}.")
    return recipe, merge(recipe.settings_of_runs()[0], settings)
