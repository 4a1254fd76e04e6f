"""The tasks by name, each with what its help, its completion and its estimators say, before a model is needed."""

import dataclasses
import functools
import importlib
import importlib.util
from collections.abc import Mapping
from typing import Annotated, Any

from multiway.config import Config, Flag, Plain, Setting, merge, nest, settings_in
from multiway.errors import ConfigError, closest
from multiway.lazy import extensions

MODULES = extensions("tasks")
"""Module of each task, whose `TASK` it is, as `tasks/__init__.py` lists them."""
TASKS = tuple(MODULES)


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
        return {name: getattr(self, name) for name in ("name", "purpose", "example", "config", "options")}


@functools.cache
def settings_of(task: str) -> TaskSettings:
    """Those of a task: they stand in `config.py` beside its module, or in the module itself."""
    if task not in MODULES:
        raise ConfigError(f"no task is called {task}{closest(task, MODULES)} Known: {', '.join(MODULES)}.")
    package = MODULES[task].rpartition(".")[0]
    has_config = bool(package) and importlib.util.find_spec(f"{package}.config") is not None
    module = importlib.import_module(f"{package}.config" if has_config else MODULES[task])
    return next(each for each in vars(module).values() if isinstance(each, TaskSettings) and each.name == task)


def task_named(name: str) -> Any:
    """The task of that name, whose module is imported now."""
    return importlib.import_module(MODULES[name]).TASK


def nest_options(command: str, task: str, values: Mapping[str, Any]) -> Plain:
    """Values of options at their places in the config."""
    known = settings_of(task).options_of(command)
    given = (nest(option.field, values[name]) for name, option in known.items() if name in values)
    return functools.reduce(merge, given, Plain())
