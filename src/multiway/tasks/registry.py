"""The tasks by name and by the data that they are for; a task's module is imported when it is first used."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from multiway import files
from multiway.data import datasets
from multiway.data.sources.bytes import check_folder
from multiway.tasks.known import task_of_dataset
from multiway.tasks.settings import TASKS, check_task, settings_of, task_named

if TYPE_CHECKING:  # what needs torch
    from multiway.tasks.protocol import AnyTask


def task_of(name: str) -> "AnyTask":
    """The task of that name."""
    check_task(name)
    task: AnyTask = task_named(name)
    return task


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
