"""How far encoding is: one bar on a terminal, plain lines elsewhere, nothing unless asked; all on stderr."""

import sys
import time
from typing import Any

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Shows how many texts have vectors.

    Args:
        texts: Texts to encode.
        show: Whether to show anything.
    """

    def __init__(self, texts: int, show: bool) -> None:
        self.texts, self._show, self._bar, self._task = texts, show and texts > 0, None, 0
        self._start = self._last = time.monotonic()
        if self._show and sys.stderr.isatty():
            self._bar = _make_bar()
            self._task = self._bar.add_task("encoding", total=texts)
            self._bar.start()

    def update(self, done: int) -> None:
        """Move the bar; elsewhere say so every ten seconds and at the end."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
        elif self._show and (done == self.texts or time.monotonic() - self._last >= SECONDS_BETWEEN_LINES):
            self._last = time.monotonic()
            spent = self._last - self._start
            print(f"encoded {done:,} of {self.texts:,} texts  ({spent:.0f} s)", file=sys.stderr, flush=True)

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
