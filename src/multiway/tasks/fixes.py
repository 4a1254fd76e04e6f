"""Fixes as Python writes them: arguments of an estimator, and parts of its `settings`."""

import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from multiway.config import Plain, merge, nest
from multiway.errors import Fix
from multiway.tasks.protocol import Option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spelling:
    """How the settings of a task are written in a call of Python.

    options: Of the task.
    arguments: Arguments of the constructor by their place in the config; other fields go into `settings`.
    own: Arguments of the method that was called, which win.
    """

    options: Sequence[Option]
    arguments: Mapping[str, str]
    own: Collection[str] = ()

    def of(self, message: Iterable[str | Fix]) -> str:
        """A sentence whose fixes are arguments, those of one call together, and which calls fields as Python does."""
        groups = itertools.groupby(message, lambda part: isinstance(part, Fix) or part == " ")
        return "".join(self._call(parts) if is_fix else self._words(parts) for is_fix, parts in groups)

    def _call(self, parts: Iterable[str | Fix]) -> str:
        given = functools.reduce(merge, (self._given(part) for part in parts if isinstance(part, Fix)), Plain())
        return ", ".join(f"{name}={_literal(value)}" for name, value in given.items())

    def _given(self, fix: Fix) -> Plain:
        value = fix.like or fix.value
        if fix.field in self.own:
            return {fix.field: value}
        name = next((option.name for option in self.options if option.field == fix.field), fix.field)
        if name in self.own:
            return {name: value}
        own = self.arguments.get(fix.field)
        return {own: value} if own is not None else {"settings": nest(fix.field, value)}

    def _words(self, parts: Iterable[str | Fix]) -> str:
        words = "".join(map(str, parts))
        for place, name in self.arguments.items():
            words = re.sub(rf"(?<![\w.]){re.escape(place)}(?![\w.]*\w)", name, words)
        return words


def _literal(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
