"""What the loop asks of data and task; any class with these methods will do."""

from typing import Protocol

from torch import Tensor, nn

Batch = dict[str, Tensor]


class Source(Protocol):
    """Samples that can be gathered by index, a batch at a time."""

    def __len__(self) -> int:
        """Number of samples."""

    def gather(self, index: Tensor) -> Batch:
        """Tensors of the samples with these indices, batch axis first."""


class Objective(Protocol):
    """What is minimised."""

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum of losses over the batch, and the number of terms in it."""
