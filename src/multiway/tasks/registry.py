"""The tasks by name and by the data that they are for; a task's module is imported when it is first used."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from multiway import files
from multiway.config import Plain
from multiway.data import datasets
from multiway.data.sources.bytes import check_folder
from multiway.errors import RunError
from multiway.tasks.known import task_of_dataset
from multiway.tasks.settings import TASKS, check_task, settings_of, task_named
from multiway.training.run_folder import RunFolder, run_folders

if TYPE_CHECKING:  # what needs torch
    from multiway.tasks.protocol import AnyTask

FORMAT = 15
"""Of run folders; one more whenever an older one cannot be read any longer."""


def task_of(name: str) -> "AnyTask":
    """The task of that name."""
    check_task(name)
    task: AnyTask = task_named(name)
    return task


def task_name(path: Path | str) -> str:
    """The task of the run in a folder, or of the seeds below it."""
    return read_task(RunFolder.open(run_folders(path)[0]))[0]


def read_task(folder: RunFolder) -> tuple[str, Plain]:
    """The task that wrote a run folder, and what its config says.

    Raises:
        RunError: There is no such task, or the folder has another format.
    """
    stored = folder.config()
    name, found = stored.get("task"), stored.get("format", 1)
    if name not in TASKS:
        raise RunError(
            f"{folder.path} is a run of the task {name}; known are {', '.join(TASKS)}. It needs another version."
        )
    if found != FORMAT:
        raise RunError(
            f"{folder.path} has the run format {found}, and this version reads {FORMAT}. Train it again: "
            f"its config.yaml holds the settings."
        )
    return str(name), stored


def task_of_data(source: object) -> str:
    """The task that data, on disk or in memory, look like they are for."""
    return tasks_of_data(source)[0]


def tasks_of_data(source: object, options: Collection[str] = ()) -> tuple[str, ...]:
    """The tasks that data can be for, the likeliest first, of those whose check has all of the options."""
    if isinstance(source, str | Path) and datasets.is_dataset(str(source)):
        return (task_of_dataset(str(source)),)
    if isinstance(source, str | Path):
        files.check_regular(source)
        check_folder(source)
    having = [name for name in TASKS if settings_of(name).options_of("check").keys() >= set(options)]
    is_chosen = 0 < len(having) < len(TASKS)
    kinds = {name: settings_of(name).kind for name in having or TASKS}
    sure = [name for name, kind in kinds.items() if kind.recognises(source)]
    other = [name for name, kind in kinds.items() if kind.could_take(source, is_chosen=is_chosen)]
    return tuple(dict.fromkeys([*sure, *other])) or tuple(kinds)[:1]
