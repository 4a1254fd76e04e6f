"""Training a run, or one per seed, and continuing one."""

import dataclasses
from pathlib import Path
from typing import Any

from multiway.config import merge
from multiway.errors import ConfigError
from multiway.recipes import load_recipe
from multiway.tasks.protocol import Row, Run, Task, TaskConfig
from multiway.tasks.registry import task_of, task_of_run


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trained:
    """Finished runs of one task that differ in their seed only."""

    task: Task[Any, Any]
    runs: list[Any]

    def lines(self) -> list[str]:
        """What came out and where it lies."""
        return [f"{run.folder.path if run.folder else 'run'}: {self.task.sentence(run)}" for run in self.runs]

    def table(self) -> list[Row]:
        """Test scores of every model beside its baselines, averaged over seeds."""
        return self.task.score_table(self.runs, "test")


def train(
    given: dict[str, Any],
    *,
    task: str | None = None,
    recipe: str | None = None,
    overrides: dict[str, Any] | None = None,
    out: Path | None = None,
    seeds: int = 1,
    progress: bool = True,
) -> Trained:
    """Train one run, or one per seed in sub-folders, from a file, a known data set or a recipe.

    The task is the recipe's, or `forecast` where none is named.
    """
    settings = given
    if recipe is not None:
        cell = load_recipe(recipe)
        if task not in (None, cell.task):
            raise ConfigError(f"train: the recipe {recipe} is one of the task {cell.task}. Got {task}; leave it out.")
        task, settings = cell.task, merge(cell.settings_of_runs()[0], given)
    chosen = task_of(task or "forecast")
    config = chosen.make_config(settings, overrides or {})
    if config.data is None:
        raise ConfigError("train: there is no data. Give --data FILE, a known data set's name, or a --recipe.")
    folder = out or Path("runs") / (recipe_name(recipe) if recipe else Path(config.data).name.split(".")[0])
    if seeds == 1:
        return Trained(task=chosen, runs=[chosen.start(config, folder, progress=progress)])
    first = config.training.seed
    runs: list[Run] = [
        chosen.start(with_seed(config, seed), folder / f"seed-{seed}", progress=progress)
        for seed in range(first, first + seeds)
    ]
    return Trained(task=chosen, runs=runs)


def recipe_name(recipe: str) -> str:
    """Name of a recipe, also of one in a file of the user's."""
    return Path(recipe).stem if recipe.endswith((".yaml", ".yml")) else recipe


def resume(path: Path, *, progress: bool = True) -> Trained:
    """Continue an interrupted run."""
    task = task_of_run(path)
    return Trained(task=task, runs=[task.resume(path, progress=progress)])


def with_seed(config: TaskConfig, seed: int) -> TaskConfig:
    """The same config with another seed."""
    return config.replace(training=config.training.replace(seed=seed).plain())
