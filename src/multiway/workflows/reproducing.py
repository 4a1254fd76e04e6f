"""Cells of published tables: which there are, and published beside measured."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from multiway import files
from multiway.errors import ConfigError, closest
from multiway.recipes import Recipe, load_recipe, recipe_names, recipes_of
from multiway.tasks import lifecycle
from multiway.tasks.protocol import Row, Task
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run
from multiway.tasks.scores import cell_row
from multiway.workflows.training import with_seed


def task_of_recipe(name: str) -> str:
    """The task that a recipe is one of."""
    return load_recipe(name).task


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
    rows = [_recipe_row(name, recipe, metrics) for name, recipe in recipes.items()]
    filled = [column for column in (rows[0] if rows else ()) if any(row[column] is not None for row in rows)]
    return [{column: row[column] for column in filled} for row in rows]


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


def reproduce(
    table: str,
    *,
    rows: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    horizons: Sequence[str] | None = None,
    forms: Sequence[str] | None = None,
    seeds: int = 1,
    out: Path | None = None,
    runs: Path | None = None,
    overrides: dict[str, Any] | None = None,
    progress: bool = False,
) -> Iterator[Row]:
    """Run the recipes of a table, cell by cell, and yield published beside measured; with a path, append JSON lines.

    Args:
        table: Its name.
        rows: Only these data sets; all if not given.
        variants: Only these variants.
        horizons: Only these horizons.
        forms: Only these forms of a paper's model.
        seeds: Seeds per cell.
        out: Where a JSON line per cell is appended.
        runs: Where run folders are kept; those of an earlier call with the same settings are loaded or continued.
        overrides: Settings that win over the recipes'.
        progress: Whether to say on stderr how far it is.

    Raises:
        ConfigError: No cell is left, or settings do not fit.
    """
    wanted = {"rows": rows, "variants": variants, "horizons": horizons, "forms": forms}
    chosen = {name: recipe for name, recipe in recipes_of(table).items() if _is_wanted(recipe, wanted)}
    if not chosen:
        said = " and ".join(f"{name} {', '.join(values)}" for name, values in wanted.items() if values is not None)
        raise ConfigError(f"reproduce: no cell of {table} has {said}. `multiway recipes` lists the cells.")
    files.check_place(out, runs)
    for name, recipe in chosen.items():
        with tempfile.TemporaryDirectory() as scratch:
            measured = _measure_cell(name, recipe, seeds, runs or Path(scratch), overrides or {}, progress)
        if out is not None:
            files.append_text(out, json.dumps(measured) + "\n")
        yield {key: value for key, value in measured.items() if not isinstance(value, dict | list)}


def _is_wanted(recipe: Recipe, wanted: Mapping[str, Sequence[str] | None]) -> bool:
    have = {
        "rows": [recipe.row],
        "variants": [recipe.variant],
        "horizons": list(map(str, recipe.horizons)),
        "forms": [recipe.form],
    }
    return all(names is None or not set(names).isdisjoint(have[key]) for key, names in wanted.items())


def _measure_cell(
    name: str, recipe: Recipe, seeds: int, folder: Path, overrides: dict[str, Any], progress: bool
) -> Row:
    task, runs = task_of(recipe.task), list[Run]()
    for settings in recipe.settings_of_runs():
        config = task.configure(settings, overrides)
        seeded = [with_seed(config, config.training.seed + seed) for seed in range(seeds)]
        runs += [_run_of(task, each, folder, progress) for each in seeded]
    return cell_row(name, recipe, runs, seeds)


def _run_of(task: Task[Any, Any, Any], config: Any, folder: Path, progress: bool) -> Run:
    """The run of these settings: loaded, continued or started. Cells of several tables share it."""
    digest = hashlib.sha256(json.dumps(config.plain(), sort_keys=True).encode()).hexdigest()
    path = folder / f"{config.data}-{digest[:12]}"
    if path.exists():
        return lifecycle.resume(path, progress=progress)
    return lifecycle.start(task, config, path, progress=progress)
