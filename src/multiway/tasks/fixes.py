"""Fixes as Python writes them: messages name options of the command line, and estimators turn those into arguments."""

import dataclasses
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import yaml

from multiway.config import merge, nest
from multiway.errors import Fix
from multiway.tasks.protocol import Option

ONE = re.compile(r"--(?:set ([\w.]+)=|([a-z][a-z-]*) )('[^']*'|[^\s)]+?)(?=[.,;:]?(?:[\s)]|$))")
"""An option with its value: a field of `--set`, or the name of another option."""
SEVERAL = re.compile(rf"{ONE.pattern}(?: {ONE.pattern})*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spelling:
    """How the options of a task are written in a call of Python.

    options: Of the task.
    arguments: Arguments of the constructor by their place in the config; other fields go into `settings`.
    own: Arguments of the method that was called, which win.
    """

    options: Sequence[Option]
    arguments: Mapping[str, str]
    own: Collection[str] = ()

    def spell(self, fix: Fix) -> str:
        """One fix as an argument, or as a part of `settings`."""
        value = fix.like or fix.value
        name = next((option.name for option in self.options if option.field == fix.field), None)
        if name is not None and name in self.own:
            return f"{name}={_literal(value)}"
        given = (
            {self.arguments[fix.field]: value} if fix.field in self.arguments else {"settings": nest(fix.field, value)}
        )
        return ", ".join(f"{argument}={_literal(part)}" for argument, part in given.items())

    def of(self, message: str) -> str:
        """The message, with `gaps="fill"` for `--gaps fill` and `gaps` for `read.gaps`; what Python has not stays."""
        written = SEVERAL.sub(self._written, message)
        for place, name in self.arguments.items():
            written = re.sub(rf"(?<![\w.]){re.escape(place)}(?![\w.]*\w)", name, written)
        return written

    def _written(self, match: re.Match[str]) -> str:
        given: dict[str, Any] = {}
        for field, name, text in ONE.findall(match[0]):
            found = self._assigned(field, text, _plain) if field else self._chosen(name, text)
            if not found:
                return match[0]
            given = merge(given, found)
        return ", ".join(f"{name}={_literal(value)}" for name, value in given.items())

    def _chosen(self, name: str, text: str) -> dict[str, Any]:
        option = next((option for option in self.options if option.name == name.replace("-", "_")), None)
        if option is None:
            return {}
        return (
            {option.name: option.read(text)}
            if option.name in self.own
            else self._assigned(option.field, text, option.read)
        )

    def _assigned(self, field: str, text: str, read: Callable[[str], Any]) -> dict[str, Any]:
        if not field:
            return {}
        value = _value(text, read)
        return {self.arguments[field]: value} if field in self.arguments else {"settings": nest(field, value)}


def _value(text: str, read: Callable[[str], Any]) -> Any:
    """The value that a text stands for; names of values as they are."""
    try:
        return read(text.strip("'"))
    except ValueError:
        return text.split(",")


def _plain(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
