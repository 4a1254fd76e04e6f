"""Cells of published tables: one YAML grid per table, one recipe per cell; beside them the tables as printed."""

import fnmatch
import functools
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from multiway.config import load_yaml
from multiway.errors import ConfigError, closest
from multiway.recipes.grid import Cell, Grid, resolve
from multiway.recipes.published import load_published as load_published
from multiway.recipes.published import published_tables as published_tables
from multiway.recipes.recipe import Published as Published
from multiway.recipes.recipe import Recipe as Recipe
from multiway.recipes.space import Space as Space
from multiway.recipes.space import load_space as load_space
from multiway.recipes.space import space_names as space_names


def recipe_names(pattern: str = "*") -> list[str]:
    """Names that match a shell pattern, sorted."""
    return sorted(fnmatch.filter((name for table in _tables() for name in _cells(table)), pattern))


def table_names() -> list[str]:
    """Names of the tables that have recipes of their own."""
    return list(_tables())


def reproducible_names() -> list[str]:
    """Names of these, and of the published tables that they measure."""
    return list(_homes())


def load_recipe(name: str) -> Recipe:
    """Read a recipe by its name, or from a YAML file of the user's.

    Raises:
        ConfigError: No such name or file, or a field is wrong.

    """
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        return Recipe.parse(load_yaml(path), path.name)
    for table in _tables():
        if name in _cells(table):
            return _recipe(table, name)
    raise ConfigError(f"no recipe is called {name}{closest(name, recipe_names())} `multiway recipes` lists them.")


def recipes_of(table: str) -> dict[str, Recipe]:
    """All cells of one table, by recipe name, row by row as printed; of a published one those that measure it.

    Raises:
        ConfigError: No recipe belongs to that table.

    """
    known = _homes()
    if table not in known:
        near, names = closest(table, known), ", ".join(known)
        raise ConfigError(f"no recipe belongs to a table called {table}{near} Known: {names}.")
    return {name: _recipe(home, name) for home in known[table] for name in _cells(home)}


@functools.cache
def _homes() -> dict[str, tuple[str, ...]]:
    """Tables of recipes and published tables that these measure, each with the tables whose recipes it runs."""
    elsewhere = {name: load_published(name).measured_by for name in published_tables()}
    own = {name: (name,) for name in _tables()}
    return dict(sorted((own | {name: tables for name, tables in elsewhere.items() if tables}).items()))


@functools.cache
def _tables() -> tuple[str, ...]:
    return tuple(sorted(Path(entry.name).stem for entry in files(__name__).iterdir() if entry.name.endswith(".yaml")))


@functools.cache
def _grid(table: str) -> Grid:
    fields = _read(f"{table}.yaml")
    names = {part.get("paper") for part in (fields, *fields.get("variants", {}).values())} - {None}
    return Grid.parse({**fields, "papers": {name: _read(f"papers/{name}.yaml") for name in names}}, f"{table}.yaml")


def _read(name: str) -> dict[str, Any]:
    with as_file(files(__name__).joinpath(name)) as path:
        return load_yaml(path)


@functools.cache
def _cells(table: str) -> dict[str, Cell]:
    grid = _grid(table)
    return {grid.name_of(cell): cell for cell in grid.all_cells()}


def _recipe(table: str, name: str) -> Recipe:
    fields = resolve(_grid(table), _cells(table)[name])
    return Recipe.parse({**fields, "table": table}, f"{table}.yaml: {name}")
