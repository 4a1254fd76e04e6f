"""Runs on disk: one folder, or a folder of seeds, taken up by the task that wrote them."""

from pathlib import Path

from multiway.tasks import lifecycle
from multiway.tasks.run import Run, name_of


def run_folders(path: Path | str) -> list[Path]:
    """The folder of a run, or those of every seed below it, in the order of their seeds."""
    path = Path(path)
    if (path / "config.yaml").is_file():
        return [path]
    below = [folder for folder in path.glob("seed-*") if folder.name[5:].isdecimal()]
    return sorted(below, key=lambda folder: int(folder.name[5:])) or [path]


def load_run(path: Path | str) -> Run:
    """The run in a folder, or the first of the seeds below it."""
    return lifecycle.load(run_folders(path)[0])


def load_runs(path: Path | str) -> list[Run]:
    """The run in a folder, or the runs of every seed below it."""
    return [lifecycle.load(folder) for folder in run_folders(path)]


def task_name(path: Path | str) -> str:
    """The task of the run in a folder, or of the seeds below it."""
    return name_of(run_folders(path)[0])
