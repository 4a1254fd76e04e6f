"""Trials of a search, and the folder that keeps them: `search.yaml`, `trials.jsonl`, `best.yaml`."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import JsonValue

from multiway import files, leftovers
from multiway.config import Config, load_yaml
from multiway.errors import RunError
from multiway.tasks.protocol import Row
from multiway.training import RunFolder

OPENING, TRIALS, BEST = "search.yaml", "trials.jsonl", "best.yaml"


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
        return f"{self.named}: {self.selected_by} {self.measure:.4f}, {self.seconds:.0f} s"

    def row(self) -> Row:
        """Of a table."""
        cost = {"epoch": self.epoch, "parameters": self.parameters, "seconds": self.seconds}
        return {**self.settings, self.selected_by: self.measure, **cost}


class Trials:
    """All trials of one search, on disk where there is a path."""

    def __init__(self, path: Path | None, opening: Mapping[str, Any]) -> None:
        self.path, self._opening = path, plain_settings(opening)
        self._by_key: dict[str, Trial] = {}

    def __contains__(self, settings: Mapping[str, Any]) -> bool:
        return _key(settings) in self._by_key

    def __len__(self) -> int:
        return len(self._by_key)

    @property
    def measured(self) -> list[Trial]:
        """Best first."""
        return sorted((trial for trial in self._by_key.values() if trial.refused is None), key=lambda trial: trial.rank)

    @property
    def refused(self) -> list[Trial]:
        """Combinations that cannot be, or whose training failed."""
        return [trial for trial in self._by_key.values() if trial.refused is not None]

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Make or take up the folder, and hold it."""
        if self.path is None:
            yield
            return
        self._check_opening(self.path)
        with RunFolder(self.path).lock():
            leftovers.remove_all(self.path)
            self._by_key = {_key(trial.settings): trial for trial in _read(self.path / TRIALS)}
            yield

    def _check_opening(self, path: Path) -> None:
        files.check_place(path)
        if not path.exists() or not any(path.iterdir()):
            files.make_folder(path)
            _write(path / OPENING, self._opening)
        elif not (path / OPENING).is_file():
            raise RunError(f"{path} exists already and holds no search. Choose another folder.")
        stored = load_yaml(path / OPENING)
        for name, value in self._opening.items():
            if stored.get(name) != value:
                raise RunError(f"{path} holds a search with other {name}. Choose another folder, or search as before.")

    def add(self, trial: Trial) -> None:
        """Keep a finished trial."""
        self._by_key[_key(trial.settings)] = trial
        if self.path is not None:
            lines = [json.dumps(measured.plain(), allow_nan=False) + "\n" for measured in self._by_key.values()]
            files.write_text(self.path / TRIALS, "".join(lines))

    def keep_best(self, recipe: Mapping[str, Any]) -> None:
        """Write the recipe of the best."""
        if self.path is not None:
            _write(self.path / BEST, plain_settings(recipe))


def plain_settings(values: Any) -> Any:
    """Values as YAML and JSON hold them, none of them shared."""
    return json.loads(json.dumps(values, default=str))


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)


def _write(path: Path, values: Mapping[str, Any]) -> None:
    files.write_text(path, yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def _read(path: Path) -> list[Trial]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return [Trial.parse(json.loads(line), str(path)) for line in lines]
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {' '.join(str(error).split())[:160]}.") from None
