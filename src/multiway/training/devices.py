"""Where a model is and predicts fast, and what it is trained on: device, precision, processes."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from multiway.training.config import Batch, Source, TrainingConfig


def device_of(model: nn.Module) -> torch.device:
    """Where a model is."""
    tensors = itertools.chain(model.parameters(), model.buffers())
    return next((tensor.device for tensor in tensors), torch.device("cpu"))


@contextlib.contextmanager
def best_device(model: nn.Module) -> Iterator[None]:
    """Within this block the model is where prediction is fast."""
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    try:
        yield
    finally:
        model.to("cpu")


class Engine:
    """A model on its device, as Accelerate wraps it for several processes and for the precision of a training.

    Attributes:
        model: The model itself.
        wrapped: What a training step calls.
        world: Number of processes.
        rank: Which of them this is.
        backward: Adds the gradient of a loss.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState

        AcceleratorState._reset_state()  # another precision earlier in this process is none of ours
        precision = "bf16" if config.precision == "bf16" else "no"
        self._accelerator = Accelerator(mixed_precision=precision, cpu=not torch.cuda.is_available())
        self.device, self.is_main = self._accelerator.device, self._accelerator.is_main_process
        self.world, self.rank = self._accelerator.num_processes, self._accelerator.process_index
        self.backward: Callable[[Tensor], None] = self._accelerator.backward
        self.model = model.to(self.device)
        self.wrapped: nn.Module = self._accelerator.prepare_model(torch.compile(model) if config.compile else model)

    def gather(self, source: Source, index: Tensor) -> Batch:
        """Samples on the device."""
        batch = source.gather(index)
        return batch if self.device.type == "cpu" else {name: part.to(self.device) for name, part in batch.items()}

    def share(self, index: Tensor) -> Tensor:
        """Part of a global batch that is this process's."""
        own: Tensor = index.tensor_split(self.world)[self.rank]
        return own

    def synchronised(self, *, is_last: bool) -> contextlib.AbstractContextManager[Any]:
        """Processes exchange gradients once per step, with the last batch."""
        return contextlib.nullcontext() if is_last else self._accelerator.no_sync(self.wrapped)

    def sum(self, totals: Tensor) -> Tensor:
        """Sums over all processes."""
        if self.world == 1:
            return totals
        summed: Tensor = self._accelerator.reduce(totals.to(self.device), reduction="sum")
        return summed.cpu()

    def unwrap(self) -> None:
        """Leave the model in its own precision, which is a matter of the training."""
        self._accelerator.unwrap_model(self.wrapped, keep_fp32_wrapper=False)
