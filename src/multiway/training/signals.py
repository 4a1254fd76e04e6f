"""SIGTERM, SIGINT, SIGHUP, and a stderr that is gone, as a flag that the loop looks at between steps."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from multiway.errors import RunError


class Interrupted(RunError):
    """Training was asked to stop, and its state is saved."""


SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))


class StopRequest:
    """While entered, remembers a signal instead of dying of it; the old handlers come back on exit.

    A signal that is ignored, as SIGHUP is under nohup, stays ignored.
    """

    def __init__(self) -> None:
        self.name: str | None = None
        self._old: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._old[number] = signal.signal(number, self._remember)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def unless_written(self) -> Iterator[None]:
        """Ask for a stop where stderr cannot be written: nobody would see how the training goes on."""
        try:
            yield
        except OSError as error:
            self.name = f"a stderr that cannot be written ({error.strerror})"

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.name = signal.Signals(number).name
