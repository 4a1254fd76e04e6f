"""Cells of published tables: one YAML grid per table, one recipe per cell, whose figures the printed table has."""

import fnmatch
import functools
import pickle
from pathlib import Path
from typing import Any, NamedTuple

from multiway.config import load_yaml
from multiway.errors import ConfigError, closest
from multiway.workflows.recipe import Recipe, RecipeSource, register_recipes
from multiway.workflows.space import register_space
from multiway_papers.grid import GridCell, RecipeGrid, Reference, Setting, resolve, trace
from multiway_papers.printed import Printing, PublishedTable, load_published, published_tables

ROOM = Path(__file__).parent
OPEN = ("fev", "gift")
"""Benchmarks that have tasks and published results in place of recipes."""
RANKS = "hot-effective-rank"
"""Shares of maps that Kronecker terms hold: networks in place of recipes."""


def recipe_names(pattern: str = "*") -> list[str]:
    """Names that match a shell pattern, sorted."""
    return sorted(fnmatch.filter(_tables_of_recipes(), pattern))


def table_names() -> list[str]:
    """Names of the tables that have recipes of their own."""
    return list(_tables())


def reproducible_names() -> list[str]:
    """Names of these, of the published tables that they measure, and of what has none."""
    return [*_homes(), *OPEN, RANKS]


def recipes_of(table: str) -> dict[str, Recipe]:
    """All cells of one table, by recipe name, row by row as printed; of a published one those that measure it.

    Raises:
        ConfigError: No recipe belongs to that table.

    """
    known = _homes()
    if table not in known:
        near, names = closest(table, known), ", ".join(known)
        raise ConfigError(f"no recipe belongs to a table called {table}{near} Known: {names}.")
    return {name: _recipe(name) for home in known[table] for name in cells_of(home)}


@functools.cache
def cells_of(table: str) -> dict[str, GridCell]:
    """Where the cells of a table of recipes stand, by recipe name."""
    grid = _grid(table)
    return {grid.name_of(cell): cell for cell in grid.all_cells()}


@functools.cache
def _homes() -> dict[str, tuple[str, ...]]:
    """Tables of recipes and published tables that these measure, each with the tables whose recipes it runs."""
    elsewhere = {name: load_published(name).measured_by for name in published_tables()}
    own = {name: (name,) for name in _tables()}
    return dict(sorted((own | {name: tables for name, tables in elsewhere.items() if tables}).items()))


@functools.cache
def _tables() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (ROOM / "recipes").glob("*.yaml")))


@functools.cache
def _tables_of_recipes() -> dict[str, str]:
    return {name: table for table in _tables() for name in cells_of(table)}


@functools.cache
def _grid(table: str) -> RecipeGrid:
    fields = load_yaml(ROOM / "recipes" / f"{table}.yaml")
    names = {part.get("paper") for part in (fields, *fields.get("variants", {}).values())} - {None}
    papers = {name: load_yaml(ROOM / "settings" / f"{name}.yaml") for name in names}
    return RecipeGrid.parse({**fields, "papers": papers}, f"{table}.yaml")


def _recipe(name: str) -> Recipe:
    recipe: Recipe = pickle.loads(_pickled(name))  # settings are the caller's to change
    return recipe


@functools.cache
def _pickled(name: str) -> bytes:
    """A recipe as bytes: reading these makes a new one ten times as fast as copying does."""
    table = _tables_of_recipes()[name]
    cell = cells_of(table)[name]
    fields = resolve(_grid(table), cell)
    figures = _figures(Reference.parse(fields.pop("printed")), cell, fields)
    published = {**fields["published"], **figures}
    return pickle.dumps(Recipe.parse({**fields, "table": table, "published": published}, f"{table}.yaml: {name}"))


def recipe_settings(name: str) -> list[Setting]:
    """The settings that a recipe states, each with its source; what it does not state is the library's default.

    Raises:
        ConfigError: No recipe is called so.

    """
    if name not in _tables_of_recipes():
        raise ConfigError(f"no recipe is called {name}{closest(name, recipe_names())} `multiway recipes` lists them.")
    table = _tables_of_recipes()[name]
    return trace(_grid(table), cells_of(table)[name])


def _figures(printed: Reference, cell: GridCell, fields: dict[str, Any]) -> dict[str, float]:
    """What the table in print has of a cell: where nothing else is stated, by the names of variant, row and data."""
    place = _place(printed, cell, fields)
    return place.table.scores(place.method, place.column, place.horizon) if place else {}


class _Place(NamedTuple):
    """Where the figures of a cell are printed."""

    table: PublishedTable
    method: str
    column: str
    horizon: int | None


def _place(printed: Reference, cell: GridCell, fields: dict[str, Any]) -> _Place | None:
    if printed.table is None:
        return None
    table = load_published(printed.table)
    own = (cell.variant, fields["variant"].lower()) if fields["variant"] else (table.own,)
    method = printed.method or next((name for name in own if name in table.methods), None)
    column = printed.column or table.column_of(fields["row"], fields["data"])
    return _Place(table, method, column, cell.horizons[0] if table.horizons else None) if method and column else None


@functools.cache
def printed_figure(name: str, metric: str) -> Printing | None:
    """The printed figure of a recipe, with its deviation, seeds and digits where they are known."""
    table = _tables_of_recipes().get(name)
    if table is None:
        return None
    cell = cells_of(table)[name]
    fields = resolve(_grid(table), cell)
    place = _place(Reference.parse(fields["printed"]), cell, fields)
    return place.table.printing(place.method, (place.column, metric), place.horizon) if place else None


register_recipes(RecipeSource(_tables_of_recipes, _recipe))
for _path in (ROOM / "spaces").glob("*.yaml"):
    register_space(_path)
