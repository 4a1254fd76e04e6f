"""A queue of published cells to train: the cheapest first, killed and continued at will, by any number of processes.

Its file names the cells, what each takes, and where rows and run folders go. A process takes the cheapest cell that no
other one holds; its lock goes with the process. A run that was killed continues to the same weights.
"""

import contextlib
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field

from multiway import files
from multiway.config import Config, load_yaml
from multiway.errors import ConfigError, MultiwayError, RunError, in_a_line
from multiway.tasks.protocol import Row
from multiway.training import RunFolder
from multiway.workflows.recipe import Recipe
from multiway_papers.reproducing import choose_cells, measure_cell, read_json_lines, scalars_of


class Entry(Config):
    """Cells of one table that are run with the same settings; fields as of `reproduce`."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    table: str
    rows: tuple[str, ...] | None = None
    variants: tuple[str, ...] | None = None
    horizons: tuple[str, ...] | None = None
    forms: tuple[str, ...] | None = None
    seeds: int = Field(1, ge=1)
    set: dict[str, Any] = Field(default_factory=dict)
    """Settings that win over the recipes'."""
    hours: float = Field(ge=0)
    """What a cell takes, all its seeds, on one core; an estimate, for the order."""


class Queue(Config):
    """What is to be run; paths are relative to the file."""

    out: Path
    """JSON lines that finished rows are appended to."""
    runs: Path
    """Where run folders lie, finished or not."""
    cells: tuple[Entry, ...]


class Job(NamedTuple):
    """One cell of the queue."""

    name: str
    recipe: Recipe
    entry: Entry

    @property
    def key(self) -> str:
        """Name of its folder: the same for the same cell, settings and seeds."""
        said = json.dumps([self.name, self.recipe.horizons, self.entry.seeds, self.entry.set], sort_keys=True)
        return f"{self.name}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"


def read_queue(path: Path) -> tuple[Queue, list[Job]]:
    """The queue of a file, and its jobs, the cheapest first.

    Raises:
        ConfigError: The file cannot be read, or names a cell that no table has.
    """
    if not path.is_file():
        raise ConfigError(f"{path} is not a file. Give the YAML file of a queue: out, runs and cells.")
    queue = Queue.parse(load_yaml(path), str(path))
    queue = queue.replace(out=path.parent / queue.out, runs=path.parent / queue.runs)
    jobs = list[Job]()
    for entry in queue.cells:
        given = {"rows": entry.rows, "variants": entry.variants, "horizons": entry.horizons, "forms": entry.forms}
        jobs += [Job(name, recipe, entry) for name, recipe in choose_cells(entry.table, given).items()]
    return queue, sorted(jobs, key=lambda job: job.entry.hours)


def run_queue(path: Path, *, progress: bool = False) -> Iterator[Row]:
    """Run what is left of a queue, and yield a row as each cell is finished, or with the `error` that ended it.

    Cells that another process holds are left to it. A row holds the settings of its entry under `queue`, and under
    `hours` what its trainings took, interruptions apart.

    Args:
        path: YAML with `out`, `runs` and `cells`, see `Queue`.
        progress: Whether it is shown.
    """
    queue, jobs = read_queue(path)
    files.check_place(queue.out, queue.runs)
    for job in jobs:
        folder = queue.runs / job.key
        files.make_folder(folder)
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(RunFolder(folder).lock())
            except RunError:  # another process is at it
                continue
            if job.key in finished_keys(queue.out):
                continue
            try:
                row = run_job(job, folder, progress)
            except MultiwayError as error:
                yield {"recipe": job.name, "error": in_a_line(error)}
                continue
            files.append_text(queue.out, json.dumps(row) + "\n")
            yield scalars_of(row)


def finished_keys(out: Path) -> set[str]:
    """Keys of the jobs whose rows are there."""
    rows = read_json_lines(out) if out.exists() else ()
    return {row["queue"]["key"] for row in rows if "queue" in row}


def run_job(job: Job, folder: Path, progress: bool) -> Row:
    """The row of a cell, its runs continued where they were left."""
    row = measure_cell(job.name, job.recipe, job.entry.seeds, folder, job.entry.set, progress)
    entry = {"key": job.key, "set": job.entry.set}
    return {**row, "hours": round(training_seconds(sorted(folder.iterdir())) / 3600, 3), "queue": entry}


def training_seconds(runs: Sequence[Path]) -> float:
    """What trainings took by their logs, which count on after an interruption."""
    logs = (RunFolder.open(run).read_log() for run in runs if (run / "config.yaml").is_file())
    return math.fsum(log[-1]["seconds"] for log in logs if log)
