"""Processes forked from one that has imported what they use: a new interpreter takes seconds to import torch."""

import functools
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

PRELOADED = ["torch", "pandas", "pyarrow.parquet", "accelerate", "multiway.cli.main", "multiway.tasks.run"]


class Ended(NamedTuple):
    """How a command ended, and what it wrote to the streams that were open."""

    returncode: int
    stdout: str
    stderr: str


def start(function: Callable[..., object], *args: Any) -> BaseProcess:
    """Start a function in a child, which hears every signal."""
    child = _server().Process(target=_hearing, args=(function, *args))
    child.start()
    return child


def run_command(words: list[str], folder: Path, streams: Mapping[int, str | None]) -> Ended:
    """Run `multiway ...` in a child and wait.

    Args:
        words: Those after `multiway`.
        folder: Where it runs.
        streams: Where a stream of that number goes, to a file, or None for nowhere: it is closed.
    """
    return _ended(folder, streams, _command, words)


def run_program(text: str, folder: Path, **environment: str) -> Ended:
    """Run a text of Python in a child that has imported what is preloaded, and wait."""
    return _ended(folder, {}, _program, text, environment)


def _ended(folder: Path, streams: Mapping[int, str | None], function: Callable[..., object], *args: Any) -> Ended:
    written = {number: str(folder / f".stream-{number}") for number in (1, 2)}
    child = start(_inside, folder, {**written, **streams}, function, *args)
    child.join()
    out, err = (Path(path).read_text() if Path(path).is_file() else "" for path in written.values())
    return Ended(child.exitcode or 0, out, err)


@functools.cache
def _server() -> ForkServerContext:
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(PRELOADED)
    return server


def _hearing(function: Callable[..., object], *args: Any) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    function(*args)


def _inside(folder: Path, streams: Mapping[int, str | None], function: Callable[..., object], *args: Any) -> None:
    """As an interpreter starts that finds its streams so."""
    os.chdir(folder)
    for number, path in streams.items():
        if path is None:
            os.close(number)
        else:
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.stdout, sys.stderr = (
        None if streams.get(number, "") is None else os.fdopen(number, "w", buffering=1, closefd=False)
        for number in (1, 2)
    )  # type: ignore[assignment]  # of a closed stream there is none
    function(*args)


def _command(words: list[str]) -> None:
    sys.argv = ["multiway", *words]
    from multiway.cli.main import run

    run()


def _program(text: str, environment: Mapping[str, str]) -> None:
    os.environ |= environment
    sys.path.insert(0, "")
    exec(compile(text, "program", "exec"), {"__name__": "__main__"})
