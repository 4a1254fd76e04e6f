"""A run of each task, finished and stopped, made once in a process for all tests of the contract that look at it."""

from pathlib import Path
from typing import NamedTuple

import pytest

import shapes
from command import outcome, printed
from fewer import fit_fewer, show_fewer
from interruption import stop_after
from tasks.tiny import TINY, Tiny

SEED = 2
"""With it the best score on validation is neither that of the lowest loss, nor the only one of its height."""


class Made(NamedTuple):
    """A finished run, what its training printed, and its report."""

    tiny: Tiny
    run: Path
    said: str
    page: str


class Stopped(NamedTuple):
    """A run that was told to stop before it was finished; the data and the seed are those of the finished one."""

    tiny: Tiny
    run: Path
    error: str


_FINISHED: dict[str, Made] = {}
_STOPPED: dict[str, Stopped] = {}


def finished(task: str, folders: pytest.TempPathFactory) -> Made:
    """One run of a task for all tests of its contract, which follow each other in one worker.

    What it is compared with is fitted on as few folds: under `fit_fewer`.
    """
    if task not in _FINISHED:
        _FINISHED[task] = _made(task, folders.mktemp("my tiny "))
    return _FINISHED[task]


def stopped(task: str, folders: pytest.TempPathFactory) -> Stopped:
    """A run of a task that took two steps: go on with a copy of it."""
    if task not in _STOPPED:
        tiny, run = finished(task, folders).tiny, folders.mktemp("stopped ") / "run"
        with pytest.MonkeyPatch.context() as patch:
            fit_fewer(patch)
            stop_after(patch, 2)
            code, _, error = outcome(*tiny.train(run, training__seed=SEED))
        assert code == 1
        _STOPPED[task] = Stopped(tiny, run, error)
    return _STOPPED[task]


def _made(task: str, folder: Path) -> Made:
    tiny, run = TINY[task](folder), folder / "run"
    with pytest.MonkeyPatch.context() as patch:
        fit_fewer(patch)
        with shapes.checked():
            said = printed(*tiny.train(run, training__seed=SEED))
        show_fewer(patch)
        printed("report", run, "--out", folder / "report.html")
    return Made(tiny, run, said, (folder / "report.html").read_text())
