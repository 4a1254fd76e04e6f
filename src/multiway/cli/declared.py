"""What tasks and data sets declare, as a file next to this one: help and completion import no task, and so no torch.

`python -m multiway.cli.declared` writes the file anew; a test compares it with the declarations. Fixes are spelled by
it: an option of the task where it has one for the field, else `--set`.
"""

import dataclasses
import functools
import json
import shlex
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import files
from multiway.errors import Fix, Spell
from multiway.lazy import extensions

PATH = Path(__file__).with_name("declared.json")
OF_COMMANDS = ("data", "out", "overwrite", "max_parameters")
"""Arguments of commands that are no settings of a task."""
FLAGS = ("overwrite", "far")
TRAINING = ("tune", "reproduce", "encode")
"""Commands that have the options of `train`."""
WITH_SETTINGS = ("train", "check", "audit")
"""Commands that take every setting by `--set`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Declared:
    """An option of a command.

    field: Its place in the config; empty for options of commands on finished runs.
    default: Its usual value in words.
    tasks: Those that have it.
    panel: Its heading in the help.
    """

    name: str
    field: str
    help: str
    choices: list[str]
    is_flag: bool
    default: str
    tasks: tuple[str, ...]
    panel: str

    @property
    def annotation(self) -> Any:
        """The type of the option, as Typer reads it."""
        settings: dict[str, Any] = {"help": self.help, "rich_help_panel": self.panel, "show_default": self.default}
        if "if not given" in self.help:
            settings["show_default"] = False
        kind = bool if self.is_flag else one_of(self.name, self.choices)
        return Annotated[kind | None, typer.Option("--" + self.name.replace("_", "-"), **settings)]


def one_of(name: str, choices: Iterable[str]) -> Any:
    """The type of an option with few values; plain text where there are no choices."""
    values = tuple(choices)
    return StrEnum(name, {value.replace("-", "_"): value for value in values}) if values else str


@functools.cache
def content() -> dict[str, Any]:
    """The whole file, and what tasks of other packages declare, which are imported for it."""
    known = dict(json.loads(PATH.read_text(encoding="utf-8")))
    added = [name for name in extensions("tasks") if name not in known["tasks"]]
    if added:
        from multiway import workflows

        known["tasks"] |= workflows.declarations(added)["tasks"]
    return known


TASKS: tuple[str, ...] = tuple(content()["tasks"])
"""Names of the tasks."""
DATA_SETS: tuple[str, ...] = tuple(content()["data_sets"])
"""Names of the known data sets."""


def purpose_of(task: str) -> str:
    """What a task does, in a sentence."""
    return str(content()["tasks"][task]["purpose"])


def example_of(task: str) -> str:
    """A usual command that trains for a task."""
    return f"multiway train {task} {content()['tasks'][task]['example']}"


def declared_options(command: str, names: Iterable[str]) -> dict[str, Declared]:
    """Options of a command by name, in the order of the tasks; one that several tasks have stands once."""
    chosen, having = tuple(names), dict[str, list[str]]()
    options: dict[str, dict[str, Any]] = {}
    for task in chosen:
        for option in content()["tasks"][task]["options"]:
            if command in option["commands"]:
                having.setdefault(option["name"], []).append(task)
                options.setdefault(option["name"], option)
    return {name: _of(option, having[name], is_alone=len(chosen) == 1) for name, option in options.items()}


def _of(option: dict[str, Any], tasks: list[str], *, is_alone: bool) -> Declared:
    fields = {name: value for name, value in option.items() if name != "commands"}
    panel = f"Options of {tasks[0]}" if is_alone else f"For {' and '.join(tasks)}"
    return Declared(**fields, tasks=tuple(tasks), panel=panel)


def write() -> None:
    """Bring the file to what is declared."""
    from multiway import workflows

    files.write_text(PATH, json.dumps(workflows.declarations(), indent=1) + "\n")


def command_line(task: str | None, command: str = "train") -> Spell:
    """How a command on this task is told a fix; one that only a training can be told is spelled so."""
    own = "train" if command in TRAINING else command

    def spell(fix: Fix) -> str:
        if own in WITH_SETTINGS or fix.field in OF_COMMANDS or _option(fix.field, task, own) is not None:
            return _spelled(fix, task, own)
        return f"{_spelled(fix, task, 'train')} in training"

    return spell


def _spelled(fix: Fix, task: str | None, command: str) -> str:
    name = _option(fix.field, task, command)
    if name is not None and fix.field in FLAGS:
        return name
    text = fix.like or _text(fix.value, as_option=name is not None)
    return f"--set {fix.field}={shlex.quote(text)}" if name is None else f"{name} {shlex.quote(text)}"


def _option(field: str, task: str | None, command: str) -> str | None:
    """The command's option for a field; of a task that is not known, the one that any has."""
    if field in OF_COMMANDS:
        return "--" + field.replace("_", "-")
    for name in TASKS if task is None else (task,):
        for option in content()["tasks"][name]["options"]:
            if (option["field"] or option["name"]) == field and command in option["commands"]:
                return "--" + str(option["name"]).replace("_", "-")
    return None


def train_command_of(task: str, data: str, words: Sequence[str], proposal: Sequence[Fix]) -> str:
    """The command that trains on data, as it can be pasted: with its options and those that are needed."""
    needed = map(command_line(task), proposal)
    return " ".join([f"multiway train {task} --data {shlex.quote(data)}", *map(shlex.quote, words), *needed])


def _text(value: object, *, as_option: bool) -> str:
    if isinstance(value, str):
        return value
    if as_option and isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    write()
