"""A search over settings: trials are judged on validation, without test rows; the best becomes a recipe to train."""

import dataclasses
import math
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from multiway import files
from multiway.config import merge
from multiway.errors import ConfigError, RunError, closest, write_command
from multiway.lazy import load_extra
from multiway.tasks.protocol import Row
from multiway.tasks.registry import task_of
from multiway.training import Interrupted
from multiway.workflows.search import (
    BEST,
    Pruned,
    Search,
    Trial,
    open_fields,
    plain_settings,
    rank_trials,
    write_trials,
)
from multiway.workflows.space import load_space

if TYPE_CHECKING:
    import optuna

    from multiway.workflows.study import Study

SAMPLERS = ("random", "grid", "tpe")
PRUNERS = ("none", "halving", "hyperband")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tuned:
    """What a search has found.

    trials: Those that were measured, best first.
    refused: Combinations that could not be.
    pruned: Those whose training ended early, far behind the others.
    best: Settings of the best, as `train` takes them.
    recipe: The file that holds them; None where nothing was written.
    """

    task: str
    trials: list[Trial]
    refused: list[Trial]
    pruned: list[Trial]
    best: dict[str, Any]
    recipe: Path | None

    def table(self) -> list[Row]:
        """One row per trial, best first."""
        return [trial.row() for trial in self.trials]

    def lines(self) -> list[str]:
        """What was refused and why, and how the best is trained."""
        best = [] if self.recipe is None else [write_command("train", self.task, recipe=self.recipe)]
        return [*map(str, self.refused), *map(str, self.pruned), *best]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        groups = {"trials": self.trials, "refused": self.refused, "pruned": self.pruned}
        plain = {name: [trial.plain() for trial in group] for name, group in groups.items()}
        return {"recipe": self.recipe, "best": self.best, **plain}


@files.sparing_inputs()
def tune(
    task: str,
    settings: dict[str, Any] | None = None,
    *,
    space: str | Path | Mapping[str, Any],
    source: Any = None,
    overrides: dict[str, Any] | None = None,
    trials: int | None = None,
    seed: int = 0,
    minutes: float | None = None,
    sampler: str = "random",
    pruner: str = "none",
    out: Path | None = None,
    storage: str | None = None,
    progress: bool = False,
) -> Tuned:
    """Train our model under combinations of settings; what chooses its epochs on validation ranks them.

    Neither test rows nor baselines are looked at: that is for the training of the best. Of equal trials the smaller
    model wins. A search is a study of Optuna. The same call goes on with it, repeats no trial that ended, and trains
    anew what was under way in a process that was killed; several processes may work on one at once.

    Args:
        task: Its name.
        settings: Those of a run that all trials share; a field that is set here is not searched.
        space: Values by field, such as `{"model.dim": [32, 64]}`; a YAML file of them, or the name of a paper's.
        source: Data in memory in the place of `settings["data"]`, such as a frame.
        overrides: More settings, which win.
        trials: How many combinations to measure, each once; all if not given.
        seed: Of their order; a training has its own `training.seed`.
        minutes: No trial begins later than this.
        sampler: `random` draws without replacement, `grid` takes the space in its order, `tpe` learns from the trials.
        pruner: `halving` or `hyperband` end trainings that are far behind; `none` ends none.
        out: Folder for `study.journal`, `trials.jsonl` and `best.yaml`; nothing is written if not given.
        storage: URL of a database that keeps the study in the place of the folder, for several machines.
        progress: Whether to say on stderr what each trial gave.

    Raises:
        ConfigError: No combination can be, there is no data, or Optuna is not installed.
        DataError: The data are not sound.
        RunError: `out` holds something else, or no trial gave a measure.
    """
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ConfigError("tune: a trial trains in one process. Start tune several times instead of with torchrun.")
    for name, value, known in (("sampler", sampler, SAMPLERS), ("pruner", pruner, PRUNERS)):
        if value not in known:
            raise ConfigError(f"tune: {name} is one of {', '.join(known)}. Got {value!r}{closest(value, known)}")
    load_extra("optuna", "tune", "tune")
    given = plain_settings(merge(settings or {}, overrides or {}))
    files.add_input(given.get("data"), space if isinstance(space, str | Path) else None)
    files.check_place(out)
    search = Search(task=task_of(task), given=given, source=source)
    searched = open_fields(search.task, load_space(space), given)
    every = searched.combinations() if sampler == "grid" else searched.shuffle(seed)
    opening = {
        "task": task,
        "settings": {name: value for name, value in given.items() if name != "data"},
        "space": plain_settings(searched.values),
        "seed": seed,
        "sampler": sampler,
        "pruner": pruner,
        "data": search.digest(every, progress),
    }
    from multiway.workflows.study import Study

    study = Study.open(out, storage, opening, searched, every)
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    while time.monotonic() < end and (trial := study.begin(trials or len(every))) is not None:
        _train_trial(study, search, trial, out, progress)
    return _collect(search, study, out)


def _train_trial(study: "Study", search: Search, trial: "optuna.Trial", out: Path | None, progress: bool) -> None:
    """Train one combination and keep what it gave."""
    try:
        outcome = search.trial(study.fields_of(trial), Judge(trial))
    except BaseException as error:
        study.give_up(trial.number)
        if not isinstance(error, Interrupted):
            raise
        kept = "" if out is None else f" Earlier trials are kept: the same command goes on in {out}."
        raise Interrupted(f"tune: {error}{kept}") from None
    study.end(trial, outcome)
    if out is not None:
        write_trials(out, study.outcomes)
    if progress:
        print(f"trial {len(study.outcomes)}: {outcome}", file=sys.stderr, flush=True)


class Judge:
    """Reports the best validation so far, and ends a training that is far behind."""

    def __init__(self, trial: "optuna.Trial") -> None:
        self._trial = trial

    def log(self, values: Row, step: int | None = None) -> None:
        """Judge a validation."""
        score = values.get("best_score")
        self._trial.report(values["best_loss"] if score is None else -score, step=values["step"])
        if self._trial.should_prune():
            raise Pruned(values)

    def finish(self) -> None:
        """The study hears of the end otherwise."""


def _collect(search: Search, study: "Study", out: Path | None) -> Tuned:
    outcomes = study.outcomes
    if out is not None:
        write_trials(out, outcomes)  # a process that was killed may have ended the last trial and written nothing
    trials, refused = rank_trials(outcomes), [trial for trial in outcomes if trial.refused is not None]
    if not trials:
        under_way = f"{study.under_way} are under way in other processes." if study.under_way else ""
        reason = refused[0].refused if refused else under_way or "no time was left for one. Give more minutes."
        raise RunError(f"tune: no trial gave a measure: {reason}")
    best, recipe = search.settings(trials[0].settings), None
    if out is not None:
        first = trials[0]
        content = {
            "task": search.task.name,
            "table": "tune",
            "row": "best",
            "data": search.given.get("data"),
            "note": f"Best of {len(trials)} trials: {first.selected_by} {first.measure}, epoch {first.epoch:g}.",
            "settings": {name: value for name, value in best.items() if name != "data"},
        }
        recipe = out / BEST
        files.write_text(recipe, yaml.safe_dump(plain_settings(content), sort_keys=False, allow_unicode=True))
    return Tuned(
        task=search.task.name,
        trials=trials,
        refused=refused,
        pruned=[trial for trial in outcomes if trial.pruned],
        best=best,
        recipe=recipe,
    )
