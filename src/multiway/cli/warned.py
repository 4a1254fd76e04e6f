"""Warnings of the library as one line each on stderr."""

import sys
import warnings
from typing import Any

from multiway.errors import MultiwayWarning


def say_warnings() -> None:
    """Print a warning as an error is printed, without the place in the code that gave it."""
    warnings.simplefilter("default", MultiwayWarning)
    warnings.showwarning = _say


def _say(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"multiway: warning: {' '.join(str(message).split())}", file=sys.stderr)
