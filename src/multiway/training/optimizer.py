"""What turns gradients into weights: optimiser, settings by mode, and the average of the weights."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from multiway import ops
from multiway.errors import RunError
from multiway.nn import NdLinear
from multiway.training.config import TrainingConfig


def make_optimizer(model: nn.Module, config: TrainingConfig, modes: "Modes") -> torch.optim.Optimizer:
    """Adam or AdamW over the weights that are trained, one group per factor of the learning rate."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    fused = all(parameter.is_floating_point() for parameter in trained)
    return kind(modes.groups_of(trained), lr=config.learning_rate, weight_decay=config.weight_decay, fused=fused)


class Modes:
    """The trained weights of every `NdLinear` of a model, and a config's settings for them (NdLinear, section 2.3)."""

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        layers = [module for module in model.modules() if isinstance(module, NdLinear)]
        numbered = [(mode, weight) for layer in layers for mode, weight in enumerate(layer.weights)]
        trained = [(mode, weight) for mode, weight in numbered if weight.requires_grad]
        self.modes, self.weights = [mode for mode, _ in trained], [weight for _, weight in trained]
        self.rates = config.mode_rates
        given = {ops.norm_penalty: config.norm_penalty, ops.orthogonality_penalty: config.orthogonality_penalty}
        self.penalties = {penalty: numbers for penalty, numbers in given.items() if numbers and trained}

    def add_penalties(self) -> None:
        """Add the gradient of the penalties to that of the mean loss; processes have exchanged theirs before."""
        for penalty, given in self.penalties.items():
            value = penalty(self.weights, self._by_weight(given))
            for weight, gradient in zip(self.weights, torch.autograd.grad(value, self.weights), strict=True):
                weight.grad = gradient if weight.grad is None else weight.grad + gradient

    def groups_of(self, trained: list[nn.Parameter]) -> list[dict[str, Any]]:
        """Groups of the optimiser: all that have the learning rate as it is, then one for each other factor."""
        rates = self._by_weight(self.rates) if self.rates else []
        rate_of = dict(zip(map(id, self.weights), rates, strict=False))
        factors = (1.0, *sorted(set(rates) - {1.0}))
        groups: dict[float, list[nn.Parameter]] = {factor: [] for factor in factors}
        for parameter in trained:
            groups[rate_of.get(id(parameter), 1.0)].append(parameter)
        return [{"params": group, "factor": factor} for factor, group in groups.items()]

    def _by_weight(self, given: tuple[float, ...]) -> list[float]:
        """The number of each weight's mode; the last one is for all later modes."""
        return [given[min(mode, len(given) - 1)] for mode in self.modes]


class WeightAverage:
    """Averages every floating-point tensor of a model's state, and follows the others.

    After step t the average moves towards the weights by 1 - min(decay, (1 + t) / (10 + t)), so that it forgets the
    first draw fast; the share is a function of the step alone, so that only `values` has to be saved.
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
        """Continue from saved values."""
        if values.keys() != self.values.keys():
            raise RunError("the saved state holds no average of the weights. Resume the run as it was started.")
        for name, tensor in values.items():
            self.values[name].copy_(tensor)
