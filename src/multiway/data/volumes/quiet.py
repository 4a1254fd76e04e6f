"""Keep libraries that read scans from printing."""

import contextlib
import logging
import warnings
from collections.abc import Iterator


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
