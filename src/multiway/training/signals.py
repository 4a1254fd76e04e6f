"""SIGTERM and SIGINT as a flag that the loop looks at between steps."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from multiway.errors import RunError


class Interrupted(RunError):
    """Training was asked to stop, and its state is saved."""


class StopRequest:
    """While entered, remembers a signal instead of dying of it; the old handlers come back on exit."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._old: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._old[number] = signal.signal(number, self._remember)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.name = signal.Signals(number).name
