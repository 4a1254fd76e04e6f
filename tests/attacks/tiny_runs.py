"""Tiny finished runs of every task for the benchmarks that damage files and kill commands."""

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rows import commit, processor

from forked import forked
from multiway import files
from tasks.tiny import OUT, TINY, Tiny


class Task(NamedTuple):
    """A tiny finished run, the same run stopped half-way, and what the finished one predicts."""

    tiny: Tiny
    folder: Path
    expected: dict[str, str]

    @property
    def run(self) -> Path:
        return self.folder / "run"


def make(name: str, folder: Path) -> Task:
    """Train one tiny run to the end and stop another; use the first, so that everything is imported."""
    folder.mkdir(parents=True)
    (folder / "data").mkdir()
    tiny = TINY[name](folder / "data")
    assert forked(tiny.train(folder / "stopped"), kill_after_saves=2).killed
    for words in (tiny.train(folder / "run"), ["report", folder / "run", "--out", folder / "report.html"]):
        done_here(words)
    out = folder / "expected"
    done_here(predicting(tiny, folder / "run", out))
    return Task(tiny, folder, contents(out))


def done_here(words: list[Any]) -> None:
    """Run a command in this process, so that what it imports is there for the next; it must end well."""
    outcome = forked(words, here=True)
    assert outcome.code == 0, outcome.err


def predicting(tiny: Tiny, run: Path, out: Path, data: Path | None = None) -> list[object]:
    """Words that predict for the tiny data into a folder that is made first."""
    out.mkdir()
    return ["predict", run, "--data", data or tiny.data, "--out", out / OUT.get(tiny.task, "answer.csv")]


def contents(folder: Path) -> dict[str, str]:
    """Hash of every file in a folder."""
    return {str(path.relative_to(folder)): files.sha256_of(path) for path in inside(folder)}


def inside(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def origin() -> dict[str, Any]:
    """Commit and machine of a row of results."""
    return {"commit": commit(), "machine": f"{processor()}, {platform.system()}"}
