"""Several processes of one run: the first makes and writes the folder, the others wait for it."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multiway.errors import RunError
from multiway.training.run_folder import RunFolder

WAITS, PAUSE = 600, 0.1


def is_main() -> bool:
    """Whether this is the process that writes."""
    return os.environ.get("RANK", "0") == "0"


def create_once(path: Path, settings: dict[str, Any]) -> RunFolder:
    """Only the first of several processes makes the folder; the others wait until it is there.

    Raises:
        RunError: Something is there already, or the first process did not come.
    """
    if is_main():
        return RunFolder.create(path, settings)
    for _ in range(WAITS):
        if (path / "config.yaml").is_file():
            return RunFolder.open(path)
        time.sleep(PAUSE)
    raise RunError(f"{path} was not made by the first process within a minute.")


@contextlib.contextmanager
def held(folder: RunFolder) -> Iterator[None]:
    """Hold the folder in the process that writes.

    Raises:
        RunError: Another run holds it.
    """
    with folder.lock() if is_main() else contextlib.nullcontext():
        yield
