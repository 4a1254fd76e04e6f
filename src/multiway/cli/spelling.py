"""Fixes as the command line writes them: an option of the task where it has one for the field, else `--set`."""

import json
import shlex

from multiway.cli import declared
from multiway.errors import Fix, Spell

OF_COMMANDS = ("data", "out", "overwrite", "max_parameters")
"""Arguments of commands that are no settings of a task."""
FLAGS = ("overwrite",)


def command_line(task: str | None) -> Spell:
    """How a command on this task is told a fix."""

    def spell(fix: Fix) -> str:
        name = _option(fix.field, task)
        if name is not None and fix.field in FLAGS:
            return name
        text = fix.like or _text(fix.value, as_option=name is not None)
        return f"--set {fix.field}={shlex.quote(text)}" if name is None else f"{name} {shlex.quote(text)}"

    return spell


def _option(field: str, task: str | None) -> str | None:
    """The option for a field; of a task that is not known, the one that any has."""
    if field in OF_COMMANDS:
        return "--" + field.replace("_", "-")
    for name in declared.TASKS if task is None else (task,):
        for option in declared.content()["tasks"][name]["options"]:
            if (option["field"] or option["name"]) == field:
                return "--" + str(option["name"]).replace("_", "-")
    return None


def _text(value: object, *, as_option: bool) -> str:
    if isinstance(value, str):
        return value
    if as_option and isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return json.dumps(value, separators=(",", ":"))
