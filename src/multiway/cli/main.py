"""The `multiway` command: how it starts, how signals and errors reach the user, and how it ends."""

import contextlib
import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn

IMPORT = "<frozen importlib._bootstrap>"
GARBAGE = (50_000, 20, 100)
"""New objects for which the collector looks: what is imported stays, and looking through it is a fifth of a start."""
LOAD, LOOKS, APART = Path("/proc/loadavg"), 5, 0.002
"""Where Linux says how many threads run, how often to look, and seconds between."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def run() -> NoReturn:
    """Run the command line: exit 0 when done, 1 with one line on stderr for an error, 2 for wrong usage.

    A signal ends it with one line and 128 and the signal's number; a training saves its state first and exits with 1.
    """
    gc.set_threshold(*GARBAGE)
    share_cores()
    try:
        with Stoppable():
            open_streams()
            _call()
    except Stopped as stopped:
        say(str(stopped))
        sys.exit(stopped.code)


def share_cores() -> None:
    """Let threads sleep while they wait for each other, where too few cores are free for all of them.

    OpenMP has them spin, which is faster while each has a core. Where another program needs one, they spin while the
    thread that they wait for can't run, and a training takes several times as long. Nothing that is computed changes.
    """
    running, spare = [], 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        cores = os.cpu_count() or 1
        spare = max(cores - int(os.environ.get("OMP_NUM_THREADS", cores)), 0)
        for _ in range(LOOKS):
            running.append(int(LOAD.read_text().split()[3].split("/")[0]))
            time.sleep(APART)
    if min(running, default=0) > 1 + spare:  # itself, and those that have a core besides
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _call() -> NoReturn:
    """Everything is imported here, where a signal is seen to already."""
    from multiway.cli.app import app
    from multiway.cli.options import command_line
    from multiway.errors import MultiwayError, MultiwayWarning
    from multiway.memory import keep_freed_memory

    keep_freed_memory()
    _hint(sys.argv[1:])
    command = next((word for word in sys.argv[1:] if word != "data"), "train")
    say_warnings(MultiwayWarning, lambda warning: warning.spell(command_line(warning.task, command)))
    try:
        app()
    except MultiwayError as error:
        say(f"error: {error.spell(command_line(error.task, command))}")
    except OSError as error:
        say(f"error: {error.filename or 'output'}: {error.strerror or error}")
        drop_output()
    sys.exit(1)


def _hint(words: Sequence[str]) -> None:
    """Answer an option that has another name in other libraries with its name here, as wrong usage."""
    from multiway import workflows
    from multiway.cli.options import dash
    from multiway.errors import ELSEWHERE

    command = words[0] if words else ""
    options = [option for task in workflows.TASKS for option in workflows.settings_of(task).options]
    options.sort(key=lambda option: command in option.commands)  # those of the command win
    here = {option.field.rpartition(".")[2]: option for option in options}
    names = {option.name for option in options}
    for word in words:
        name = word.partition("=")[0].removeprefix("--").replace("-", "_")
        known = [here[own] for own in ELSEWHERE.get(name, ()) if own in here]
        if word.startswith("--") and known and name not in names:
            own = next((option for option in known if command in option.commands), known[0])
            of = "here" if command in own.commands else f"of {own.commands[0]}"
            say(f"error: {word.partition('=')[0]} is {dash(own.name)} {of}.")
            sys.exit(2)


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


def say_warnings(kind: type[Warning], spell: Callable[[Any], str]) -> None:
    """Say a warning as an error is said, without the place in the code that gave it, and each of one kind once."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"warning: {spell(message) if isinstance(message, kind) else message}")

    warnings.simplefilter("default", kind)
    warnings.showwarning = show


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
