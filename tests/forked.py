"""One command in a process forked from this one: nothing is imported twice, and time and memory are its own."""

import contextlib
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from multiway import files
from multiway.cli.main import run


class Outcome(NamedTuple):
    """How a command ended.

    code: Of the exit; None where a signal ended it.
    bytes: Most memory that it held, what was there before the fork included.
    """

    code: int | None
    out: str
    err: str
    bytes: int
    timed_out: bool = False
    killed: bool = False

    @property
    def crashed(self) -> bool:
        """Whether it ended as no command may."""
        ended_ill = self.code is None and not (self.timed_out or self.killed)
        return ended_ill or "Traceback" in self.err or self.code not in (0, 1, 2, None)


def forked(
    words: Sequence[object],
    *,
    seconds: int = 600,
    kill_after: float | None = None,
    kill_after_saves: int | None = None,
    inside_save: bool = False,
    here: bool = False,
) -> Outcome:
    """Run the command line with these words.

    Args:
        words: After `multiway`.
        seconds: Time after which it is ended and said to be late.
        kill_after: Kill it after this time.
        kill_after_saves: Kill it when this many files and folders have been written.
        inside_save: Kill it half-way through that write instead of after it.
        here: Run the same in this process first, so that whatever it imports is there for the next.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if here:
            code = _call(words, out.fileno(), err.fileno(), back=True)
            return Outcome(code, _text(out), _text(err), 0)
        child = os.fork()
        if child == 0:
            _prepare(seconds, kill_after, kill_after_saves, inside_save)
            os._exit(_call(words, out.fileno(), err.fileno(), back=False))
        _, status, usage = os.wait4(child, 0)
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = None if number is not None else os.WEXITSTATUS(status)
        late, killed = number == signal.SIGALRM, number == signal.SIGKILL
        return Outcome(code, _text(out), _text(err), usage.ru_maxrss * 1024, late, killed)


def _prepare(seconds: int, kill_after: float | None, saves: int | None, inside: bool) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (40 << 30, 40 << 30))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    if kill_after is not None:
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, max(kill_after, 1e-4))
    if saves is not None:
        _kill_at_save(saves, inside)


def _kill_at_save(count: int, inside: bool) -> None:
    """Die when a file is written: half-way, its temporary file cut short, or as soon as it has its name."""
    original, whole, done = files.sync_file, files.sync_folder, []

    def sync(path: Path) -> None:
        done.append(path)
        if len(done) == count and inside:
            os.truncate(path, path.stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        original(path)
        if len(done) > count:
            os.kill(os.getpid(), signal.SIGKILL)

    def sync_folder(path: Path) -> None:
        done.append(path)
        if len(done) == count and inside:
            os.kill(os.getpid(), signal.SIGKILL)
        whole(path)

    files.sync_file, files.sync_folder = sync, sync_folder


def _call(words: Sequence[object], out: int, err: int, *, back: bool) -> int:
    """The command with its streams in files; any code that is no exit's is a crash."""
    sys.stdout.flush(), sys.stderr.flush()
    kept = [os.dup(number) for number in (1, 2)]
    argv, sys.argv = sys.argv, ["multiway", *map(str, words)]
    os.dup2(out, 1), os.dup2(err, 2)
    with contextlib.ExitStack() as stack:  # in a test these names are not those of the streams below
        streams = [stack.enter_context(os.fdopen(number, "w", buffering=1, closefd=False)) for number in (1, 2)]
        stack.enter_context(contextlib.redirect_stdout(streams[0]))
        stack.enter_context(contextlib.redirect_stderr(streams[1]))
        code = _run()
    if back:
        sys.argv = argv
        for number, old in zip((1, 2), kept, strict=True):
            os.dup2(old, number)
    return code


def _run() -> int:
    try:
        run()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 99
    return 0


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
