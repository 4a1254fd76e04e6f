"""The options that tasks declare, and the settings that their values make."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from multiway.config import merge, nest
from multiway.data.datasets import catalogue
from multiway.tasks.known import task_of_dataset
from multiway.tasks.protocol import SHARED, Option, Task
from multiway.tasks.protocol import options_of as declared_by
from multiway.tasks.registry import TASKS, task_of


def declarations(names: Iterable[str] = TASKS) -> dict[str, Any]:
    """What a command line has to know of tasks and data sets, in plain values."""
    tasks = {
        task.name: {
            "purpose": task.purpose or str(task.__doc__).partition("\n")[0],
            "example": task.example,
            "options": _options(task),
        }
        for task in map(task_of, names)
    }
    return {"tasks": tasks, "data_sets": {name: task_of_dataset(name) for name in catalogue()}}


def _options(task: Task[Any, Any, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": option.name,
            "field": option.field,
            "help": option.help,
            "choices": list(option.choices),
            "is_flag": option.is_flag,
            "default": "off" if option.is_flag else _usual(task.config, option.field),
            "commands": list(option.commands),
        }
        for option in (*SHARED, *task.options)
    ]


def _usual(config: type[BaseModel], field: str) -> str:
    """The usual value of a field in words."""
    value: Any = config
    for part in field.split(".") if field else ():
        if isinstance(value, type) and issubclass(value, BaseModel):
            info = value.model_fields.get(part)
            value = None if info is None or info.is_required() else info.get_default(call_default_factory=True)
        else:
            value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return "none" if value in (None, (), config) else str(value)


def task_options(command: str, task: str) -> dict[str, Option]:
    """Options of a task's for one command, by name."""
    return {option.name: option for option in declared_by(task_of(task), command)}


def settings_of(command: str, task: str, values: dict[str, Any]) -> dict[str, Any]:
    """Values of options at their places in the config."""
    chosen: dict[str, Any] = {}
    for name, option in task_options(command, task).items():
        if name in values:
            chosen = merge(chosen, nest(option.field, values[name]))
    return chosen
