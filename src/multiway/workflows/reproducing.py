"""Cells of published tables: which there are, and published beside measured."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from multiway import files
from multiway.errors import ConfigError
from multiway.recipes import Recipe, load_recipe, recipes_of
from multiway.tasks import lifecycle
from multiway.tasks.protocol import Row
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run
from multiway.tasks.scores import cell_row
from multiway.workflows.training import with_seed


def task_of_recipe(name: str) -> str:
    """The task that a recipe is one of."""
    return load_recipe(name).task


def reproduce(
    table: str,
    *,
    rows: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    horizons: Sequence[str] | None = None,
    seeds: int = 1,
    out: Path | None = None,
    runs: Path | None = None,
    overrides: dict[str, Any] | None = None,
    progress: bool = False,
) -> Iterator[Row]:
    """Run the recipes of a table, cell by cell, and yield published beside measured; with a path, append JSON lines."""
    chosen = {
        name: recipe for name, recipe in recipes_of(table).items() if _is_wanted(recipe, rows, variants, horizons)
    }
    if not chosen:
        wanted = {"rows": rows, "variants": variants, "horizons": horizons}
        said = " and ".join(f"{name} {', '.join(values)}" for name, values in wanted.items() if values is not None)
        raise ConfigError(f"reproduce: no cell of {table} has {said}. `multiway recipes` lists the cells.")
    files.check_place(out, runs)
    for name, recipe in chosen.items():
        with tempfile.TemporaryDirectory() as scratch:
            measured = _measure_cell(name, recipe, seeds, runs or Path(scratch), overrides or {}, progress)
        if out is not None:
            files.append_text(out, json.dumps(measured) + "\n")
        yield {key: value for key, value in measured.items() if not isinstance(value, dict | list)}


def _is_wanted(
    recipe: Recipe, rows: Sequence[str] | None, variants: Sequence[str] | None, horizons: Sequence[str] | None
) -> bool:
    return (
        (rows is None or recipe.row in rows)
        and (variants is None or recipe.variant in variants)
        and (horizons is None or any(str(horizon) in horizons for horizon in recipe.horizons))
    )


def _measure_cell(
    name: str, recipe: Recipe, seeds: int, folder: Path, overrides: dict[str, Any], progress: bool
) -> Row:
    task, runs = task_of(recipe.task), list[Run]()
    for settings in recipe.settings_of_runs():
        config = task.configure(settings, overrides)
        label = f"{name}-{settings['horizon']}" if "horizon" in settings else name
        for seed in range(seeds):
            seeded = with_seed(config, config.training.seed + seed)
            runs.append(lifecycle.start(task, seeded, folder / f"{label}-seed-{seed}", progress=progress))
    return cell_row(name, recipe, runs, seeds)
