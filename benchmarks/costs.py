"""`python -m benchmarks.costs [PATTERN ...]`: what cells of the papers' form without a full row cost or lack.

A few optimiser steps of the real task are timed on one thread, in process time, and multiplied by the steps of the
whole training and by the seeds; of several horizons those of the first. Validation and scoring come on top. Where the
frozen encoder is not here, hashed words stand in; a student that is timed has a teacher of zeros.
"""

import argparse
import contextlib
import fnmatch
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from benchmarks.claims_page import left
from benchmarks.results_page import recipe_rows
from benchmarks.tiny_runs import origin
from multiway.bench import median
from multiway.data.datasets import dataset, search_folders
from multiway.papers.cells import printed_figure
from multiway.tasks import lifecycle
from multiway.tasks.images import task as images
from multiway.tasks.protocol import Context, Row
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run
from multiway.training.processes import StopRequest
from multiway.training.steps import Standing, Steps
from multiway.workflows.recipe import Recipe, load_recipe

TIMED, BUDGET = 2, 3.0
"""Steps after the first, and seconds after which no further one is begun."""
WEIGHTS = {"finbert": "ProsusAI/finbert", "bert-base-uncased": "bert-base-uncased"}
"""Encoders that only the hub has."""
FROZEN = "finbert"


class Enough(Exception):
    """A training has taken the steps that are timed."""


def main() -> None:
    """Append a row for each cell that has none yet."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    parser.add_argument("patterns", nargs="*", default=["*"], help="of the names of cells, in order")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines; cells that have one there are left")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    done = {json.loads(line)["cell"] for line in chosen.out.read_text().splitlines()} if chosen.out.exists() else set()
    cells = left()
    for name in dict.fromkeys(name for each in chosen.patterns for name in fnmatch.filter(cells, each)):
        if name not in done:
            row = {"cell": name, **cost_of(name, cells[name]), **origin()}
            print(json.dumps(row), flush=True)
            with chosen.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


def cost_of(name: str, recipe: Recipe) -> Row:
    """What a cell lacks; of a frozen encoder alone, or of nothing, what its training takes."""
    lacking = lacking_of(recipe)
    if lacking not in (None, WEIGHTS[FROZEN]):
        return {"missing": lacking}
    return ({"missing": lacking} if lacking else {}) | hours_of(name, recipe)


def lacking_of(recipe: Recipe) -> str | None:
    """The data set or the weights that are not on this machine."""
    if recipe.data is None or dataset(recipe.data).find(search_folders()) is None:
        return recipe.data
    settings = recipe.settings
    teacher = settings.get("distill", {}).get("teacher", "")
    return teacher if teacher.startswith("timm:") else WEIGHTS.get(settings.get("text", {}).get("encoder"))


def hours_of(name: str, recipe: Recipe) -> Row:
    """Seconds of a step, steps of one seed, and hours of all seeds: two at once, one thread each, on two cores."""
    first, *others = recipe.settings_of_runs()
    seconds, steps = timed(recipe, first)
    steps += sum(timed(recipe, settings, count=0)[1] for settings in others)
    seeds = seeds_of(name, recipe)
    hours = seeds * seconds * steps / 3600
    return {
        "seconds_per_step": round(seconds, 4),
        "steps": steps,
        "seeds": seeds,
        "hours_of_1_core": round(hours, 2),
        "hours_of_2_cores": round(hours / 2, 2),
        "at_most": recipe.settings["training"].get("patience", 3) > 0,
    }


def seeds_of(name: str, recipe: Recipe) -> int:
    """Those of print, or of the rows of the same table on the same data, and three at least."""
    printed = [printed_figure(name, metric) for metric in recipe.figures]
    beside = (row["seeds"] for each, row in recipe_rows().items() if is_beside(each, recipe))
    return max([3, *beside, *(each.seeds for each in printed if each and each.seeds)])


def is_beside(name: str, recipe: Recipe) -> bool:
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
        begun = time.process_time()
        told = take(steps, standing, request)
        seconds.append(time.process_time() - begun)
        return told

    here = {"text": {"encoder": "hashed"}} if settings.get("text", {}).get("encoder") == FROZEN else {}
    with patch.object(Steps, "take", measured), teacher_of_zeros(), contextlib.suppress(Enough):
        config = task.configure(settings, here)
        run = lifecycle.make(task, config, task.locate(recipe.data or ""))
        lifecycle.fit_models(run, [task.own], Context())
    return median(seconds[1:] or seconds) if seconds else 0.0, totals[0]


@contextlib.contextmanager
def teacher_of_zeros() -> Iterator[None]:
    """Within this block a student needs no teacher; its steps cost the same."""

    def taught(run: Run, options: object) -> torch.Tensor:
        return torch.zeros(len(run.prepared.part("train")), len(run.state.classes))

    with patch.object(images, "taught", taught), patch.object(images, "find_teacher"):
        yield


if __name__ == "__main__":
    main()
