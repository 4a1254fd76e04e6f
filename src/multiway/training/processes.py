"""Processes of one run: the first writes the folder, the others wait; a signal stops them between two steps."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from multiway.errors import RunError, StorageError
from multiway.training.run_folder import CONFIG, RunFolder, resuming

WAITS, PAUSE = 600, 0.1
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))


class Interrupted(RunError):
    """Training was asked to stop, and its state is saved."""


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

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.name = signal.Signals(number).name


def is_main() -> bool:
    """Whether this is the process that writes."""
    return os.environ.get("RANK", "0") == "0"


def create_once(path: Path, settings: dict[str, Any]) -> RunFolder:
    """Only the first of several processes makes the folder; the others wait until it is there."""
    if is_main():
        return RunFolder.create(path, settings)
    for _ in range(WAITS):
        if (path / CONFIG).is_file():
            return RunFolder.open(path)
        time.sleep(PAUSE)
    raise RunError(f"{path} was not made by the first process within a minute.")


@contextlib.contextmanager
def held(folder: RunFolder) -> Iterator[None]:
    """Hold the folder in the process that writes."""
    try:
        with folder.lock() if is_main() else contextlib.nullcontext():
            yield
    except StorageError as error:
        go_on = f" Then continue: {resuming(folder.path)}." if (folder.path / CONFIG).is_file() else ""
        raise StorageError(*error.args, go_on) from None
