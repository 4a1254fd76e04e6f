"""What one of two processes does: train each run that it is given; an error ends that run alone."""

import contextlib
import os
import traceback
from collections.abc import Mapping
from pathlib import Path

import torch


def train_all(words: Mapping[str, list[str]], environment: Mapping[str, str], errors: Path) -> None:
    """Train in the environment that `torchrun` gives, and keep what went wrong."""
    os.environ |= environment
    torch.set_num_threads(1)
    from multiway.cli.app import app

    with errors.open("w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        for name, line in words.items():
            try:
                with contextlib.suppress(SystemExit):
                    app(line, standalone_mode=False)
            except Exception:
                print(f"{name}: {traceback.format_exc()}", file=file)
