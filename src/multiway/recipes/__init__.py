"""One YAML file per cell of a published table: its settings, its published figure, and its source."""

import fnmatch
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from multiway.config import Config, load_yaml
from multiway.errors import ConfigError, closest


class Published(Config):
    """A figure as printed, and where."""

    mse: float | None = None
    mae: float | None = None
    source: str


class Recipe(Config):
    """Settings that reproduce one cell; a cell averaged over horizons lists them all."""

    task: Literal["forecast"]
    table: str
    """Table this cell belongs to, such as hot-table-1."""
    row: str
    """What the row is called there: a data set."""
    variant: str | None = None
    """What distinguishes cells of one row, such as the attended modes."""
    data: str
    """Name of a known data set."""
    horizons: tuple[int, ...] = Field(min_length=1)
    published: Published | None = None
    note: str | None = None
    """What a reader of the figures has to know."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Fields of the task's config."""


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
