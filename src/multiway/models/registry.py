"""Models by name, so that a config or a command line can build them without an import path."""

import dataclasses
import fnmatch
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from multiway.config import Config
from multiway.errors import ConfigError, closest
from multiway.lazy import load_extensions


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    build: Callable[[Any], nn.Module]
    config: type[Config]
    defaults: Mapping[str, Any]


_ENTRIES: dict[str, _Entry] = {}


def register(name: str, build: Callable[[Any], nn.Module], config: type[Config], **defaults: Any) -> None:
    """Give a model a name; `defaults` are the config fields that make it this size.

    Raises:
        ConfigError: The name is taken.
    """
    if name in _ENTRIES:
        raise ConfigError(f"register: every model needs a name of its own. Got {name!r}, which is taken.")
    _ENTRIES[name] = _Entry(build=build, config=config, defaults=defaults)


def list_models(pattern: str = "*") -> list[str]:
    """Names that match a shell-style pattern, in alphabetical order: `list_models("hot*")`."""
    load_extensions("models")
    return sorted(fnmatch.filter(_ENTRIES, pattern))


def model_defaults(name: str) -> dict[str, Any]:
    """Config fields that make a model the size that it is named for.

    Raises:
        ConfigError: No such model.
    """
    return dict(_find(name).defaults)


def model_config(name: str, **fields: Any) -> Config:
    """Check and return the config that `create_model` would build from; `fields` override the named size.

    Raises:
        ConfigError: No such model, or a field is unknown, missing or out of range.
    """
    entry = _find(name)
    return entry.config.parse({**entry.defaults, **fields}, name)


def create_model(name: str, **fields: Any) -> nn.Module:
    """Build a model by name, its weights freshly drawn: `create_model("hot_forecaster", num_variates=7)`.

    Raises:
        ConfigError: No such model, or a field is unknown, missing or out of range.
    """
    return _find(name).build(model_config(name, **fields))


def _find(name: str) -> _Entry:
    if name not in _ENTRIES:
        load_extensions("models")
    if name not in _ENTRIES:
        raise ConfigError(
            f"create_model: `list_models()` gives the names there are. Got {name!r}{closest(name, _ENTRIES)}"
        )
    return _ENTRIES[name]
