"""The tasks by name; a task's module is imported when it is first used."""

from collections.abc import Collection
from pathlib import Path

from multiway.data import datasets
from multiway.data.sources.bytes import check_folder
from multiway.errors import ConfigError, closest
from multiway.lazy import extensions
from multiway.tasks.known import task_of_dataset
from multiway.tasks.protocol import AnyTask, options_of, task_named

GENERAL = ("text", "tabular")
"""Tasks that nearly any table can be for: what others recognise, those of other packages too, is for these."""
MODULES = extensions("tasks")
"""Place of each task: ours as `tasks/__init__.py` lists them, and those of other packages."""
TASKS = (*(name for name in MODULES if name not in GENERAL), *GENERAL)


def task_of(name: str) -> AnyTask:
    """The task of that name."""
    if name not in MODULES:
        raise ConfigError(f"no task is called {name}{closest(name, MODULES)} Known: {', '.join(MODULES)}.")
    return task_named(name)


def task_of_data(source: object) -> str:
    """The task that data, on disk or in memory, look like they are for."""
    return tasks_of_data(source)[0]


def tasks_of_data(source: object, options: Collection[str] = ()) -> tuple[str, ...]:
    """The tasks that data can be for, the likeliest first, of those whose check has all of the options."""
    if isinstance(source, str | Path) and datasets.is_dataset(str(source)):
        return (task_of_dataset(str(source)),)
    if isinstance(source, str | Path):
        datasets.check_regular(source)
        check_folder(source)
    having = [name for name in TASKS if {option.name for option in options_of(task_of(name), "check")} >= set(options)]
    is_chosen = 0 < len(having) < len(TASKS)
    tasks = {name: task_of(name) for name in having or TASKS}
    sure = [name for name, task in tasks.items() if task.recognises(source)]
    other = [name for name, task in tasks.items() if task.could_take(source, is_chosen=is_chosen)]
    return tuple(dict.fromkeys([*sure, *other])) or tuple(tasks)[:1]
