"""Fixes as the command line writes them: an option of the task where it has one for the field, else `--set`."""

import json
import shlex
from collections.abc import Sequence

from multiway.cli import declared
from multiway.errors import Fix, Spell

OF_COMMANDS = ("data", "out", "overwrite", "max_parameters")
"""Arguments of commands that are no settings of a task."""
FLAGS = ("overwrite", "far")
TRAINING = ("tune", "reproduce", "encode")
"""Commands that have the options of `train`."""
WITH_SETTINGS = ("train", "check", "audit")
"""Commands that take every setting by `--set`."""


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
    for name in declared.TASKS if task is None else (task,):
        for option in declared.content()["tasks"][name]["options"]:
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
