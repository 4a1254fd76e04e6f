"""The tasks by name, each with what its help, its completion and its estimators say, before a model is needed."""

import dataclasses
import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from multiway.config import Config, Flag, Plain, Setting, merge, settings_in
from multiway.errors import ConfigError, closest
from multiway.lazy import extensions, load_extension

if TYPE_CHECKING:  # what reads no data needs none
    from multiway.tasks.kind import Kind

GENERAL = ("text", "tabular")
"""Tasks that nearly any table can be for: what others recognise, those of other packages too, is for these."""
PLACES = extensions("tasks")
"""Place of each task: ours as `tasks/__init__.py` lists them, and those of other packages."""
TASKS = (*(name for name in PLACES if name not in GENERAL), *GENERAL)


class Predict(Config):
    """Options of `multiway predict`, whatever the task."""

    far: Annotated[bool, Flag("Answer what lies far outside the training too.")] = False


class PastMoments(Config):
    """Options of `multiway backtest` where the past is forecast from several moments."""

    cutoffs: Annotated[int | None, Flag("How many past moments to forecast from; 10 if not given.")] = None
    step: Annotated[int | None, Flag("Steps between them; the horizon if not given.")] = None


ConfigT = TypeVar("ConfigT", bound=Config, covariant=True)


class Configured(Protocol[ConfigT]):
    """A task, or what is known of it before its module is imported."""

    @property
    def name(self) -> str:
        """As in `multiway train NAME`."""

    @property
    def config(self) -> type[ConfigT]:
        """Every setting of a run."""


def configure(
    self: Configured[ConfigT], settings: Mapping[str, object], overrides: Mapping[str, object] | None = None
) -> ConfigT:
    """Overrides over settings over what a known data set brings."""
    from multiway.tasks import known  # help needs none

    given = merge(dict(settings), dict(overrides or {}))
    if not isinstance(given.get("data"), str | Path | None):
        kind = type(given["data"]).__name__
        raise ConfigError(
            f"data: a path or the name of a known data set is needed. Got {kind}. Write it to a file, or use "
            "multiway.check and the estimators, which take data in memory."
        )
    return self.config.parse(merge(known.settings_for(given.get("data"), self.name), given), "settings")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """What is known of a task before its module is imported.

    name: As in `multiway train NAME`.
    purpose: What the task does, in a sentence without a verb.
    example: What follows `multiway train NAME` in a usual command.
    config: Every setting of a run; those with a flag are options.
    data: Place of the kind of its data, as `module:name`; the module lies beside that of the config, and imports no
        torch. The record of the task has the kind where there is none.
    uses: Options of commands on finished runs, by the command.
    """

    name: str
    purpose: str
    example: str
    config: type[Config]
    data: str = ""
    uses: Mapping[str, type[Config]] = dataclasses.field(default_factory=dict)

    configure = configure

    @functools.cached_property
    def kind(self) -> "Kind":
        """The kind of its data."""
        folder = self.config.__module__.rpartition(".")[0]
        kind: Kind = pkgutil.resolve_name(f"{folder}.{self.data}") if self.data else task_named(self.name).kind
        return kind

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
        return {name: getattr(self, name) for name in ("name", "purpose", "example", "config", "kind")}


def check_task(name: str) -> None:
    """Refuse a name that no task has."""
    if name not in PLACES:
        raise ConfigError(f"no task is called {name}{closest(name, PLACES)} Known: {', '.join(PLACES)}.")


@functools.cache
def settings_of(task: str) -> TaskSettings:
    """Those of a task: they stand in `config.py` beside its module, else its record has all of them."""
    check_task(task)
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
