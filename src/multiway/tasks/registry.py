"""The tasks by name; a task's module is imported when it is first used."""

from pathlib import Path

from multiway.data import datasets
from multiway.errors import ConfigError, closest
from multiway.lazy import extensions
from multiway.tasks.known import task_of_dataset
from multiway.tasks.protocol import AnyTask, task_in

MODULES = extensions("tasks")
"""Module of each task, whose `TASK` it is, as `tasks/__init__.py` lists them."""
TASKS = tuple(MODULES)


def task_of(name: str) -> AnyTask:
    """The task of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in MODULES:
        raise ConfigError(f"no task is called {name}{closest(name, MODULES)} Known: {', '.join(MODULES)}.")
    return task_in(MODULES[name])


def task_of_data(source: object) -> str:
    """The task that data, on disk or in memory, look like they are for."""
    if isinstance(source, str | Path) and datasets.is_dataset(str(source)):
        return task_of_dataset(str(source))
    return next((name for name in TASKS if task_of(name).recognises(source)), TASKS[0])
