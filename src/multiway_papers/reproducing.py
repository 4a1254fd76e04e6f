"""Cells of published tables: which there are, and published with measured figures."""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from multiway import files, leftovers
from multiway.errors import ConfigError, write_command
from multiway.tasks import lifecycle
from multiway.tasks.protocol import Row, Task
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run
from multiway.workflows.recipe import Recipe
from multiway.workflows.training import check_first, with_seed
from multiway_papers.cell_rows import cell_row, own_parameters
from multiway_papers.cells import OPEN, RANKS, recipes_of
from multiway_papers.effective_rank import reproduce_ranks
from multiway_papers.open_benchmarks import reproduce_open
from multiway_papers.page import page_of
from multiway_papers.verdicts import verdicts


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
    measured: Path | None = None,
    report: Path | None = None,
    progress: bool = False,
) -> Iterator[Row]:
    """Run the recipes of a table, cell by cell, and yield published and measured figures.

    Args:
        table: Its name; or `fev` or `gift`, whose tasks are its rows; or `hot-effective-rank`, whose networks are.
        rows: Only these data sets; all if not given.
        variants: Only these variants.
        horizons: Only these horizons, also of cells that are printed as a mean over several.
        forms: Only these forms of a paper's model.
        seeds: Runs per cell.
        out: JSON lines to append to.
        runs: Where run folders are kept; those of an earlier call with the same settings are loaded or continued.
        overrides: Fields of every config, which win over the recipes'.
        measured: JSON lines that `out` wrote; nothing is run then.
        report: HTML page with every published method and ours.
        progress: Whether it is shown.

    Raises:
        ConfigError: No cell is left, none was measured, or settings do not fit.
    """
    if table in (*OPEN, RANKS):
        others: dict[str, object] = {
            "variants": variants,
            "horizons": horizons,
            "forms": forms,
            "runs": runs,
            "set": overrides,
            "from": measured,
            "report": report,
            "seeds": seeds > 1 and table != RANKS,
        }
        given = [name for name, value in others.items() if value]
        yield from (
            reproduce_ranks(rows, seeds, out, given) if table == RANKS else reproduce_open(table, rows, out, given)
        )
        return
    chosen = choose_cells(table, {"rows": rows, "variants": variants, "horizons": horizons, "forms": forms})
    with files.sparing_inputs():
        files.add_input(measured)
        files.check_place(out, runs, report)
    if measured is not None:
        if out or runs or overrides:
            raise ConfigError("reproduce: measured cells are read, and nothing is run. Leave out what runs would need.")
        stored = stored_cells(measured, table, chosen)
        cells: Iterable[Row] = [{**row, **verdicts(row, chosen[row["recipe"]])} for row in stored]
    else:
        cells = _measured_cells(chosen, seeds, out, runs, overrides or {}, progress)
    shown = list[Row]()
    for cell in cells:
        plain = scalars_of(cell)
        shown.append({**plain, **_device(cell)})
        yield plain
    if report is not None:
        leftovers.remove(report)
        files.write_text(report, page_of(table, shown))


def choose_cells(table: str, given: Mapping[str, Sequence[str] | None]) -> dict[str, Recipe]:
    """Recipes of a table with the given rows, variants, horizons and forms, by name; None takes all."""
    names = {name: set(values) for name, values in given.items() if values is not None}
    chosen = dict[str, Recipe]()
    for name, recipe in recipes_of(table).items():
        own: dict[str, set[str | None]] = {
            "rows": {recipe.row},
            "variants": {recipe.variant},
            "horizons": set(map(str, recipe.horizons)),
            "forms": {recipe.form},
        }
        if all(values & own[key] for key, values in names.items()):
            chosen[name] = recipe.at(names["horizons"]) if "horizons" in names else recipe
    if not chosen:
        said = " and ".join(f"{name} {', '.join(values)}" for name, values in given.items() if values is not None)
        raise ConfigError(f"reproduce: no cell of {table} has {said}. `multiway recipes` lists the cells.")
    return chosen


def _measured_cells(
    chosen: Mapping[str, Recipe],
    seeds: int,
    out: Path | None,
    runs: Path | None,
    overrides: dict[str, Any],
    progress: bool,
) -> Iterator[Row]:
    for name, recipe in chosen.items():
        with tempfile.TemporaryDirectory() as scratch:
            cell = measure_cell(name, recipe, seeds, runs or Path(scratch), overrides, progress)
        if out is not None:
            files.append_text(out, json.dumps(cell) + "\n")
        yield cell


def stored_cells(path: Path, table: str, chosen: Mapping[str, Recipe]) -> list[Row]:
    """Cells that were measured before, in the table's order; of one measured twice the last."""
    if not path.is_file():
        raise ConfigError(f"{path} is not a file. Give the JSON lines that `multiway reproduce` wrote.")
    rows = {row["recipe"]: row for row in read_json_lines(path) if _is_of(row, chosen)}
    if not rows:
        adds = write_command("reproduce", table, out=path)
        raise ConfigError(f"{path} holds no chosen cell of {table}. `{adds}` adds them.")
    return [rows[name] for name in chosen if name in rows]


def _is_of(row: Row, chosen: Mapping[str, Recipe]) -> bool:
    """Whether a row is of a chosen cell, and of no horizon that was not chosen."""
    recipe = chosen.get(str(row.get("recipe")))
    stated = str(row["horizons"]).split(",") if row.get("horizons") else []
    return recipe is not None and {*stated}.issubset(map(str, recipe.horizons))


def read_json_lines(path: Path) -> Iterator[Row]:
    """Rows of a file of JSON lines."""
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}, line {number}: is not JSON ({error}).") from None
        if isinstance(row, dict):
            yield row


def scalars_of(cell: Row) -> Row:
    """What a reader sees of a cell: its scalars, and how many parameters the network has."""
    count = own_parameters(cell)
    scalars = {key: value for key, value in cell.items() if not isinstance(value, dict | list)}
    return scalars | ({} if count is None else {"parameters": count})


def _device(cell: Row) -> Row:
    """What a cell was measured on, where it says so."""
    device = cell.get("environment", {}).get("device")
    return {"device": device} if device else {}


def measure_cell(name: str, recipe: Recipe, seeds: int, folder: Path, overrides: dict[str, Any], progress: bool) -> Row:
    """Run a cell with so many seeds, in a folder whose runs are loaded or continued, and give its row."""
    task, runs = task_of(recipe.task), list[Run]()
    for settings in recipe.settings_of_runs():
        config = task.configure(settings, overrides)
        seeded = (with_seed(config, config.training.seed + seed) for seed in range(seeds))
        runs += [_run_of(task, recipe, own, folder, progress) for own in seeded]
    row = cell_row(name, recipe, runs, seeds)
    return {**row, **verdicts(row, recipe)}


def _run_of(task: Task, recipe: Recipe, config: Any, folder: Path, progress: bool) -> Run:
    """The run of these settings: loaded, continued or started. Cells of several tables share it."""
    digest = hashlib.sha256(json.dumps(config.plain(), sort_keys=True).encode()).hexdigest()
    path = folder / f"{config.data}-{digest[:12]}"
    if path.exists():
        return lifecycle.continue_run(path, progress=progress)
    check_first(recipe, config)
    return lifecycle.start(task, config, path, progress=progress)
