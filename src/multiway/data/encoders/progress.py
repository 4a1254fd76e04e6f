"""How far encoding is: one bar on a terminal, plain lines elsewhere, nothing unless asked; all on stderr."""

import sys
import time

from multiway.terminal import TerminalBar

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Shows how many texts have vectors.

    Args:
        texts: Texts to encode.
        show: Whether to show anything.
    """

    def __init__(self, texts: int, show: bool) -> None:
        self.texts, self._show = texts, show and texts > 0
        self._start = self._last = time.monotonic()
        self._bar = TerminalBar("encoding", texts, self._show)

    def update(self, done: int) -> None:
        """Move the bar; elsewhere say so every ten seconds and at the end."""
        if self._bar.is_shown:
            self._bar.update(completed=done)
        elif self._show and (done == self.texts or time.monotonic() - self._last >= SECONDS_BETWEEN_LINES):
            self._last = time.monotonic()
            spent = self._last - self._start
            print(f"encoded {done:,} of {self.texts:,} texts  ({spent:.0f} s)", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the bar down."""
        self._bar.close()
