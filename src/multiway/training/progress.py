"""One bar on a terminal, plain lines elsewhere, nothing unless asked; all on stderr."""

import sys
from collections.abc import Iterable
from typing import Any

from multiway.terminal import TerminalBar


class Progress:
    """Shows how far the training is.

    Args:
        steps: Steps in all.
        show: Whether to show anything.
    """

    def __init__(self, steps: int, show: bool) -> None:
        self.steps, self._show, self._bar = steps, show, TerminalBar("training", steps, show)

    def update(self, step: int) -> None:
        """Move the bar."""
        self._bar.update(completed=step)

    def report(self, row: dict[str, Any]) -> None:
        """Show a validation: on the bar, or as a line."""
        text = f"epoch {row['epoch']:g}  train {row['train_loss']:.4f}  validation {row['validation_loss']:.4f}"
        if "validation_score" in row:
            text += f"  score {row['validation_score']:.4f} (best {row['best_score']:.4f})"
        if self._bar.is_shown:
            self._bar.update(description=text)
        elif self._show:
            print(f"{text}  ({row['seconds']:.0f} s, step {row['step']} of {self.steps})", file=sys.stderr, flush=True)

    def say(self, notes: Iterable[str]) -> None:
        """Show notes on the training, a line each."""
        for note in notes:
            if self._show:
                print(note, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the bar down."""
        self._bar.close()
