"""What one of two processes does: train each run that it is given; an error ends that run alone."""

import contextlib
import os
import socket
import traceback
from collections.abc import Iterator, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

import children


def started(words: Mapping[str, list[str]], folder: Path, **environment: str) -> Iterator[BaseProcess]:
    """Each training twice, with the environment that `torchrun` gives."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for rank in ("0", "1"):
        own = {**shared, "RANK": rank, "LOCAL_RANK": rank, "CUDA_VISIBLE_DEVICES": "", **environment}
        yield children.start(train_all, words, own, folder / f"errors-{rank}")


def train_all(words: Mapping[str, list[str]], environment: Mapping[str, str], errors: Path) -> None:
    """Train in the environment that `torchrun` gives, and keep what went wrong; "sharded" with weights in parts."""
    os.environ |= environment
    torch.set_num_threads(1)
    from multiway.cli.app import app

    with errors.open("w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        for name, line in words.items():
            os.environ["ACCELERATE_USE_FSDP"] = str(name == "sharded").lower()
            try:
                with contextlib.suppress(SystemExit):
                    app(line, standalone_mode=False)
            except Exception:
                print(f"{name}: {traceback.format_exc()}", file=file)
