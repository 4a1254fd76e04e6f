"""Checks of many things of one kind in one test, which names those that fail."""

from collections.abc import Callable, Iterable
from typing import Any


def check_all(check: Callable[..., object], things: Iterable[Any]) -> None:
    """Check one after another; a tuple is taken apart.

    Raises:
        AssertionError: With a line for every one that fails, and what went wrong with it.
    """
    failures = []
    for thing in things:
        try:
            check(*thing) if isinstance(thing, tuple) else check(thing)
        except Exception as error:  # whatever goes wrong, the rest is looked at
            failures.append(f"{thing}: {type(error).__name__}: {str(error).strip()}")
    assert not failures, f"{len(failures)} fail\n" + "\n".join(failures)
