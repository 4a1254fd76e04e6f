"""Several processes of one run: the first makes and writes the folder, the others wait for it."""

import os
import time
from pathlib import Path
from typing import Any

from multiway.errors import RunError
from multiway.training import RunFolder

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
