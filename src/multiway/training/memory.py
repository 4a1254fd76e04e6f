"""Batches that fit into memory: what a network keeps of a sample for its gradients, and how many go together."""

import copy
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from multiway.data.sources.bytes import free_memory
from multiway.training.config import TrainingConfig


class Batched(Protocol):
    """A config of a run."""

    @property
    def training(self) -> TrainingConfig:
        """How its networks are trained."""

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""


ConfigT = TypeVar("ConfigT", bound=Batched)
MOST_BYTES = 2 * 2**30
"""Of activations on the processor, where larger batches are no faster."""
SHARE = 0.5
"""Of the free memory that activations may take."""
WORK = 2
"""What is kept, and as much again for gradients and buffers."""


def bytes_per_sample(model: nn.Module, shape: tuple[int, ...]) -> int:
    """Bytes that a training step takes for one sample more, by a forward pass without numbers."""
    return WORK * count_kept_bytes(model.train(), torch.empty(2, *shape, device="meta")) // 2


def count_kept_bytes(model: nn.Module, *inputs: Tensor | None) -> int:
    """Bytes that a call keeps for its gradient, weights apart and every storage once."""
    sizes: dict[int, int] = {}
    own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept: list[Tensor] = []  # alive, so that no storage takes another's place

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            sizes[storage._cdata] = storage.nbytes()
            kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(*inputs)
    return sum(sizes.values())


def count_kept_per_sample(network: nn.Module, sample: Sequence[Tensor | None]) -> int:
    """Bytes that two samples more make of a batch of two, for one of them: norms over a batch need two."""
    own = copy.deepcopy(network).train()  # so that no running statistic of the network itself moves
    batches = [[None if part is None else torch.cat([part] * count) for part in sample] for count in (2, 4)]
    with torch.random.fork_rng(), torch.enable_grad():
        two, four = (count_kept_bytes(own, *batch) for batch in batches)
    return (four - two) // 2


def fit_batches(
    config: ConfigT, build: Callable[[], Sequence[nn.Module]], shape: tuple[int, ...], unit: str, *, progress: bool
) -> ConfigT:
    """The config with its usual batch split so that no network takes more memory than is free; one given stays.

    Args:
        config: Has `training`.
        build: Makes the networks that are trained by it.
        shape: Of one sample, without the batch.
        unit: What samples are, in the plural.
        progress: Say on stderr what was chosen.
    """
    training = config.training
    if "batch_size" in training.model_fields_set:
        return config
    with torch.device("meta"):
        needed = max(bytes_per_sample(network, shape) for network in build())
    chosen = split_batches(training, needed, free_bytes())
    if chosen.batch_size == training.batch_size:
        return config
    if progress:
        size, usual, gigabytes = chosen.batch_size, training.batch_size, needed * training.batch_size / 1e9
        words = f"{usual} {unit} at once would take about {gigabytes:.2g} GB (training.batch_size={usual} does so)"
        print(f"batches of {size}, the gradients of {chosen.accumulation} added: {words}", file=sys.stderr, flush=True)
    return config.replace(training=chosen.plain())


def free_bytes() -> int:
    """Bytes that activations may take where the training will run; of several processes each finds the same."""
    if os.environ.get("WORLD_SIZE", "1") != "1":
        return MOST_BYTES
    if torch.cuda.is_available():
        return int(SHARE * torch.cuda.mem_get_info()[0])
    return min(int(SHARE * free_memory()), MOST_BYTES)


def split_batches(config: TrainingConfig, per_sample: int, free: int) -> TrainingConfig:
    """The same steps in smaller batches, whose gradients are added, as far as memory needs it.

    The batch is halved as long as it is even and takes more than is free.
    """
    batch, accumulation = config.batch_size, config.accumulation
    while batch * per_sample > free and batch % 2 == 0:
        batch, accumulation = batch // 2, accumulation * 2
    return config.replace(batch_size=batch, accumulation=accumulation, validation_batch_size=batch)
