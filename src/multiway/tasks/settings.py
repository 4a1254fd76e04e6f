"""The tasks by name, each with what its help, its completion and its estimators say, before a model is needed."""

import dataclasses
import functools
import importlib
import importlib.util
from collections.abc import Mapping
from typing import Annotated, Any

from multiway.config import Config, Flag, Plain, Setting, merge, nest, settings_in
from multiway.errors import ConfigError, closest
from multiway.lazy import extensions, load_extension

GENERAL = ("text", "tabular")
"""Tasks that nearly any table can be for: what others recognise, those of other packages too, is for these."""
PLACES = extensions("tasks")
"""Place of each task: ours as `tasks/__init__.py` lists them, and those of other packages."""
TASKS = (*(name for name in PLACES if name not in GENERAL), *GENERAL)


class Predict(Config):
    """Options of `multiway predict`, whatever the task."""

    far: Annotated[bool, Flag("Answer what lies far outside the training too.")] = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """What is known of a task before its module is imported.

    name: As in `multiway train NAME`.
    purpose: What the task does, in a sentence without a verb.
    example: What follows `multiway train NAME` in a usual command.
    config: Every setting of a run; those with a flag are options.
    uses: Options of commands on finished runs, by the command.
    """

    name: str
    purpose: str
    example: str
    config: type[Config]
    uses: Mapping[str, type[Config]] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def options(self) -> tuple[Setting, ...]:
        """Every option, those on finished runs last."""
        uses: dict[str, type[Config]] = {"predict": Predict, **self.uses}
        of_uses = (
            dataclasses.replace(option, commands=(command,))
            for command, config in uses.items()
            for option in settings_in(config)
        )
        return (*settings_in(self.config), *of_uses)

    def options_of(self, command: str) -> dict[str, Setting]:
        """Options of a command by name."""
        return {option.name: option for option in self.options if command in option.commands}

    @property
    def parts(self) -> Plain:
        """What the record of the task takes of this."""
        return {name: getattr(self, name) for name in ("name", "purpose", "example", "config")}


@functools.cache
def settings_of(task: str) -> TaskSettings:
    """Those of a task: they stand in `config.py` beside its module, else its record has all of them."""
    if task not in PLACES:
        raise ConfigError(f"no task is called {task}{closest(task, PLACES)} Known: {', '.join(PLACES)}.")
    package = PLACES[task].partition(":")[0].rpartition(".")[0]
    if package and importlib.util.find_spec(f"{package}.config") is not None:
        for each in vars(importlib.import_module(f"{package}.config")).values():
            if isinstance(each, TaskSettings) and each.name == task:
                return each
    record = load_extension("tasks", task)
    return TaskSettings(name=task, purpose=record.purpose, example=record.example, config=record.config)


def task_named(name: str) -> Any:
    """The task of that name, whose module is imported now."""
    return load_extension("tasks", name)


def nest_options(command: str, task: str, values: Mapping[str, Any]) -> Plain:
    """Values of options at their places in the config."""
    known = settings_of(task).options_of(command)
    given = (nest(option.field, values[name]) for name, option in known.items() if name in values)
    return functools.reduce(merge, given, Plain())
