"""Training that tells the modes of mode-wise maps apart: penalties and learning rates (NdLinear, section 2.3)."""

from typing import Any

import torch
from torch import nn

from multiway import ops
from multiway.nn import NdLinear
from multiway.training.config import TrainingConfig


class Modes:
    """The trained weights of every `NdLinear` of a model, and what a config wants of them mode by mode.

    Args:
        model: Searched for layers by their type.
        config: Its `norm_penalty`, `orthogonality_penalty` and `mode_rates`; without them nothing happens.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        layers = [module for module in model.modules() if isinstance(module, NdLinear)]
        numbered = [(mode, weight) for layer in layers for mode, weight in enumerate(layer.weights)]
        trained = [(mode, weight) for mode, weight in numbered if weight.requires_grad]
        self.modes, self.weights = [mode for mode, _ in trained], [weight for _, weight in trained]
        self.rates = config.mode_rates
        wanted = {ops.norm_penalty: config.norm_penalty, ops.orthogonality_penalty: config.orthogonality_penalty}
        self.penalties = {penalty: given for penalty, given in wanted.items() if given and trained}

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
