"""Trials of a search, and what its folder shows of them: `trials.jsonl` and `best.yaml`."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import JsonValue

from multiway import files
from multiway.config import Config
from multiway.tasks.protocol import Row

TRIALS, BEST = "trials.jsonl", "best.yaml"


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

    @property
    def named(self) -> str:
        """Its settings in a line."""
        return " ".join(f"{field}={json.dumps(value)}" for field, value in self.settings.items()) or "no field"

    def __str__(self) -> str:
        """What it gave, in a line."""
        if self.refused is not None:
            return f"{self.named}: refused: {self.refused}"
        if self.pruned:
            return f"{self.named}: ended at epoch {self.epoch:g}, far behind: {self.measure:.4f}"
        return f"{self.named}: {self.selected_by} {self.measure:.4f}, {self.seconds:.0f} s"

    def row(self) -> Row:
        """Of a table."""
        cost = {"epoch": self.epoch, "parameters": self.parameters, "seconds": self.seconds}
        return {**self.settings, self.selected_by: self.measure, **cost}


def measured(trials: Iterable[Trial]) -> list[Trial]:
    """Those that were trained to their end, best first."""
    return sorted((each for each in trials if each.refused is None and not each.pruned), key=lambda each: each.rank)


def write_trials(folder: Path, trials: Iterable[Trial]) -> None:
    """A line per trial that ended."""
    lines = (json.dumps(trial.plain(), allow_nan=False) + "\n" for trial in trials)
    files.write_text(folder / TRIALS, "".join(lines))


def write_best(folder: Path, recipe: Mapping[str, Any]) -> Path:
    """The recipe of the best."""
    text = yaml.safe_dump(plain_settings(recipe), sort_keys=False, allow_unicode=True)
    files.write_text(folder / BEST, text)
    return folder / BEST


def plain_settings(values: Any) -> Any:
    """Values as YAML and JSON hold them, none of them shared."""
    return json.loads(json.dumps(values, default=str))
