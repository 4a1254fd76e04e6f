"""Run folders as every task opens them: to begin, to go on after an interruption, and to take up a finished run."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from multiway.config import Config
from multiway.errors import MultiwayError, RunError
from multiway.tasks.processes import create_once, held
from multiway.training import RunFolder

ConfigT = TypeVar("ConfigT", bound=Config)
UNREADABLE = (KeyError, TypeError, ValueError)
"""What reading stored values raises where one is absent or does not fit."""


def opening(task: str, digest: str | None, config: Config) -> dict[str, Any]:
    """What stands in a run's `config.yaml`; `read_opening` takes it back."""
    return {"task": task, "data_sha256": digest, "settings": config.plain()}


def read_opening(folder: RunFolder, task: str, kind: type[ConfigT]) -> tuple[ConfigT, str]:
    """The config of a run, and the hash of its data when it was started.

    Raises:
        RunError: It is a run of another task.
    """
    stored = folder.config()
    if stored.get("task") != task:
        raise RunError(f"{folder.path} is a run of the task {stored.get('task')}, not of {task}.")
    config = kind.parse(stored.get("settings", {}), str(folder.path / "config.yaml"))
    return config, str(stored.get("data_sha256"))


@contextlib.contextmanager
def started(path: Path, task: str, digest: str | None, config: Config) -> Iterator[RunFolder]:
    """Make the folder of a new run, and hold it.

    Raises:
        RunError: Something is there already.
    """
    folder = create_once(path, opening(task, digest, config))
    with held(folder):
        yield folder


@contextlib.contextmanager
def continued(folder: RunFolder, task: str, kind: type[ConfigT]) -> Iterator[tuple[ConfigT, str]]:
    """Hold the folder of an interrupted run, without what a killed write left; its config, and its data's hash.

    Raises:
        RunError: Another process holds it, or it is a run of another task.
    """
    with held(folder):
        folder.clean()
        yield read_opening(folder, task, kind)


def open_finished(path: Path, task: str, kind: type[ConfigT]) -> tuple[RunFolder, ConfigT]:
    """The folder of a finished run, every file checked against its hash, and its config.

    Raises:
        RunError: It is unfinished, damaged, or a run of another task.
    """
    folder = RunFolder.open(path)
    folder.verify()
    config, _ = read_opening(folder, task, kind)
    return folder, config


@contextlib.contextmanager
def readable(path: Path, what: str, errors: tuple[type[Exception], ...] = UNREADABLE) -> Iterator[None]:
    """Say in one line that stored values are not those of such a run, as this version writes it.

    Args:
        path: The run's folder.
        what: What it should hold: "run of stocks".
        errors: What says so.

    Raises:
        RunError: A value is absent or does not fit.
    """
    try:
        yield
    except MultiwayError:
        raise
    except errors as error:
        raise RunError(f"{path} holds no {what} that this version can read ({error}).") from None
