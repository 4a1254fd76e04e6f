"""Rows of a training's log, and how they are shown: one bar on a terminal, lines elsewhere, all on stderr."""

import sys
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from multiway.config import Config
from multiway.terminal import TerminalBar


class LogRow(Config):
    """One validation."""

    step: int = Field(ge=0)
    epoch: float = Field(ge=0)
    train_loss: float
    validation_loss: float
    best_loss: float
    validation_score: float | None = None
    best_score: float | None = None
    learning_rate: float = Field(ge=0)
    seconds: float = Field(ge=0)
    samples_per_second: float = Field(ge=0)
    watched: dict[str, list[float]] | None = None

    def plain(self) -> dict[str, Any]:
        """Fields as they were written; a training without a score, or that watches nothing, has none."""
        return self.model_dump(exclude_unset=True)


class TrainingProgress:
    """Shows how far the training is."""

    def __init__(self, steps: int, show: bool) -> None:
        self.steps, self._shows, self._bar = steps, show, TerminalBar("training", steps, show)
        self.is_shown = self._bar.is_shown

    def show(self, step: int, row: dict[str, Any] | None) -> None:
        """Move the bar, and show a validation where there is one: on the bar, or as a line."""
        if self.is_shown:
            self._bar.update(completed=step)
        if row is None:
            return
        text = f"epoch {row['epoch']:g}  train {row['train_loss']:.4f}  validation {row['validation_loss']:.4f}"
        if "validation_score" in row:
            best = row["best_score"]  # none where no score was defined, as of weights that have overflown
            text += f"  score {row['validation_score']:.4f}" + ("" if best is None else f" (best {best:.4f})")
        if self.is_shown:
            self._bar.update(description=text)
        elif self._shows:
            print(f"{text}  ({row['seconds']:.0f} s, step {row['step']} of {self.steps})", file=sys.stderr, flush=True)

    def say(self, notes: Iterable[str]) -> None:
        """Show notes on the training, a line each."""
        for note in notes:
            if self._shows:
                print(note, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the bar down."""
        self._bar.close()
