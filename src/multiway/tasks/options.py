"""What configs and options of tasks share: usual values below the given ones, the field `model`, readers of texts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BeforeValidator

from multiway.config import Plain, merge
from multiway.errors import closest


def starting_from(usual: Plain) -> BeforeValidator:
    """For the type of a field: what is given as a mapping stands above the usual values."""
    return BeforeValidator(lambda given: merge(usual, given) if isinstance(given, dict) else given)


def check_model(model: Mapping[str, object], usual: str, known: Sequence[str], set_by_data: Sequence[str]) -> None:
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


def network_fields(model: Mapping[str, object], **set_by_data: Any) -> Plain:
    """Fields of `create_model`: those of the config, and those that the data set."""
    return {**{name: value for name, value in model.items() if name != "name"}, **set_by_data}


def read_names(text: str) -> list[str]:
    """Split "a,b" into names."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(kind: type[int] | type[float], amount: int) -> Callable[[str], list[Any]]:
    """A reader that splits "64,64,64" into so many numbers."""

    def read(text: str) -> list[Any]:
        try:
            values = [kind(part) for part in text.split(",")]
        except ValueError:
            values = []
        if len(values) != amount:
            what = "whole numbers" if kind is int else "numbers"
            raise ValueError(f"give {amount} {what}, separated by commas")
        return values

    return read


def percentages(text: str) -> tuple[float, ...]:
    """Split "80,95" into percentages."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError("give percentages such as 80,95") from None


def read_whole(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("give a whole number of at least 1")
    return int(text)


def read_count(text: str) -> int:
    """A whole number, 0 among them."""
    if not text.isdecimal():
        raise ValueError("give a whole number")
    return int(text)


def read_number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("give a number") from None
