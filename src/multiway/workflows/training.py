"""Recipes by name, whoever has them, and training one configuration over seeds, with or without one."""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field, FiniteFloat

from multiway.config import Config, leaves, load_yaml, merge
from multiway.errors import ConfigError, Fix, closest, typed
from multiway.lazy import load_extensions
from multiway.tasks import lifecycle
from multiway.tasks.protocol import Row, TaskConfig
from multiway.tasks.registry import TASKS, task_of
from multiway.tasks.run import Run
from multiway.tasks.scores import score_table
from multiway.training import RunFolder
from multiway.training.processes import is_main
from multiway.training.run_folder import CONFIG
from multiway.training.tracking import check_tracker


class Published(Config):
    """Figures as printed, under the metrics' names, and where; percentages as shares."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, FiniteFloat] = Field(init=False)

    source: str


class Recipe(Config):
    """Settings that reproduce one cell; a cell averaged over horizons lists them all."""

    task: str
    table: str
    """Table this cell belongs to, such as hot-table-1."""
    row: str
    """What the row is called there: a data set."""
    variant: str | None = None
    """What distinguishes cells of one row, such as the attended modes."""
    form: str | None = None
    """`paper` where the model is as the paper prints it, or another form of it; none where it is not the paper's."""
    data: str | None
    """Name of a known data set, or a path; None for one that was searched in memory."""
    horizons: tuple[int, ...] = ()
    """Steps to forecast, one run each; none where the task has none."""
    published: Published | None = None
    note: str | None = None
    """What a reader of the figures has to know."""
    first: dict[str, str] = Field(default_factory=dict)
    """Runs that have to be there before, such as a teacher's: by their folder the recipe that trains each."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Fields of the task's config."""

    @property
    def figures(self) -> dict[str, float]:
        """Published scores by metric."""
        return {} if self.published is None else dict(self.published.__pydantic_extra__)

    def at(self, horizons: Collection[str]) -> "Recipe":
        """The cell at some of its horizons, without the figures that are printed of all of them."""
        left = tuple(horizon for horizon in self.horizons if str(horizon) in horizons)
        return self if left == self.horizons else self.model_copy(update={"horizons": left, "published": None})

    def of_row(self, row: Mapping[str, Any]) -> "Recipe":
        """The cell at the horizons that a measured row names; at all where it names none."""
        return self.at(str(row["horizons"]).split(",")) if row.get("horizons") else self

    def settings_of_runs(self) -> list[dict[str, Any]]:
        """Settings of each run that the cell is the mean of, one per horizon, or one.

        Its network answers, but that recipes of forecasts say so themselves: some are of ridge and a network.
        """
        answer = {} if self.task == "forecast" else {"answer": "network"}
        base = {"data": self.data, **answer, **self.settings}
        return [{"horizon": horizon, **base} for horizon in self.horizons] or [base]


class RecipeSource(NamedTuple):
    """Recipes by name.

    names: All that there are.
    load: Reads one of them.
    """

    names: Callable[[], Collection[str]]
    load: Callable[[str], Recipe]


_SOURCES: list[RecipeSource] = []


def register_recipes(source: RecipeSource) -> None:
    """Let `load_recipe` find the recipes of a source by their names."""
    _SOURCES.append(source)


def load_recipe(name: str) -> Recipe:
    """Read a recipe by its name, or from a YAML file of the user's.

    Raises:
        ConfigError: No such name or file, or a field is wrong.

    """
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        return Recipe.parse(load_yaml(path), path.name)
    load_extensions("recipes")
    for source in _SOURCES:
        if name in source.names():
            return source.load(name)
    near = closest(name, sorted(known for source in _SOURCES for known in source.names()))
    raise ConfigError(f"no recipe is called {name}{near} `multiway recipes` lists them.")


def under_recipe(name: str, task: str | None, settings: dict[str, Any]) -> tuple[Recipe, dict[str, Any]]:
    """A recipe and the settings of its first run, under those that are given.

    Raises:
        ConfigError: There is no such recipe, or it is one of another task.
    """
    recipe = load_recipe(name)
    if task not in (None, recipe.task):
        raise ConfigError(f"the recipe {name} is one of the task {recipe.task}. Got {task}; write {recipe.task}.")
    return recipe, merge(recipe.settings_of_runs()[0], settings)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trained:
    """Finished runs of one task that differ in their seed only."""

    runs: list[Run]

    def lines(self) -> list[str]:
        """Which model answers and why, what came out and where it lies."""
        return [line for run in self.runs for line in (run.line, *_stopped(run), self._outcome(run))]

    def _outcome(self, run: Run) -> str:
        return f"{run.folder.path if run.folder else 'run'}: {run.task.sentence(run)}"

    def table(self) -> list[Row]:
        """Test scores of every model and its baselines, averaged over seeds."""
        return score_table(self.runs, "test")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        runs = [
            {
                "folder": run.folder and str(run.folder.path), "answer": run.task.sentence(run),
                "model": run.answer.name, "reason": run.line,
            }
            for run in self.runs
        ]  # fmt: skip
        return {"runs": runs, "scores": self.table()}


def _stopped(run: Run) -> list[str]:
    """Why the training of the network ended early, where it did."""
    return [best["stopped"] for best in run.facts["best"].values() if best.get("stopped")]


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
    check_tracker(config.training)
    name = recipe_name(recipe) if recipe else Path(config.data).name.split(".")[0]
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
                f"`{typed('train', recipe=trained_by, out=folder)}`."
            )


def recipe_name(recipe: str) -> str:
    """Name of a recipe, also of one in a file of the user's."""
    return Path(recipe).stem if recipe.endswith((".yaml", ".yml")) else recipe


def resume(path: Path | str, *, progress: bool = False) -> Trained:
    """Continue an interrupted run."""
    return Trained(runs=[lifecycle.continue_run(Path(path), progress=progress)])


def with_seed(config: TaskConfig, seed: int) -> TaskConfig:
    """The same config with another seed."""
    if seed == config.training.seed:
        return config
    given = config.training.model_dump(mode="json", exclude_unset=True)
    return config.replace(training={**given, "seed": seed})
