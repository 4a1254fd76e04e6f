"""Errors that a check keeps, so that one problem never hides the others."""

import contextlib
from collections.abc import Iterator

from multiway.errors import MultiwayError

Failures = list[MultiwayError]


@contextlib.contextmanager
def kept(failures: Failures | None) -> Iterator[None]:
    """Keep an error for a check that wants all of them; without a list it is raised at once."""
    try:
        yield
    except MultiwayError as error:
        if failures is None:
            raise
        failures.append(error)
