"""Libraries of our extras, imported when they are needed."""

import contextlib
import importlib
import importlib.util
import logging
import warnings
from collections.abc import Iterator
from typing import Any

from multiway.errors import ConfigError


def is_installed(name: str) -> bool:
    """Whether a library can be imported, without importing it."""
    return importlib.util.find_spec(name) is not None


def load_extra(name: str, purpose: str, extra: str) -> Any:
    """Import a library of an extra."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing(name.split(".")[0], purpose, extra) from None


def missing(package: str, purpose: str, extra: str) -> ConfigError:
    """The error that says which extra to install."""
    return ConfigError(f"{purpose} needs {package}, which is not installed. Run `pip install 'multiway[{extra}]'`.")


@contextlib.contextmanager
def silenced(logger: str) -> Iterator[None]:
    """Drop what a library warns of and logs while it reads a file; what matters is checked and raised by us."""
    log = logging.getLogger(logger)
    was = log.disabled
    log.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = was
