"""The errors a user can cause; each message is one line: where, the rule, the values, the fix."""

from collections.abc import Collection, Iterable


class MultiwayError(Exception):
    """Base of every error this library raises on purpose; the command line prints it and exits with 1."""


class ShapeError(MultiwayError, ValueError):
    """A tensor's axes do not fit the operation."""


class DtypeError(MultiwayError, TypeError):
    """A tensor's numbers are of another type than the layer's."""


class ConfigError(MultiwayError, ValueError):
    """An option is unknown, out of range, or contradicts another."""


class ArgumentError(ConfigError, TypeError):
    """A function was given an argument that it does not have; Python's own error for that is a base."""


class DataError(MultiwayError, ValueError):
    """A file or frame does not hold what the task needs."""


class RunError(MultiwayError, RuntimeError):
    """A run cannot be started, continued or read."""


class StorageError(RunError):
    """Something cannot be written: no room, no right to, no folder."""


class MultiwayWarning(UserWarning):
    """A run can be used, and what it says should be read with care; the command line prints it and goes on."""


class NotFittedError(MultiwayError, ValueError, AttributeError):
    """An estimator was asked for an answer before `fit`; the bases are those scikit-learn's own error has."""


def closest(name: str, known: Iterable[str]) -> str:
    """End a sentence about an unknown name with the nearest known one, if one is near."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else "."


def ended(sentence: str) -> str:
    """A sentence with its full stop; a question has its mark."""
    return sentence if sentence.endswith("?") else f"{sentence}."


def check_names(where: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse arguments by name that a function does not have.

    Raises:
        ArgumentError: There is one.
    """
    for name in given:
        if name not in known:
            raise ArgumentError(f"{where}: {name} is no argument{closest(name, known)} It has {', '.join(known)}.")
