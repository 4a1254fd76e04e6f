"""One YAML file per cell of a published table: its settings, its published figure, and its source."""

import fnmatch
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config, load_yaml
from multiway.errors import ConfigError, closest

FIGURES: dict[str, tuple[str, ...]] = {
    "mse": ("forecast",),
    "mae": ("forecast",),
    "auc": ("volumes",),
    "acc": ("volumes", "segment", "stocks"),
    "f1": ("stocks",),
    "mcc": ("stocks",),
    "dice": ("segment",),
}
"""Published metrics, each with the tasks that measure it; auc, acc, f1 and dice from 0 to 1, mcc from -1 to 1."""


class Published(Config):
    """Figures as printed, and where; percentages as shares."""

    mse: float | None = Field(None, ge=0)
    mae: float | None = Field(None, ge=0)
    auc: float | None = Field(None, ge=0, le=1)
    acc: float | None = Field(None, ge=0, le=1)
    f1: float | None = Field(None, ge=0, le=1)
    mcc: float | None = Field(None, ge=-1, le=1)
    dice: float | None = Field(None, ge=0, le=1)
    source: str


class Recipe(Config):
    """Settings that reproduce one cell; a cell averaged over horizons lists them all."""

    task: Literal["forecast", "volumes", "segment", "stocks"]
    table: str
    """Table this cell belongs to, such as hot-table-1."""
    row: str
    """What the row is called there: a data set."""
    variant: str | None = None
    """What distinguishes cells of one row, such as the attended modes."""
    data: str
    """Name of a known data set."""
    horizons: tuple[int, ...] = ()
    """Steps to forecast, one run each; of forecasts only."""
    published: Published | None = None
    note: str | None = None
    """What a reader of the figures has to know."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Fields of the task's config."""

    @model_validator(mode="after")
    def _fields_fit_the_task(self) -> Self:
        if bool(self.horizons) != (self.task == "forecast"):
            raise ValueError(f"horizons belong to the task forecast, at least one. Got {self.task}, {self.horizons}")
        foreign = [metric for metric in self.figures if self.task not in FIGURES[metric]]
        if foreign:
            raise ValueError(f"published: {', '.join(foreign)} is no figure of the task {self.task}")
        return self

    @property
    def figures(self) -> dict[str, float]:
        """Published scores by metric."""
        given = {} if self.published is None else self.published.model_dump()
        return {metric: given[metric] for metric in FIGURES if given.get(metric) is not None}

    def settings_of_runs(self) -> list[dict[str, Any]]:
        """Settings of each run that the cell is the mean of: one per horizon, or one."""
        base = {"data": self.data, **self.settings}
        return [{"horizon": horizon, **base} for horizon in self.horizons] or [base]


def recipe_names(pattern: str = "*") -> list[str]:
    """Names that match a shell pattern, sorted."""
    found = (Path(entry.name).stem for entry in files(__name__).iterdir() if entry.name.endswith(".yaml"))
    return sorted(fnmatch.filter(found, pattern))


def load_recipe(name: str) -> Recipe:
    """Read a recipe by its name, or from a YAML file of the user's.

    Raises:
        ConfigError: No such name or file, or a field is wrong.

    """
    path = Path(name)
    if path.suffix not in {".yaml", ".yml"}:
        if name not in recipe_names():
            raise ConfigError(
                f"no recipe is called {name}{closest(name, recipe_names())} `multiway recipes` lists them."
            )
        path = Path(str(files(__name__).joinpath(f"{name}.yaml")))
    return Recipe.parse(load_yaml(path), path.name)


def recipes_of(table: str) -> dict[str, Recipe]:
    """All cells of one table, by recipe name.

    Raises:
        ConfigError: No recipe belongs to that table.

    """
    every = {name: load_recipe(name) for name in recipe_names()}
    found = {name: recipe for name, recipe in every.items() if recipe.table == table}
    if not found:
        tables = sorted({recipe.table for recipe in every.values()})
        raise ConfigError(
            f"no recipe belongs to a table called {table}{closest(table, tables)} Known: {', '.join(tables)}."
        )
    return found
