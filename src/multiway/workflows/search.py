"""The trials of a search: what all share, how one comes about, and `trials.jsonl` and `best.yaml` in its folder."""

import dataclasses
import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic import JsonValue

from multiway import files
from multiway.config import Config, merge, nest
from multiway.errors import ConfigError, DataError, Fix, RunError, StorageError
from multiway.tasks import lifecycle
from multiway.tasks.lifecycle import fit_models
from multiway.tasks.protocol import Context, Row, Task
from multiway.tasks.run import Run
from multiway.training import Callback, Interrupted
from multiway.workflows.space import Fields, Space

TRIALS, BEST = "trials.jsonl", "best.yaml"
NOT_OF_DATA = ("model.", "training.")
"""Parts of a config that no flaw of the data comes from."""
FAILURES = (ConfigError, DataError, RunError, torch.OutOfMemoryError)
"""What refuses one combination, and leaves the others."""


class Trial(Config):
    """One combination of a space, and what its training gave on validation."""

    settings: dict[str, JsonValue]
    """Values of the space by field, such as `model.dim`."""
    selected_by: str = ""
    """What chose its epoch, in words, such as "highest validation AUC"."""
    validation_loss: float | None = None
    validation_score: float | None = None
    """Of the epoch that was kept, higher for better; None where the loss chooses."""
    epoch: float | None = None
    parameters: int = 0
    seconds: float = 0.0
    seed: int = 0
    refused: str | None = None
    """Why there is no measure."""
    pruned: bool = False
    """Whether it was so far behind the others that its training ended early."""

    @property
    def measure(self) -> float | None:
        """The score that chose its epoch, or the loss."""
        return self.validation_loss if self.validation_score is None else self.validation_score

    @property
    def rank(self) -> tuple[float, int]:
        """The lower the better; of equal measures the smaller model is."""
        value = self.measure or 0.0
        return (value if self.validation_score is None else -value, self.parameters)

    def __str__(self) -> str:
        """What it gave, in a line."""
        name = " ".join(f"{field}={json.dumps(value)}" for field, value in self.settings.items()) or "no field"
        if self.refused is not None:
            return f"{name}: refused: {self.refused}"
        if self.pruned:
            return f"{name}: ended at epoch {self.epoch:g}, far behind: {self.measure:.4f}"
        return f"{name}: {self.selected_by} {self.measure:.4f}, {self.seconds:.0f} s"

    def row(self) -> Row:
        """Of a table."""
        cost = {"epoch": self.epoch, "parameters": self.parameters, "seconds": self.seconds}
        return {**self.settings, self.selected_by: self.measure, **cost}


def rank_trials(trials: Iterable[Trial]) -> list[Trial]:
    """Those that were trained to their end, best first."""
    return sorted((each for each in trials if each.refused is None and not each.pruned), key=lambda each: each.rank)


def write_trials(folder: Path, trials: Iterable[Trial]) -> None:
    """A line per trial that ended."""
    lines = (json.dumps(trial.plain(), allow_nan=False) + "\n" for trial in trials)
    files.write_text(folder / TRIALS, "".join(lines))


def plain_settings(values: Any) -> Any:
    """Values as YAML and JSON hold them, none of them shared."""
    return json.loads(json.dumps(values, default=str))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search:
    """Settings of every trial, and data in memory where there is no path."""

    task: Task
    given: dict[str, Any]
    source: Any

    def settings(self, fields: Fields) -> dict[str, Any]:
        """Those of a run."""
        settings = self.given
        for field, value in fields.items():
            settings = merge(settings, nest(field, value))
        return settings

    def make_run(self, fields: Fields, progress: bool = False) -> Run:
        """A run that is not fitted."""
        config = self.task.configure(self.settings(fields))
        if config.data is None and self.source is None:
            raise ConfigError("tune: there is no data. Give ", Fix("data", like="FILE"), " or a known data set's name.")
        source = self.task.locate(config.data) if self.source is None else self.source
        return lifecycle.make(self.task, config, source, progress=progress)

    def digest(self, every: Sequence[Fields], progress: bool) -> str:
        """Hash of the data, as the first combination that can be reads it."""
        reasons, unsound = list[str](), dict[str, DataError]()
        for fields in every:
            reading = str({name: value for name, value in fields.items() if not name.startswith(NOT_OF_DATA)})
            try:
                if reading not in unsound:
                    return self.make_run(fields, progress).digest
            except DataError as error:
                unsound[reading] = error
            except ConfigError as error:
                reasons.append(str(error))
        if unsound:
            raise next(iter(unsound.values()))
        raise ConfigError(f"tune: none of {len(every)} combinations can be. The first: {reasons[0]}")

    def trial(self, fields: Fields, *callbacks: Callback) -> Trial:
        """Train our model under one combination; neither baselines nor test rows are looked at.

        callbacks: Are given each validation, and may raise `Pruned`.
        """
        clock = time.perf_counter()
        try:
            run = self.make_run(fields)
            fit_models(run, (run.task.own,), Context(callbacks=callbacks))
            outcome = measure_run(run)
        except Pruned as stopped:
            outcome = stopped.outcome
        except (Interrupted, StorageError):
            raise
        except FAILURES as error:
            outcome = {"refused": str(error).partition("\n")[0]}
        return Trial(settings=fields, seconds=round(time.perf_counter() - clock, 3), **outcome)


class Pruned(Exception):
    """A trial is far behind the others: its training ends.

    outcome: Fields of its `Trial`.
    """

    def __init__(self, row: Row) -> None:
        super().__init__()
        measured = {"validation_loss": row["best_loss"], "validation_score": row.get("best_score")}
        self.outcome = {"pruned": True, "epoch": row["epoch"], **measured}


def measure_run(run: Run) -> dict[str, Any]:
    """What the training of a run gave on validation, as fields of a `Trial`."""
    best = run.facts["best"].get(run.task.own)
    if best is None or not math.isfinite(best["validation_loss"]):
        raise RunError("nothing was trained that validation can measure.")
    fields = {name: best[name] for name in ("validation_loss", "validation_score", "epoch")}
    cost = {"parameters": run.facts["parameters"][run.task.own], "seed": run.config.training.seed}
    return {"selected_by": run.task.page.SUBJECT.selected_by(run), **fields, **cost}


def open_fields(task: Task, space: Space, given: Mapping[str, Any]) -> Space:
    """The space without the fields that are set."""
    for field in space.values:
        if any(_overlap(name, field) for name in task.fields_of_validation):
            raise ConfigError(
                f"tune: {field} decides what validation measures, or on which rows, so trials would not compare. "
                f"Leave it out of the space."
            )
    fixed = [field for field in space.values if _is_set(given, field.split("."))]
    if len(fixed) == len(space.values):
        raise ConfigError(f"tune: nothing is left to search, since {', '.join(fixed) or 'no field'} is set. Unset one.")
    return space.without(fixed)


def _overlap(one: str, other: str) -> bool:
    """Whether one field is the other, or a part of it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _is_set(given: Any, parts: Sequence[str]) -> bool:
    return not parts or (isinstance(given, dict) and parts[0] in given and _is_set(given[parts[0]], parts[1:]))
