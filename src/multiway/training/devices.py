"""Where a model is and predicts fast, and what it is trained on: device, precision, processes."""

import contextlib
import copy
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from multiway.training.config import Batch, Source, TrainingConfig


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


class Engine:
    """A model on its device, as Accelerate wraps it for several processes and for the precision of a training.

    Attributes:
        model: The model itself, or a copy of it whose weights lie in parts on all processes.
        wrapped: What a training step calls.
        sharded: Whether they do: FSDP2, where the launcher asks for FSDP.
        world: Number of processes.
        rank: Which of them this is.
        backward: Adds the gradient of a loss.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState

        AcceleratorState._reset_state()  # another precision earlier in this process is none of ours
        precision = "bf16" if config.precision == "bf16" else "no"
        self._accelerator = Accelerator(mixed_precision=precision, cpu=fastest(model) == "cpu")
        self.device, self.is_main = self._accelerator.device, self._accelerator.is_main_process
        self.world, self.rank = self._accelerator.num_processes, self._accelerator.process_index
        self.backward: Callable[[Tensor], None] = self._accelerator.backward
        self.sharded = self.world > 1 and os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"
        self.model = sharded(copy.deepcopy(model).to(self.device), config) if self.sharded else model.to(self.device)
        compiled: nn.Module = torch.compile(self.model) if config.compile else self.model  # type: ignore[assignment]
        self.wrapped: nn.Module = compiled if self.sharded else self._accelerator.prepare_model(compiled)

    def gather(self, source: Source, index: Tensor) -> Batch:
        """Samples on the device."""
        batch = source.gather(index)
        return batch if self.device.type == "cpu" else {name: part.to(self.device) for name, part in batch.items()}

    def share(self, index: Tensor, source: Source) -> Tensor:
        """Part of a global batch that is this process's: what it alone holds, else as much as each other has."""
        held = getattr(source, "held", None)
        own: Tensor = index.tensor_split(self.world)[self.rank] if held is None else held(index)
        return own

    def synchronised(self, *, is_last: bool) -> contextlib.AbstractContextManager[Any]:
        """Processes exchange gradients once per step, with the last batch."""
        if self.sharded:
            self.model.set_requires_gradient_sync(is_last)  # type: ignore[operator]  # of FSDP's module
            return contextlib.nullcontext()
        return contextlib.nullcontext() if is_last else self._accelerator.no_sync(self.wrapped)

    def sum(self, totals: Tensor) -> Tensor:
        """Sums over all processes."""
        if self.world == 1:
            return totals
        summed: Tensor = self._accelerator.reduce(totals.to(self.device), reduction="sum")
        return summed.cpu()

    def weights(self) -> dict[str, Tensor]:
        """A copy of the whole state of the model; all processes take part where it lies in parts."""
        return {name: _whole(tensor.detach()).cpu().clone() for name, tensor in self.model.state_dict().items()}

    def unwrap(self) -> None:
        """Leave the model in its own precision, which is a matter of the training."""
        if not self.sharded:
            self._accelerator.unwrap_model(self.wrapped, keep_fp32_wrapper=False)


def _whole(tensor: Tensor) -> Tensor:
    """What lies in parts, put together."""
    whole: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return whole


def sharded(model: nn.Module, config: TrainingConfig) -> nn.Module:
    """The model with its weights in parts on all processes: those of each outermost list of layers one by one."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16 if config.precision == "bf16" else None)
    for layer in _outermost(model):
        if any(parameter.requires_grad for parameter in layer.parameters()):
            fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model


def _outermost(module: nn.Module) -> Iterator[nn.Module]:
    """Members of lists of layers that are in no other list."""
    for child in module.children():
        yield from child if isinstance(child, nn.ModuleList) else _outermost(child)
