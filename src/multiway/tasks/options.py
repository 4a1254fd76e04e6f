"""Readers of option values from the text of the command line; each raises ValueError with what is wanted."""

from collections.abc import Callable
from typing import Any


def names(text: str) -> list[str]:
    """Split "a,b" into names."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(kind: type[int] | type[float], count: int) -> Callable[[str], list[Any]]:
    """A reader that splits "64,64,64" into so many numbers."""

    def read(text: str) -> list[Any]:
        try:
            values = [kind(part) for part in text.split(",")]
        except ValueError:
            values = []
        if len(values) != count:
            what = "whole numbers" if kind is int else "numbers"
            raise ValueError(f"give {count} {what}, separated by commas")
        return values

    return read


def percentages(text: str) -> tuple[float, ...]:
    """Split "80,95" into percentages."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError("give percentages such as 80,95") from None


def whole(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("give a whole number of at least 1")
    return int(text)


def count(text: str) -> int:
    """A whole number, 0 among them."""
    if not text.isdecimal():
        raise ValueError("give a whole number")
    return int(text)


def number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("give a number") from None
