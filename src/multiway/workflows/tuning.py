"""A search over settings: trials are judged on validation, without test rows; the best becomes a recipe to train."""

import dataclasses
import math
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from multiway.config import merge
from multiway.errors import ConfigError, RunError, typed
from multiway.tasks.protocol import Row
from multiway.tasks.registry import task_of
from multiway.training import Interrupted
from multiway.workflows.search import Fields, Search, open_fields
from multiway.workflows.space import load_space
from multiway.workflows.trials import BEST, Trial, Trials, plain_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tuned:
    """What a search has found.

    trials: Those that were measured, best first.
    refused: Combinations that could not be.
    best: Settings of the best, as `train` takes them.
    recipe: The file that holds them; None where nothing was written.
    """

    task: str
    trials: list[Trial]
    refused: list[Trial]
    best: dict[str, Any]
    recipe: Path | None

    def table(self) -> list[Row]:
        """One row per trial, best first."""
        return [trial.row() for trial in self.trials]

    def lines(self) -> list[str]:
        """What was refused and why, and how the best is trained."""
        best = [] if self.recipe is None else [typed("train", self.task, recipe=self.recipe)]
        return [*map(str, self.refused), *best]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        trials, refused = ([trial.plain() for trial in group] for group in (self.trials, self.refused))
        return {"recipe": self.recipe, "best": self.best, "trials": trials, "refused": refused}


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
    out: Path | None = None,
    progress: bool = False,
) -> Tuned:
    """Train our model under combinations of settings; what chooses its epochs on validation ranks them.

    Neither test rows nor baselines are looked at: that is for the training of the best. Of equal trials the smaller
    model wins. A search goes on from the trials in `out`, and repeats none.

    Args:
        task: Its name.
        settings: Those of a run that all trials share; a field that is set here is not searched.
        space: Values by field, such as `{"model.dim": [32, 64]}`; a YAML file of them, or the name of a paper's.
        source: Data in memory in the place of `settings["data"]`, such as a frame.
        overrides: More settings, which win.
        trials: How many combinations to measure, drawn without replacement; all if not given.
        seed: Of that draw; a training has its own `training.seed`.
        minutes: No trial begins later than this.
        out: Folder for `trials.jsonl` and `best.yaml`; nothing is written if not given.
        progress: Whether to say on stderr what each trial gave.

    Raises:
        ConfigError: No combination can be, or there is no data.
        DataError: The data are not sound.
        RunError: `out` holds something else, or no trial gave a measure.
    """
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ConfigError("tune: a search runs in one process. Start it without torchrun.")
    given = plain_settings(merge(settings or {}, overrides or {}))
    search = Search(task=task_of(task), given=given, source=source)
    searched = open_fields(search.task, load_space(space), given)
    every = searched.shuffled(seed)
    opening = {
        "task": task,
        "settings": given,
        "space": searched.values,
        "seed": seed,
        "data": search.digest(every, progress),
    }
    trials_so_far = Trials(out, opening)
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    with trials_so_far.held():
        for fields in every:
            if len(trials_so_far.measured) >= (trials or len(every)) or time.monotonic() >= end:
                break
            if fields not in trials_so_far:
                _add(trials_so_far, search, fields, progress)
        if trials_so_far.measured:
            trials_so_far.keep_best(_recipe(search, trials_so_far))
    return _tuned(search, trials_so_far)


def _add(trials: Trials, search: Search, fields: Fields, progress: bool) -> None:
    """Train one combination and keep what it gave."""
    try:
        trial = search.trial(fields)
    except Interrupted as error:
        kept = "" if trials.path is None else f" Earlier trials are kept: the same command goes on in {trials.path}."
        raise Interrupted(f"tune: {error}{kept}") from None
    trials.add(trial)
    if progress:
        print(f"trial {len(trials)}: {trial}", file=sys.stderr, flush=True)


def _recipe(search: Search, trials: Trials) -> dict[str, Any]:
    """The best as a recipe, which is one of a table."""
    best = trials.measured[0]
    note = f"Best of {len(trials.measured)} trials: {best.selected_by} {best.measure}, epoch {best.epoch:g}."
    settings = {name: value for name, value in search.settings(best.settings).items() if name != "data"}
    head = {"task": search.task.name, "table": "tune", "row": "best", "data": search.given.get("data")}
    return {**head, "note": note, "settings": settings}


def _tuned(search: Search, trials: Trials) -> Tuned:
    if not trials.measured:
        reason = trials.refused[0].refused if trials.refused else "no time was left for one. Give more minutes."
        raise RunError(f"tune: no trial gave a measure: {reason}")
    best, recipe = search.settings(trials.measured[0].settings), trials.path and trials.path / BEST
    return Tuned(task=search.task.name, trials=trials.measured, refused=trials.refused, best=best, recipe=recipe)
