"""What the configs of tasks share: usual values below the given ones, and the field `model`."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BeforeValidator

from multiway.config import merge
from multiway.errors import closest


def starting_from(usual: dict[str, Any]) -> BeforeValidator:
    """For the type of a field: what is given as a mapping stands above the usual values."""
    return BeforeValidator(lambda given: merge(usual, given) if isinstance(given, dict) else given)


def check_model(model: Mapping[str, Any], usual: str, known: Sequence[str], set_by_data: Sequence[str]) -> None:
    """Hold the field `model` to the networks of a task.

    Args:
        model: `name` of a network and its fields.
        usual: The name if none is given.
        known: Names that it may have.
        set_by_data: Fields that are not for the user.

    Raises:
        ValueError: It has another name, or one of these fields.
    """
    name = model.get("name", usual)
    if name not in known:
        raise ValueError(f"model.name must be one of {', '.join(known)}{closest(str(name), known)}")
    given = [field for field in set_by_data if field in model]
    if given:
        raise ValueError(f"model.{given[0]} is set by the data. Leave it out")


def network_fields(model: Mapping[str, Any], **set_by_data: Any) -> dict[str, Any]:
    """Fields of `create_model`: those of the config, and those that the data set."""
    return {**{name: value for name, value in model.items() if name != "name"}, **set_by_data}
