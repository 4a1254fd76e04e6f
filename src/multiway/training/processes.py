"""Several processes of one run: the first makes and writes the folder, the others wait for it."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multiway.errors import RunError, StorageError
from multiway.training.run_folder import CONFIG, RunFolder

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
        if (path / CONFIG).is_file():
            return RunFolder.open(path)
        time.sleep(PAUSE)
    raise RunError(f"{path} was not made by the first process within a minute.")


@contextlib.contextmanager
def held(folder: RunFolder) -> Iterator[None]:
    """Hold the folder in the process that writes.

    Raises:
        RunError: Another run holds it, or a file of it cannot be written; says how to continue then.
    """
    try:
        with folder.lock() if is_main() else contextlib.nullcontext():
            yield
    except StorageError as error:
        go_on = f" Then continue: `multiway train --resume {folder.path}`." if (folder.path / CONFIG).is_file() else ""
        raise StorageError(f"{error}{go_on}") from None
