"""The options that tasks declare for a command, as the command line shows them."""

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from multiway.config import merge, nest
from multiway.tasks.protocol import Option, Task
from multiway.tasks.protocol import options_of as declared_by
from multiway.tasks.registry import task_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeclaredOption(Option):
    """An option with the tasks that have it, and its usual value in words; `panel` is its heading among several."""

    tasks: tuple[str, ...]
    default: str | bool
    panel: str | None


def options_of(command: str, tasks: Iterable[str]) -> dict[str, DeclaredOption]:
    """Options of a command by name, in the order of the tasks; one that several tasks have stands once."""
    return dict(_options_of(command, tuple(tasks)))


@functools.cache
def _options_of(command: str, tasks: tuple[str, ...]) -> dict[str, DeclaredOption]:
    having: dict[str, list[tuple[Task[Any, Any, Any], Option]]] = {}
    for name in tasks:
        for option in declared_by(task_of(name), command):
            having.setdefault(option.name, []).append((task_of(name), option))
    return {name: _declared(each, is_alone=len(tasks) == 1) for name, each in having.items()}


def _declared(having: list[tuple[Task[Any, Any, Any], Option]], *, is_alone: bool) -> DeclaredOption:
    task, option = having[0]
    names = tuple(each.name for each, _ in having)
    return DeclaredOption(
        **vars(option), tasks=names, default=_usual(task.config, option.field),
        panel=f"Options of {task.name}" if is_alone else f"For {' and '.join(names)}",
    )  # fmt: skip


def _usual(config: type[BaseModel], field: str) -> str | bool:
    """The usual value of a field in words; False, so that nothing is shown, where there is none."""
    if not field:
        return False
    value: Any = config
    for part in field.split("."):
        if isinstance(value, type) and issubclass(value, BaseModel):
            found = value.model_fields.get(part)
            value = None if found is None or found.is_required() else found.get_default(call_default_factory=True)
        else:
            value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return False if value is None or value == () else str(value)


def settings_of(command: str, task: str, values: dict[str, Any]) -> dict[str, Any]:
    """Values of options at their places in the config."""
    chosen: dict[str, Any] = {}
    for name, option in options_of(command, [task]).items():
        if name in values:
            chosen = merge(chosen, nest(option.field, values[name]))
    return chosen


def sections_of_reading(task: str) -> tuple[str, ...]:
    """Fields of a task's config that say how data is read."""
    return task_of(task).sections_of_reading


def purpose_of(task: str) -> str:
    """What a task does, in a sentence."""
    return str(task_of(task).__doc__).partition("\n")[0]
