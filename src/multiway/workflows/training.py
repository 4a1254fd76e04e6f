"""Training a run, or one per seed, and continuing one."""

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Any

from multiway import files
from multiway.config import leaves
from multiway.errors import ConfigError, Fix, write_command
from multiway.tasks import lifecycle
from multiway.tasks.protocol import Row, TaskConfig
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run
from multiway.tasks.scores import details_of, in_words, score_table, words_of
from multiway.tasks.settings import TASKS
from multiway.training import RunFolder
from multiway.training.processes import is_main
from multiway.training.run_folder import CONFIG
from multiway.training.tracking import check_tracker
from multiway.workflows.recipe import Recipe, under_recipe


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trained:
    """Finished runs of one task that differ in their seed only."""

    runs: list[Run]

    def lines(self) -> list[str]:
        """Which model answers and why, what came out and where it lies."""
        lines = []
        for run in self.runs:
            stops = (best["stopped"] for best in run.facts["best"].values() if best.get("stopped"))
            headline = f"{run.folder.path if run.folder else 'run'}: {run.task.headline(run)}"
            lines += [in_words(run, run.line), *stops, headline.replace("\u202f", " ")]
        return lines

    def table(self) -> list[Row]:
        """Test scores of every model and its baselines, averaged over seeds."""
        return score_table(self.runs, "test")

    @property
    def words(self) -> dict[str, str]:
        """Names of the models in words, by what the table calls them."""
        return words_of(self.runs)

    @property
    def details(self) -> Collection[str]:
        """Columns of the table that are printed on request alone."""
        return details_of(self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        runs = [
            {
                "folder": run.folder and str(run.folder.path),
                "answer": run.task.sentence(run),
                "model": run.answer.name,
                "reason": run.line,
            }
            for run in self.runs
        ]
        return {"runs": runs, "scores": self.table()}


@files.sparing_inputs()
def train(
    settings: dict[str, Any] | None = None,
    *,
    task: str | None = None,
    recipe: str | None = None,
    overrides: dict[str, Any] | None = None,
    out: Path | str | None = None,
    seeds: int = 1,
    progress: bool = False,
) -> Trained:
    """Train one run, or one per seed in sub-folders, from a file, a known data set or a recipe.

    Args:
        settings: Those of a run, such as `{"data": "sales.csv", "horizon": 28}`; they win over the recipe's.
        task: The recipe's, or the first of the registry, if not given.
        recipe: Name of a recipe, or a YAML file like one.
        overrides: More settings, which win.
        out: Folder of the run; `runs/` and the name of the data or the recipe if not given.
        seeds: Number of runs, whose seeds follow each other.
        progress: Whether to say on stderr how far it is.

    Raises:
        ConfigError: A setting cannot be, or there is no data.
        DataError: The data are not sound.
        RunError: Something lies at `out`.
    """
    cell, settings = (None, settings or {}) if recipe is None else under_recipe(recipe, task, settings or {})
    chosen = task_of(task or (TASKS[0] if cell is None else cell.task))
    config = chosen.configure(settings, overrides)
    if cell is not None:
        check_first(cell, config)
    if config.data is None:
        raise ConfigError(
            "train: there is no data. Give ", Fix("data", like="FILE"), ", a known data set's name, or a recipe."
        )
    files.add_input(config.data)
    check_tracker(config.training)
    name = Path(config.data).name.split(".")[0]
    if recipe:  # of the user's too, in a file
        name = Path(recipe).stem if recipe.endswith((".yaml", ".yml")) else recipe
    folder = Path(out or Path("runs") / name)
    first = config.training.seed
    folders = {first: folder} if seeds == 1 else {n: folder / f"seed-{n}" for n in range(first, first + seeds)}
    for path in folders.values() if is_main() else ():
        RunFolder.check_free(path)
    runs = [lifecycle.start(chosen, with_seed(config, seed), path, progress=progress) for seed, path in folders.items()]
    return Trained(runs=runs)


def check_first(recipe: Recipe, config: TaskConfig) -> None:
    """Look for the runs that those of a recipe start from."""
    named = leaves(config.plain()).values()
    for folder, trained_by in recipe.first.items():
        if folder in named and not (Path(folder) / CONFIG).is_file():
            raise ConfigError(
                f"{folder} is not a run folder, and the recipe needs its run. Train it first: "
                f"`{write_command('train', recipe=trained_by, out=folder)}`."
            )


@files.sparing_inputs()
def resume(path: Path | str, *, progress: bool = False) -> Trained:
    """Continue an interrupted run."""
    return Trained(runs=[lifecycle.continue_run(Path(path), progress=progress)])


def with_seed(config: TaskConfig, seed: int) -> TaskConfig:
    """The same config with another seed."""
    if seed == config.training.seed:
        return config
    given = config.training.model_dump(mode="json", exclude_unset=True)
    return config.replace(training={**given, "seed": seed})
