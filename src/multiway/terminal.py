"""How far a long piece of work is, as a bar on a terminal or a line."""

import contextlib
import sys
from typing import Any


class TerminalBar:
    """A bar on stderr; nothing where that is no terminal, or where none is requested.

    Args:
        title: What stands before it.
        total: How much there is to do.
        show: Whether it is requested.

    Attributes:
        is_shown: Whether there is a bar.
    """

    def __init__(self, title: str, total: int, show: bool) -> None:
        self._bar: Any = None
        self._task: Any = None
        if show and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._task = self._bar.add_task(title, total=total)
            self._bar.start()
        self.is_shown = self._bar is not None

    def update(self, **changes: Any) -> None:
        """Set what is done (`completed`), or what stands before the bar (`description`)."""
        if self._bar is not None:
            self._bar.update(self._task, **changes)

    def close(self) -> None:
        """Take the bar down, also where the terminal is gone."""
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar.stop()


def tell(line: str) -> None:
    """A line on stderr, if anybody is there to read it."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)
