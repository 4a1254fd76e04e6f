"""Search spaces: fields of a config with the values that a search tries; others are registered by name."""

import itertools
import json
import math
import random
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import JsonValue, model_validator

from multiway.config import Config, load_yaml
from multiway.errors import ConfigError, closest
from multiway.lazy import load_extensions

LARGEST = 100_000
Fields = dict[str, Any]
"""Values by field, such as {"model.dim": 32}."""
_NAMED: dict[str, Path] = {}


class Space(Config):
    """Values to try of each field, such as `model.dim`; their combinations are the space."""

    values: dict[str, tuple[JsonValue, ...]]

    @model_validator(mode="after")
    def _can_be_searched(self) -> Self:
        empty = [field for field, values in self.values.items() if not values or not all(field.split("."))]
        if empty:
            raise ValueError(f"{empty[0]!r} must be a field, such as model.dim, with one value or more")
        if "NaN" in (text := json.dumps(self.values)) or "Infinity" in text:
            raise ValueError("values of a space are finite numbers. Leave out .nan and .inf")
        count = math.prod(map(len, self.values.values()))
        if count > LARGEST:
            raise ValueError(f"a space has {LARGEST:,} combinations at most. Got {count:,}; leave out some values")
        return self

    def without(self, fields: Collection[str]) -> Self:
        """The space of the other fields."""
        return self.replace(values={name: values for name, values in self.values.items() if name not in fields})

    def combinations(self) -> list[Fields]:
        """Every combination once, the last field changing fastest."""
        return [dict(zip(self.values, chosen, strict=True)) for chosen in itertools.product(*self.values.values())]

    def shuffle(self, seed: int) -> list[Fields]:
        """Every combination once, in an order drawn from the seed."""
        every = self.combinations()
        return random.Random(seed).sample(every, len(every))

    def choices(self) -> dict[str, list[Any]]:
        """Values of each field as a study can hold them: numbers of one type, or texts; others as JSON."""
        return {field: [_as_choice(value, values) for value in values] for field, values in self.values.items()}

    def encode(self, fields: Fields) -> Fields:
        """A combination as a study holds it."""
        return {field: _as_choice(value, self.values[field]) for field, value in fields.items()}

    def decode(self, params: Fields) -> Fields:
        """The combination that a study holds."""
        choices = self.choices()
        return {field: self.values[field][choices[field].index(params[field])] for field in self.values}


def _as_choice(value: JsonValue, values: tuple[JsonValue, ...]) -> Any:
    kinds = {type(each) for each in values}
    return value if kinds in ({int}, {float}, {str}) else json.dumps(value)


def register_space(path: Path) -> None:
    """Give a space in a YAML file the file's name."""
    _NAMED[path.stem] = path


def space_names() -> list[str]:
    """Names of the registered spaces."""
    load_extensions("recipes")
    return sorted(_NAMED)


def load_space(given: str | Path | Mapping[str, Any]) -> Space:
    """A space by its name, from a YAML file of the user's, or as a mapping of fields to lists.

    Raises:
        ConfigError: No such name or file, or a field has no list of values.
    """
    if isinstance(given, Mapping):
        return Space.parse({"values": given}, "space")
    path = Path(given)
    if path.suffix not in {".yaml", ".yml"}:
        known = space_names()
        if str(given) not in known:
            near = closest(str(given), known)
            raise ConfigError(f"no space is called {given}{near} Known: {', '.join(known)}; or give a YAML file.")
        path = _NAMED[str(given)]
    return Space.parse({"values": load_yaml(path)}, path.name)
