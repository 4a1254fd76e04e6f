"""`python -m benchmarks.costs [PATTERN ...]`: what cells of the papers' form without a full row cost or lack.

A few optimiser steps of the real task are timed on one thread, in process time, and multiplied by the steps of the
whole training and by the seeds; of several horizons those of the first, and of cells with the same runs one.
Validation and scoring come on top. Where the frozen encoder is not here, hashed words stand in; a student that is timed
has a teacher of zeros.
"""

import argparse
import contextlib
import fnmatch
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from docs.build.claims_page import left
from docs.build.rows import read_rows, recipe_rows

from benchmarks.rows import keep, processor
from multiway.config import merge
from multiway.data.datasets import dataset, is_dataset, search_folders
from multiway.tasks import lifecycle
from multiway.tasks.images import task as images
from multiway.tasks.images.candidates import network
from multiway.tasks.protocol import AnyTask, Context, Row, TaskConfig
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run
from multiway.training.processes import StopRequest
from multiway.training.steps import Standing, Steps
from multiway.workflows.recipe import Recipe, load_recipe
from multiway_papers.bench import median
from multiway_papers.cells import printed_figure

TIMED, BUDGET = 1, 1.0
"""Steps after the first, and seconds after which no further one is begun."""
WEIGHTS = {"finbert": "ProsusAI/finbert", "bert-base-uncased": "bert-base-uncased"}
"""Encoders that only the hub has."""
FROZEN = "finbert"
SMALLER = {"resnet50-adrenal": 8}
"""Batches in which cells are timed whose own take more memory than there is: as many samples in more steps."""
STEPS: dict[str, int] = {}
"""Of runs by their settings but for the network."""
LAST: dict[str, Any] = {}
"""The samples that were prepared last."""


class Enough(Exception):
    """A training has taken the steps that are timed."""


def main() -> None:
    """Append a row for each cell that has none yet."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    parser.add_argument("patterns", nargs="*", default=["*"], help="of the names of cells, in order")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines; cells that have one there are left")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    done = {row["cell"]: row for row in read_rows(chosen.out)} if chosen.out.exists() else {}
    cells = left()
    for name in dict.fromkeys(name for each in chosen.patterns for name in fnmatch.filter(cells, each)):
        if name not in done:
            row = done[name] = {"cell": name, **cost_of(name, cells[name], done), "processor": processor()}
            keep(row, chosen.out)


def cost_of(name: str, recipe: Recipe, done: dict[str, Row]) -> Row:
    """What a cell lacks; of a frozen encoder alone, or of nothing, what its training takes.

    done: Rows of cells, of which one with the same runs is not timed again.
    """
    lacking = lacking_of(recipe)
    if lacking not in (None, WEIGHTS[FROZEN]):
        return {"missing": lacking}
    smaller = {"batch_size": SMALLER[name]} if name in SMALLER else {}
    runs = [merge(settings, {"training": smaller}) for settings in recipe.settings_of_runs()]
    timed_before = (
        row for each, row in done.items() if "steps" in row and load_recipe(each).settings_of_runs() == runs
    )
    twin = next(timed_before, None)
    seconds, steps = (twin["seconds_per_step"], twin["steps"]) if twin else step_of(recipe, runs)
    seeds = seeds_of(name, recipe)
    hours = seeds * seconds * steps / 3600
    return {
        **({"missing": lacking} if lacking else {}),
        **smaller,
        "seconds_per_step": seconds,
        "steps": steps,
        "seeds": seeds,
        "hours_of_1_core": round(hours, 2),
        "hours_of_2_cores": round(hours / 2, 2),
        "at_most": recipe.settings["training"].get("patience", 3) > 0,
    }


def step_of(recipe: Recipe, runs: Sequence[dict[str, Any]]) -> tuple[float, int]:
    """Seconds of a step of the first run, and the steps of all of them."""
    first, *others = runs
    seconds, steps = timed(recipe, first)
    return round(seconds, 4), steps + sum(steps_of(recipe, settings) for settings in others)


def steps_of(recipe: Recipe, settings: dict[str, Any]) -> int:
    """How many steps a run has, whatever its network."""
    key = json.dumps({**settings, "model": None}, sort_keys=True)
    if key not in STEPS:
        STEPS[key] = timed(recipe, settings, count=0)[1]
    return STEPS[key]


def lacking_of(recipe: Recipe) -> str | None:
    """The data set or the weights that are not on this machine."""
    if recipe.data is None or not (is_dataset(recipe.data) and dataset(recipe.data).find(search_folders())):
        return recipe.data
    settings = recipe.settings
    teacher = settings.get("distill", {}).get("teacher", "")
    return teacher if teacher.startswith("timm:") else WEIGHTS.get(settings.get("text", {}).get("encoder"))


def seeds_of(name: str, recipe: Recipe) -> int:
    """Those of print, or of the rows of the same table on the same data, and three at least."""
    printed = [printed_figure(name, metric) for metric in recipe.figures]
    others = (row["seeds"] for each, row in recipe_rows().items() if shares_table(each, recipe))
    return max([3, *others, *(each.seeds for each in printed if each and each.seeds)])


def shares_table(name: str, recipe: Recipe) -> bool:
    """Whether the cell of a row is of the same table and data."""
    other = load_recipe(name)
    return (other.table, other.data) == (recipe.table, recipe.data)


def timed(recipe: Recipe, settings: dict[str, Any], count: int = 1 + TIMED) -> tuple[float, int]:
    """Median seconds of the first steps of a run, but for the very first, and how many steps it has."""
    task, seconds, totals = task_of(recipe.task), list[float](), list[int]()
    take = Steps.take

    def measured(steps: Steps, standing: Standing, request: StopRequest) -> str | None:
        totals.append(steps.total)
        if len(seconds) == count or sum(seconds) > BUDGET:
            raise Enough
        started = time.process_time()
        result = take(steps, standing, request)
        seconds.append(time.process_time() - started)
        return result

    here = {"text": {"encoder": "hashed"}} if settings.get("text", {}).get("encoder") == FROZEN else {}
    config = task.configure(settings, here)
    with patch.object(Steps, "take", measured), teacher_of_zeros(), contextlib.suppress(Enough), prepared_once(task):
        run = lifecycle.make(task, config, task.locate(recipe.data or ""))
        lifecycle.fit_models(run, [task.own], Context())
    return median(seconds[1:] or seconds) if seconds else 0.0, totals[0]


@contextlib.contextmanager
def prepared_once(task: AnyTask) -> Iterator[None]:
    """Within this block samples of the same settings but for the network and its training are prepared once."""
    prepare = task.prepare

    def kept(config: TaskConfig, *given: Any, **more: Any) -> Any:
        key = json.dumps([task.name, {**config.plain(), "model": None, "training": None}], sort_keys=True)
        if key not in LAST:
            LAST.clear()
            LAST[key] = prepare(config, *given, **more)
        return LAST[key]

    with patch.object(task, "prepare", kept):
        yield


@contextlib.contextmanager
def teacher_of_zeros() -> Iterator[None]:
    """Within this block a student needs no teacher; its steps cost the same."""

    def build_teacher(run: Run, options: object) -> torch.Tensor:
        return torch.zeros(len(run.prepared.part("train")), len(run.state.classes))

    with patch.object(network, "build_teacher", build_teacher), patch.object(images, "find_teacher"):
        yield


if __name__ == "__main__":
    main()
