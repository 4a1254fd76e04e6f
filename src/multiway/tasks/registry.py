"""The tasks by name; a task's module is imported when it is first used."""

import importlib
from pathlib import Path
from typing import Any, cast

from multiway.data import datasets
from multiway.errors import ConfigError, closest
from multiway.lazy import extensions
from multiway.tasks.known import task_of_dataset
from multiway.tasks.protocol import Task

MODULES = extensions("tasks")
"""Module of each task, whose `TASK` it is, as `tasks/__init__.py` lists them."""
TASKS = tuple(MODULES)


def task_of(name: str) -> Task[Any, Any, Any]:
    """The task of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in MODULES:
        raise ConfigError(f"no task is called {name}{closest(name, MODULES)} Known: {', '.join(MODULES)}.")
    return cast(Task[Any, Any, Any], importlib.import_module(MODULES[name]).TASK)


def task_of_data(source: Any) -> str:
    """The task that data, on disk or in memory, look like they are for."""
    if isinstance(source, str | Path) and datasets.is_dataset(str(source)):
        return task_of_dataset(str(source))
    return next((name for name in TASKS if task_of(name).recognises(source)), TASKS[0])
