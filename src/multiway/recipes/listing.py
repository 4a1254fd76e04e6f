"""The recipes as rows of a table."""

from collections.abc import Sequence
from typing import Any

from multiway.errors import ConfigError, closest
from multiway.recipes import Recipe, load_recipe, recipe_names

Row = dict[str, Any]


def list_recipes(pattern: str = "*") -> list[Row]:
    """One row per recipe: its cell and the published figures; a column that no recipe fills is left out.

    Raises:
        ConfigError: None fits the pattern.
    """
    if not recipe_names(pattern):
        wider = f"*{pattern}*"
        near = f"; did you mean '{wider}'?" if recipe_names(wider) else closest(pattern.strip("*"), recipe_names())
        raise ConfigError(f"recipes: nothing fits {pattern}{near} `multiway recipes` lists them all.")
    recipes = {name: load_recipe(name) for name in recipe_names(pattern)}
    metrics = list(dict.fromkeys(metric for recipe in recipes.values() for metric in recipe.figures))
    return filled([_recipe_row(name, recipe, metrics) for name, recipe in recipes.items()])


def filled(rows: Sequence[Row]) -> list[Row]:
    """Rows without the columns that are None in all of them."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    return [{name: row[name] for name in names} for row in rows]


def _recipe_row(name: str, recipe: Recipe, metrics: Sequence[str]) -> Row:
    return {
        "recipe": name,
        "table": recipe.table,
        "row": recipe.row,
        "variant": recipe.variant,
        "form": recipe.form,
        "horizons": ",".join(map(str, recipe.horizons)) or None,
        **{metric: recipe.figures.get(metric) for metric in metrics},
        "source": recipe.published.source if recipe.published else "",
    }
