"""The process of a command: signals that end it, and standard streams that are closed or full."""

import contextlib
import os
import signal
import sys
import warnings
from types import FrameType, TracebackType
from typing import Any

IMPORT = "<frozen importlib._bootstrap>"
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopped(BaseException):
    """A signal ended the command; what it was writing is taken away on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.code = 128 + number


class Stoppable:
    """While entered, a signal raises `Stopped`; one that the parent ignores, as nohup does, stays ignored."""

    def __enter__(self) -> "Stoppable":
        self._old: dict[int, Any] = {}
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                self._old[number] = signal.signal(number, _stop)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    """Raise, or end at once inside an import: libraries turn what is raised there into other errors."""
    stopped = Stopped(number)
    if _is_importing(frame):
        take_back = getattr(sys.modules.get("multiway.files"), "take_back", None)
        if take_back is not None:
            take_back()
        say(str(stopped))
        os._exit(stopped.code)
    raise stopped


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != IMPORT:
        frame = frame.f_back
    return frame is not None


def say(message: str) -> None:
    """One line on stderr, where there is one."""
    with contextlib.suppress(OSError):
        print(f"multiway: {' '.join(message.split())}", file=sys.stderr, flush=True)


def say_warnings(kind: type[Warning]) -> None:
    """Say a warning as an error is said, without the place in the code that gave it, and each of one kind once."""
    warnings.simplefilter("default", kind)
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")


def open_streams() -> None:
    """Put the null device in the place of closed streams, so that no file gets their numbers and their messages."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def drop_output() -> None:
    """Forget what could not be printed, which Python would try again at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
