"""One bar on a terminal, plain lines elsewhere, nothing unless asked; all on stderr."""

import sys
from typing import Any


class Progress:
    """Shows how far the training is.

    Args:
        steps: Steps in all.
        show: Whether to show anything.
    """

    def __init__(self, steps: int, show: bool) -> None:
        self.steps, self._bar, self._task = steps, None, 0
        self._show = show
        if show and sys.stderr.isatty():
            self._bar = _make_bar()
            self._task = self._bar.add_task("training", total=steps)
            self._bar.start()

    def update(self, step: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(self._task, completed=step)

    def report(self, row: dict[str, Any]) -> None:
        """Show a validation: on the bar, or as a line."""
        text = f"epoch {row['epoch']:g}  train {row['train_loss']:.4f}  validation {row['validation_loss']:.4f}"
        if "validation_score" in row:
            text += f"  score {row['validation_score']:.4f} (best {row['best_score']:.4f})"
        if self._bar is not None:
            self._bar.update(self._task, description=text)
        elif self._show:
            print(f"{text}  ({row['seconds']:.0f} s, step {row['step']} of {self.steps})", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the bar down."""
        if self._bar is not None:
            self._bar.stop()


def _make_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Bar(*columns, console=Console(stderr=True))
