"""Processes of one run: the first writes, the others wait; what they tell each other; a signal stops them together.

Also where a model is, and where it predicts fast.
"""

import atexit
import contextlib
import functools
import gc
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.errors import RunError, StorageError
from multiway.training.run_folder import CONFIG, RunFolder, resuming

WAITS, PAUSE = 600, 0.1
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))


class Interrupted(RunError):
    """Training was stopped by a signal, and its state is saved."""


class StopRequest:
    """While entered, remembers a signal instead of dying of it; the old handlers come back on exit.

    A signal that is ignored, as SIGHUP is under nohup, stays ignored.
    """

    def __init__(self) -> None:
        self.name: str | None = None
        self._old: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._old[number] = signal.signal(number, self._remember)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.name = signal.Signals(number).name


def is_main() -> bool:
    """Whether this is the process that writes."""
    return rank() == 0


def rank() -> int:
    """Which of the processes this is."""
    return int(os.environ.get("RANK", "0"))


def world() -> int:
    """How many processes there are, as `torchrun` says."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@functools.cache
def _group() -> Any:
    """The processes as a group that sends from one memory to another, wherever models are trained."""
    from accelerate import PartialState

    end_at_exit()
    PartialState(cpu=not torch.cuda.is_available())
    return torch.distributed.new_group(backend="gloo")


@functools.cache
def end_at_exit() -> None:
    """Before groups begin: they end while Python can still free what their threads hold, or these abort the process.

    What ends with its last reference are the threads of gloo. Functions of `torch.distributed.nn` have the group as a
    default argument, and keep it for ever, where they are imported after it began.
    """
    import torch.distributed.nn  # for what it does at import

    @atexit.register
    def end() -> None:
        _group.cache_clear()
        gc.collect()
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        gc.collect()


def total(*tensors: Tensor) -> list[Tensor]:
    """Sums over all processes, by one all-reduce of all tensors, in float64."""
    flat = torch.cat([tensor.double().flatten() for tensor in tensors])
    torch.distributed.all_reduce(flat, group=_group())
    return [part.view(each.shape) for part, each in zip(flat.split([t.numel() for t in tensors]), tensors, strict=True)]


def everywhere(own: bytes) -> list[bytes]:
    """Bytes of every process, in every process."""
    size = torch.zeros(world(), dtype=torch.long)
    size[rank()] = len(own)
    torch.distributed.all_reduce(size, group=_group())
    padded = torch.zeros(int(size.max()), dtype=torch.uint8)
    padded[: len(own)] = torch.frombuffer(bytearray(own), dtype=torch.uint8) if own else padded[:0]
    every = [torch.empty_like(padded) for _ in range(world())]
    torch.distributed.all_gather(every, padded, group=_group())
    return [part[:count].numpy().tobytes() for part, count in zip(every, size.tolist(), strict=True)]


def join_arrays(own: NDArray[Any], axis: int) -> NDArray[Any]:
    """Arrays of every process one after another along an axis, in the first process; elsewhere its own.

    Arrays may differ in that axis alone. They come one by one, so that the first holds no copy besides the whole.
    """
    sizes = [int(size) for size in everywhere(str(own.shape[axis]).encode())]
    here = torch.from_numpy(np.require(own, requirements=["C", "W"]))
    if not is_main():
        torch.distributed.send(here, 0, group=_group())
        return own
    whole = np.empty((*own.shape[:axis], sum(sizes), *own.shape[axis + 1 :]), own.dtype)
    stop = 0
    for process, size in enumerate(sizes):
        part = here if process == 0 else torch.empty(*own.shape[:axis], size, *own.shape[axis + 1 :], dtype=here.dtype)
        if process:
            torch.distributed.recv(part, process, group=_group())
        whole[(slice(None),) * axis + (slice(stop, stop + size),)] = part.numpy()
        stop += size
    return whole


def create_once(path: Path, settings: dict[str, Any]) -> RunFolder:
    """Only the first of several processes makes the folder; the others wait until it is there."""
    if is_main():
        return RunFolder.create(path, settings)
    for _ in range(WAITS):
        if (path / CONFIG).is_file():
            return RunFolder.open(path)
        time.sleep(PAUSE)
    raise RunError(f"{path} was not made by the first process within a minute.")


@contextlib.contextmanager
def hold_folder(folder: RunFolder) -> Iterator[None]:
    """Hold the folder in the process that writes."""
    try:
        with folder.lock() if is_main() else contextlib.nullcontext():
            yield
    except StorageError as error:
        go_on = f" Then continue: {resuming(folder.path)}." if (folder.path / CONFIG).is_file() else ""
        raise StorageError(*error.args, go_on) from None


def device_of(model: nn.Module) -> torch.device:
    """Where a model is."""
    tensors = itertools.chain(model.parameters(), model.buffers())
    return next((tensor.device for tensor in tensors), torch.device("cpu"))


def fastest(model: nn.Module) -> str:
    """Kind of the device to use: cuda, mps, or cpu, which also has what holds float64, as Apple's has none."""
    if torch.cuda.is_available():
        return "cuda"
    tensors = itertools.chain(model.parameters(), model.buffers())
    is_double = any(tensor.dtype == torch.float64 for tensor in tensors)
    return "mps" if torch.backends.mps.is_available() and not is_double else "cpu"


@contextlib.contextmanager
def best_device(model: nn.Module) -> Iterator[None]:
    """Within this block the model is where prediction is fast."""
    model.to(fastest(model))
    try:
        yield
    finally:
        model.to("cpu")
