"""What the configs of tasks share: usual values below the given ones, and the field `model`."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BeforeValidator

from multiway.config import merge
from multiway.errors import closest
from multiway.models import model_config


def starting_from(usual: dict[str, Any]) -> BeforeValidator:
    """For the type of a field: what is given as a mapping stands above the usual values."""
    return BeforeValidator(lambda given: merge(usual, given) if isinstance(given, dict) else given)


def check_model(model: Mapping[str, Any], known: Sequence[str], usual: str, sizes: Mapping[str, Any]) -> None:
    """Hold the field `model` to the registered models of a task.

    Args:
        model: `name` and fields of a network.
        known: Names that it may have.
        usual: The one it has if none is given.
        sizes: Fields that the data set, with values to build it by.

    Raises:
        ValueError: It has another name, or a field that the data set.
        ConfigError: A field is unknown or does not fit.
    """
    name = str(model.get("name", usual))
    if name not in known:
        raise ValueError(f"model.name must be one of {', '.join(known)}{closest(name, known)}")
    given = [field for field in sizes if field in model]
    if given:
        raise ValueError(f"model.{given[0]} is set by the data. Leave it out")
    model_config(name, **network_fields(model, sizes))


def network_fields(model: Mapping[str, Any], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `create_model`: those of the config, and the sizes that the data set."""
    return {**{name: value for name, value in model.items() if name != "name"}, **sizes}
