"""Keep transformers from printing."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def quietly(transformers: Any) -> Iterator[None]:
    """Silence what transformers logs, warns of and draws while it loads, and keep it from our random numbers.

    It fills weights that a file lacks with random ones; which may lack is checked by us.
    """
    import torch

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
