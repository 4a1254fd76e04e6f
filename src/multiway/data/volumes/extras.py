"""Libraries of the `volumes` extra, imported when they are needed, and kept from printing."""

import contextlib
import importlib
import logging
import warnings
from collections.abc import Iterator
from typing import Any

from multiway.errors import ConfigError


def load_extra(name: str, purpose: str) -> Any:
    """Import a library of the `volumes` extra.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise ConfigError(
            f"{purpose} needs {package}, which is not installed. Run `pip install 'multiway[volumes]'`."
        ) from None


@contextlib.contextmanager
def quietly(logger: str) -> Iterator[None]:
    """Silence what a library warns of and logs while it reads a file; what matters is checked and raised here."""
    log = logging.getLogger(logger)
    was = log.disabled
    log.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = was
