"""Libraries of our extras, imported when they are needed."""

import importlib
import importlib.util
from typing import Any

from multiway.errors import ConfigError


def is_installed(name: str) -> bool:
    """Whether a library can be imported, without importing it."""
    return importlib.util.find_spec(name) is not None


def load_extra(name: str, purpose: str, extra: str) -> Any:
    """Import a library of an extra.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing(name.split(".")[0], purpose, extra) from None


def missing(package: str, purpose: str, extra: str) -> ConfigError:
    """The error that says which extra to install."""
    return ConfigError(f"{purpose} needs {package}, which is not installed. Run `pip install 'multiway[{extra}]'`.")
