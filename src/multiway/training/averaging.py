"""A moving average of a model's weights over the steps of its training."""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from multiway.errors import RunError


class WeightAverage:
    """Averages every floating-point tensor of a model's state, and follows the others.

    After step t the average moves towards the weights by 1 - min(decay, (1 + t) / (10 + t)), so that it forgets the
    first draw fast; the share is a function of the step alone, so that only `values` has to be saved.

    Args:
        model: Its state as it is now is where the average starts.
        decay: Share of the average that a late step keeps.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = model, decay
        self.values = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step, counted from 1."""
        move = 1.0 - min(self.decay, (1 + step) / (10 + step))
        for name, tensor in self.model.state_dict().items():
            value = self.values[name]
            if value.is_floating_point():
                value.lerp_(tensor.to(value.device), move)
            else:
                value.copy_(tensor)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Within this block the model holds the average."""
        own = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        self.model.load_state_dict(self.values)
        try:
            yield
        finally:
            self.model.load_state_dict(own)

    def restore(self, values: dict[str, Tensor]) -> None:
        """Continue from saved values.

        Raises:
            RunError: The saved state has no average.
        """
        if values.keys() != self.values.keys():
            raise RunError("the saved state holds no average of the weights. Resume the run as it was started.")
        for name, tensor in values.items():
            self.values[name].copy_(tensor)
