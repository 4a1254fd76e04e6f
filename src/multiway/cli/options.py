"""Options that several commands share, those that tasks declare, how `--set` is read, what a shell may complete."""

import datetime
import functools
import json
import shlex
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.config import Plain, leaves, merge, nest, read_names
from multiway.errors import ConfigError, Fix, Spell

Complete = Callable[[str], list[str]]
DEEPEST = 50
"""Parts of a field's name at most."""


def any_of(names: Callable[[], Iterable[str]]) -> Complete:
    """Completion by the names that begin like what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


complete_data_sets = any_of(lambda: workflows.catalogue())
complete_tasks = any_of(lambda: workflows.TASKS)
complete_recipes = any_of(lambda: workflows.recipe_names())
complete_spaces = any_of(lambda: workflows.space_names())

RunFolder = Annotated[Path, typer.Argument(help="Folder written by `multiway train`.")]
TableOut = Annotated[
    Path | None,
    typer.Option("--out", help="Table to write: .csv, .csv.gz, .parquet; for masks a folder. Printed if not given."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file of --out.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress; warnings and errors stay on stderr.")]
Every = Annotated[bool, typer.Option("--all", help="Print every score; those of a forecast are six if not given.")]
Raw = Annotated[bool, typer.Option("--raw", help="Leave text like =1+1 as it is in CSV and Excel.")]
Model = Annotated[
    str | None,
    typer.Option("--model", help="Ask this model of the run; the one that answers if not given.", show_default=False),
]
Seeds = Annotated[int, typer.Option(min=1, help="Runs that differ only in their seed.")]
Recipe = Annotated[
    str | None,
    typer.Option(
        help="Name from `multiway recipes`, or a YAML file.",
        show_default="none",
        autocompletion=complete_recipes,
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Override one field: --set training.batch_size=64. May be repeated.", show_default="none"
    ),
]


FLAGS = ("overwrite", "far")
OF_COMMANDS = ("data", "task", "out", "overwrite", "max_parameters")
"""Arguments of commands that are no settings of a task."""
TRAINING = ("tune", "reproduce", "encode")
"""Commands that have the options of `train`."""
WITH_SETTINGS = ("train", "check", "audit")
"""Commands that take every setting by `--set`."""


def one_of(name: str, choices: Iterable[str]) -> Any:
    """The type of an option with few values; plain text where there are no choices."""
    values = tuple(choices)
    return StrEnum(name, {value.replace("-", "_"): value for value in values}) if values else str


def dash(name: str) -> str:
    """An option as it is typed."""
    return "--" + name.replace("_", "-")


def tasks_of_recipes() -> list[str]:
    """Tasks that train by steps, which a recipe may be of."""
    return [task for task in workflows.TASKS if "epochs" in workflows.settings_of(task).options_of("train")]


def task_options(command: str, tasks: Sequence[str], *, shared: bool = False) -> dict[str, Any]:
    """Types of the options that tasks have of a command, by name; one that several tasks have stands once.

    shared: Only those that all of them have.
    """
    having: dict[str, dict[str, workflows.Setting]] = {}
    for task in tasks:
        for name, option in workflows.settings_of(task).options_of(command).items():
            having.setdefault(name, {})[task] = option
    return {name: _annotate(found, tasks) for name, found in having.items() if not shared or len(found) == len(tasks)}


def _annotate(having: dict[str, "workflows.Setting"], tasks: Sequence[str]) -> Any:
    """The type of an option, by the tasks that have it; the first of them says what it is."""
    option, defaults = next(iter(having.values())), {str(option.default) for option in having.values()}
    default = "none" if option.default in (None, ()) else str(option.default)
    of_all = "every task" if len(tasks) > 1 else tasks[0]
    settings: dict[str, Any] = {
        "help": option.help,
        "metavar": "<name,name,...>" if option.read is read_names else None,
        "rich_help_panel": f"Options of {of_all}" if len(having) == len(tasks) else f"For {' and '.join(having)}",
        "show_default": "if not given" not in option.help
        and ("off" if option.is_switch else default if len(defaults) == 1 else "by the task"),
    }
    kind = bool if option.is_switch else one_of(option.name, option.choices)
    return Annotated[kind | None, typer.Option(dash(option.name), **settings)]


def read_options(command: str, task: str, own: dict[str, Any]) -> dict[str, Any]:
    """Values of a task's options, read from their text."""
    known, values = workflows.settings_of(task).options_of(command), {}
    for name, text in own.items():
        if name not in known:
            having = (other for other in workflows.TASKS if name in workflows.settings_of(other).options_of(command))
            raise ConfigError(f"{dash(name)} is for {' and '.join(having)}, not for {task}. Leave it out.")
        try:
            values[name] = text if known[name].is_switch else known[name].read(str(text))
        except ValueError as error:
            raise typer.BadParameter(f"{error}, got {text!r}", param_hint=dash(name)) from None
    return values


def words_of(own: dict[str, Any]) -> list[str]:
    """Options of tasks as they were typed."""
    given = ([dash(name)] if text is True else [dash(name), str(text)] for name, text in own.items())
    return [word for words in given for word in words]


def settings(command: str, task: str, own: dict[str, Any]) -> dict[str, Any]:
    """The config of a run by a task's options."""
    known, values = workflows.settings_of(task).options_of(command), read_options(command, task, own)
    return functools.reduce(merge, (nest(known[name].field, value) for name, value in values.items()), Plain())


def command_line(task: str | None, command: str = "train") -> Spell:
    """How a command on this task is told a fix; one that only a training can be told is spelled so.

    A fix is an option of the task where it has one for the field, else `--set`.
    """
    own = "train" if command in TRAINING else command

    def spell(fix: Fix) -> str:
        if own in WITH_SETTINGS or fix.field in OF_COMMANDS or _option(fix.field, task, own) is not None:
            return _spell(fix, task, own)
        return f"{_spell(fix, task, 'train')} in training"

    return spell


def _spell(fix: Fix, task: str | None, command: str) -> str:
    name = None if fix.value is False else _option(fix.field, task, command)  # a switch is on where it is given
    if name is not None and fix.field in FLAGS:
        return name
    value = fix.like or fix.value
    if name is not None and isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return f"--set {fix.field}={shlex.quote(text)}" if name is None else f"{name} {shlex.quote(text)}"


def _option(field: str, task: str | None, command: str) -> str | None:
    """The command's option for a field; of a task that is not known, the one that any has."""
    if field in OF_COMMANDS:
        return dash(field)
    known = (option for name in ([task] if task else workflows.TASKS) for option in workflows.settings_of(name).options)
    return next((dash(each.name) for each in known if each.field == field and command in each.commands), None)


def train_command_of(task: str, data: str, words: Sequence[str], proposal: Sequence[Fix]) -> str:
    """The command that trains on data, as it can be pasted: with its options and those that are needed."""
    needed = map(command_line(task), proposal)
    return " ".join([f"multiway train {task} --data {shlex.quote(data)}", *map(shlex.quote, words), *needed])


def overrides(task: str, own: dict[str, Any], sets: list[str] | None) -> dict[str, Any]:
    """What `--set` says of a training, which no option says as well."""
    given, known = nest_settings(sets or []), workflows.settings_of(task).options_of("train")
    places = leaves(given)
    for name in own:
        if known[name].field in places:
            both = f"{dash(name)} and --set {known[name].field}"
            raise ConfigError(f"train: {both} are the same setting. Leave out one of them.")
    return given


def nest_settings(assignments: list[str]) -> dict[str, Any]:
    """Turn ["training.epochs=5"] into {"training": {"epochs": 5}}; values are read as YAML."""
    result: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not all(name.split(".")) or name.count(".") >= DEEPEST:
            raise typer.BadParameter(f"write part.field=value, got {_short(assignment)}", param_hint="--set")
        (*places, last), target = name.split("."), result
        plain = _plain(value, assignment)
        for place in places:
            target = target.setdefault(place, {})
            if not isinstance(target, dict):
                raise typer.BadParameter(f"{name} goes through {place}, which has a value", param_hint="--set")
        target[last] = plain
    return result


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")


def _plain(value: str, assignment: str) -> Any:
    try:
        result = workflows.read_yaml(value)
        return value if isinstance(result, datetime.date) else _with_dates_as_text(result)
    except ConfigError as error:
        if value == ",":
            return value  # a shell has taken the quotes from ','
        raise typer.BadParameter(f"the value of {_short(assignment)} {error}", param_hint="--set") from None


def _with_dates_as_text(value: Any) -> Any:
    """Dates inside lists as they are written; a config holds them so."""
    if isinstance(value, list):
        return [_with_dates_as_text(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.date) else value
