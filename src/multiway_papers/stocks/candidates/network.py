"""A network on prices and texts."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from multiway.data.samples import Prepared, Samples
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis, Network
from multiway.training import Objective
from multiway_papers.stocks.network import INPUTS, MovementLoss, chances_of, movement_loss, validation_score


class StockNetwork(Network):
    """The network of the paper, if the config names no other."""

    def build(self, basis: Basis) -> nn.Module:
        """Drawn for the stocks, days and features."""
        network: nn.Module = basis.config.network(**basis.state.sizes.plain())
        return network

    def objective(self, run: Run, training: Samples[Any]) -> Objective:
        """Cross-entropy of directions, or pinball loss of quantiles."""
        return MovementLoss.in_training(run.config, training.inputs)

    def validation(
        self, run: Run, validation: Samples[Any]
    ) -> tuple[Objective | None, Callable[[nn.Module], float] | None]:
        """The loss without weights and smoothing, and the score that chooses the epoch."""
        return MovementLoss(run.config, run.state.scale), validation_score(run.config, validation.inputs)

    def loss_of(self, run: Run, name: str, validation: Samples[Any]) -> float | None:
        """Cross-entropy of rises and falls; none of quantiles, or where a score chooses the epoch."""
        if run.config.levels or run.config.select != "loss":
            return None
        return movement_loss(chances_of(run, name, validation.inputs), validation.inputs)

    def sample(self, run: Run, prepared: Prepared[Any, Any]) -> tuple[Tensor | None, ...]:
        """Some validation days."""
        validation = prepared.part("validation")
        batch = validation.inputs.batch(validation.some(self.sampled))
        return tuple(batch.get(name) for name in INPUTS)


CANDIDATE = StockNetwork()
