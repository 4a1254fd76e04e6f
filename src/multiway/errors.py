"""The errors a user can cause; each message is one line: where, the rule, the values, the fix."""

import difflib
from collections.abc import Iterable


class MultiwayError(Exception):
    """Base of every error this library raises on purpose; the command line prints it and exits with 1."""


class ShapeError(MultiwayError, ValueError):
    """A tensor's axes do not fit the operation."""


class ConfigError(MultiwayError, ValueError):
    """An option is unknown, out of range, or contradicts another."""


class DataError(MultiwayError, ValueError):
    """A file or frame does not hold what the task needs."""


class RunError(MultiwayError, RuntimeError):
    """A run cannot be started, continued or read."""


class MultiwayWarning(UserWarning):
    """A run can be used, and what it says should be read with care; the command line prints it and goes on."""


class NotFittedError(MultiwayError, ValueError, AttributeError):
    """An estimator was asked for an answer before `fit`; the bases are those scikit-learn's own error has."""


def closest(name: str, known: Iterable[str]) -> str:
    """End a sentence about an unknown name with the nearest known one, if one is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else "."
