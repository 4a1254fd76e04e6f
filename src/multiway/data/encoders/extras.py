"""Libraries of the `text` extra, imported when they are needed, and kept from printing."""

import contextlib
import importlib
import importlib.util
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from multiway.errors import ConfigError

INSTALL = "Run `pip install 'multiway[text]'`"


def is_installed(name: str) -> bool:
    """Whether a library can be imported, without importing it."""
    return importlib.util.find_spec(name) is not None


def load_extra(name: str, purpose: str) -> Any:
    """Import a library of the `text` extra.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ConfigError(f"{purpose} needs {name}, which is not installed. {INSTALL}.") from None


@contextlib.contextmanager
def quietly(transformers: Any) -> Iterator[None]:
    """Silence what transformers logs, warns of and draws while it loads, and keep it from our random numbers.

    It fills weights that a file lacks with random ones; which may lack is checked by us.
    """
    log = transformers.utils.logging
    verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()
