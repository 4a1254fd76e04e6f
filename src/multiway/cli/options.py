"""Options that several commands share, those that tasks declare, and how `--set` becomes a nested mapping."""

import datetime
import functools
import inspect
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from multiway import workflows
from multiway.errors import ConfigError

RunFolder = Annotated[Path, typer.Argument(help="Folder written by `multiway train`.")]
DataFile = Annotated[str | None, typer.Option("--data", help="A file, a folder, or a known data set's name.")]
Out = Annotated[Path | None, typer.Option("--out", help="Where to write; the ending says the format.")]
Raw = Annotated[bool, typer.Option("--raw", help="Leave text like =1+1 as it is in CSV and Excel.")]
RunOut = Annotated[Path | None, typer.Option("--out", help="Folder to make for the run.")]
Recipe = Annotated[str | None, typer.Option(help="Name from `multiway recipes`, or a YAML file.")]
Seeds = Annotated[int, typer.Option(min=1, help="Runs that differ only in their seed.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override one field: --set training.epochs=5. May be repeated."),
]


def with_task_options(command: Callable[..., None], name: str, tasks: Iterable[str]) -> Callable[..., None]:
    """Give a command the options that tasks declare for it; it takes those that were given as a mapping, `own`.

    Args:
        command: With a keyword `own`.
        name: Of the command, as options name it.
        tasks: Whose options; with several, each option stands under the names of its tasks.
    """
    declared = workflows.options_of(name, tasks)
    fixed = [each for key, each in inspect.signature(command).parameters.items() if key != "own"]
    added = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(option))
        for key, option in declared.items()
    ]

    @functools.wraps(command)
    def gathered(**given: Any) -> None:
        own = {key: given.pop(key) for key in declared}
        command(**given, own={key: value for key, value in own.items() if value is not None})

    gathered.__signature__ = inspect.Signature([*fixed, *added])  # type: ignore[attr-defined]  # what typer looks at
    gathered.__annotations__ = {each.name: each.annotation for each in [*fixed, *added]}
    return gathered


def _annotation(option: workflows.DeclaredOption) -> Any:
    dashed = "--" + option.name.replace("_", "-")
    if option.is_flag:
        return Annotated[bool | None, typer.Option(dashed, help=option.help, rich_help_panel=option.panel)]
    settings: dict[str, Any] = {"help": option.help, "rich_help_panel": option.panel, "show_default": option.default}
    return Annotated[one_of(option.name, option.choices) | None, typer.Option(dashed, **settings)]


def one_of(name: str, choices: Iterable[str]) -> Any:
    """The type of an option with few values; plain text where there are no choices."""
    values = tuple(choices)
    return StrEnum(name, {value.replace("-", "_"): value for value in values}) if values else str


def read(command: str, task: str, own: dict[str, Any]) -> dict[str, Any]:
    """Values of a task's options, read from their text.

    Raises:
        ConfigError: One of them is not for this task.
        BadParameter: A text cannot be read.
    """
    values = {}
    for name, text in own.items():
        option = workflows.options_of(command, [task]).get(name)
        dashed = "--" + name.replace("_", "-")
        if option is None:
            others = workflows.options_of(command, workflows.TASKS)[name].tasks
            raise ConfigError(f"{dashed} is for {' and '.join(others)}, not for {task}. Leave it out.")
        try:
            values[name] = text if option.is_flag else option.read(str(text))
        except ValueError as error:
            raise typer.BadParameter(f"{error}, got {text!r}", param_hint=dashed) from None
    return values


def settings(command: str, task: str, own: dict[str, Any]) -> dict[str, Any]:
    """The config of a run that a task's options ask for."""
    return workflows.settings_of(command, task, read(command, task, own))


def nested(assignments: list[str]) -> dict[str, Any]:
    """Turn ["training.epochs=5"] into {"training": {"epochs": 5}}; values are read as YAML."""
    result: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not all(name.split(".")):
            raise typer.BadParameter(f"write part.field=value, got {assignment!r}", param_hint="--set")
        _assign(result, name.split("."), _plain(value, assignment))
    return result


def _plain(value: str, assignment: str) -> Any:
    try:
        result = yaml.safe_load(value)
        return value if isinstance(result, datetime.date) else _with_dates_as_text(result)
    except yaml.YAMLError:
        if value == ",":
            return value  # a shell has taken the quotes from ','
        raise typer.BadParameter(f"the value of {assignment!r} is not plain YAML", param_hint="--set") from None


def _with_dates_as_text(value: Any) -> Any:
    """Dates inside lists as they are written; a config holds them so."""
    if isinstance(value, list):
        return [_with_dates_as_text(each) for each in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


def _assign(target: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise typer.BadParameter(f"{'.'.join(path)} goes through {part}, which has a value", param_hint="--set")
    target[path[-1]] = value


def names(text: str | None) -> list[str] | None:
    """Split "a,b" into names; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
