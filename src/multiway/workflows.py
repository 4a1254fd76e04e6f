"""What the command line does, as functions: check, train, evaluate, predict, backtest, explain, report, compare."""

from pathlib import Path
from typing import Any

from multiway.data import CheckReport, ReadOptions, check_file, datasets
from multiway.recipes import Recipe, load_recipe, recipe_names


def check(file: str | Path, read: dict[str, Any] | None = None) -> CheckReport:
    """Say what is in a file and what is wrong with it, all at once."""
    return check_file(file, ReadOptions.parse(read or {}, "reading options"))


def list_datasets() -> list[dict[str, object]]:
    """One row per known data set: name, size, licence, and where it lies on this machine."""
    return datasets.describe()


def fetch_dataset(name: str) -> Path:
    """Download a known data set, check its hash, and return its path."""
    return datasets.fetch_dataset(name)


def list_recipes(pattern: str = "*") -> list[dict[str, object]]:
    """One row per recipe: its cell and the published figures."""
    return [_recipe_row(name, load_recipe(name)) for name in recipe_names(pattern)]


def _recipe_row(name: str, recipe: Recipe) -> dict[str, object]:
    published = recipe.published
    return {
        "recipe": name,
        "table": recipe.table,
        "row": recipe.row,
        "variant": recipe.variant or "",
        "horizons": ",".join(map(str, recipe.horizons)),
        "mse": published.mse if published else None,
        "mae": published.mae if published else None,
        "source": published.source if published else "",
    }
