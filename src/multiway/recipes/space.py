"""Search spaces: fields of a config with the values that a search tries; those of the papers lie in `spaces/`."""

import itertools
import math
import random
from collections.abc import Collection, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Self

from pydantic import JsonValue, model_validator

from multiway.config import Config, load_yaml
from multiway.errors import ConfigError, closest

LARGEST = 100_000
SPACES = files("multiway.recipes").joinpath("spaces")


class Space(Config):
    """Values to try of each field, such as `model.dim`; their combinations are the space."""

    values: dict[str, tuple[JsonValue, ...]]

    @model_validator(mode="after")
    def _can_be_searched(self) -> Self:
        empty = [field for field, values in self.values.items() if not values or not all(field.split("."))]
        if empty:
            raise ValueError(f"{empty[0]!r} must be a field, such as model.dim, with one value or more")
        count = math.prod(map(len, self.values.values()))
        if count > LARGEST:
            raise ValueError(f"a space has {LARGEST:,} combinations at most. Got {count:,}; leave out some values")
        return self

    def without(self, fields: Collection[str]) -> Self:
        """The space of the other fields."""
        return self.replace(values={name: values for name, values in self.values.items() if name not in fields})

    def shuffled(self, seed: int) -> list[dict[str, Any]]:
        """Every combination once, in an order drawn from the seed."""
        every = [dict(zip(self.values, chosen, strict=True)) for chosen in itertools.product(*self.values.values())]
        return random.Random(seed).sample(every, len(every))


def space_names() -> list[str]:
    """Names of the papers' spaces."""
    return sorted(Path(entry.name).stem for entry in SPACES.iterdir() if entry.name.endswith(".yaml"))


def load_space(given: str | Path | Mapping[str, Any]) -> Space:
    """A space by its name, from a YAML file of the user's, or as a mapping of fields to lists.

    Raises:
        ConfigError: No such name or file, or a field has no list of values.
    """
    if isinstance(given, Mapping):
        return Space.parse({"values": given}, "space")
    path = Path(given)
    if path.suffix in {".yaml", ".yml"}:
        return Space.parse({"values": load_yaml(path)}, path.name)
    if str(given) not in space_names():
        known = ", ".join(space_names())
        raise ConfigError(
            f"no space is called {given}{closest(str(given), space_names())} Known: {known}; or give a YAML file."
        )
    with as_file(SPACES.joinpath(f"{given}.yaml")) as packaged:
        return Space.parse({"values": load_yaml(packaged)}, packaged.name)
