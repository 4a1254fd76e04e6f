"""Models by name, so that a config or a command line can build them without an import path."""

import fnmatch
from collections.abc import Mapping
from typing import Any, NamedTuple, cast, get_type_hints

from torch import nn

from multiway.config import Config
from multiway.errors import ConfigError, closest
from multiway.lazy import extensions, load_extension, load_extensions


class _Entry(NamedTuple):
    build: type[nn.Module]
    defaults: Mapping[str, Any]


class Created(NamedTuple):
    """What `create_model` built a model from.

    name: As in `list_models()`.
    config: All its fields.
    """

    name: str
    config: Config


_ENTRIES: dict[str, _Entry] = {}


def register(name: str, build: type[nn.Module], **defaults: Any) -> None:
    """Give a model a name; its constructor says its config, and `defaults` are the fields that make it this size.

    Raises:
        ConfigError: The name is taken.
    """
    if name in _ENTRIES:
        raise ConfigError(f"register: every model needs a name of its own. Got {name!r}, which is taken.")
    _ENTRIES[name] = _Entry(build, defaults)


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
    build, defaults = _find(name)
    config: type[Config] = get_type_hints(build.__init__)["config"]
    return config.parse({**defaults, **fields}, name)


def create_model(name: str, **fields: Any) -> nn.Module:
    """Build a model by name, its weights freshly drawn: `create_model("hot_forecaster", num_variates=7)`.

    Raises:
        ConfigError: No such model, or a field is unknown, missing or out of range.
    """
    config = model_config(name, **fields)
    model: Any = _find(name).build(config)
    model.created_as = Created(name, config)
    return cast("nn.Module", model)


def created_as(model: nn.Module) -> Created:
    """What `create_model` built it from.

    Raises:
        ConfigError: It did not.
    """
    created = getattr(model, "created_as", None)
    if not isinstance(created, Created):
        raise ConfigError(f"{type(model).__name__} is no model that create_model built. Build it by name.")
    return created


def _find(name: str) -> _Entry:
    if name not in _ENTRIES:
        for place in extensions("models"):  # ours first, so that who asks for one of them imports no other package
            load_extension("models", place)
            if name in _ENTRIES:
                break
        else:
            raise ConfigError(
                f"create_model: `list_models()` gives the names there are. Got {name!r}{closest(name, _ENTRIES)}"
            )
    return _ENTRIES[name]
