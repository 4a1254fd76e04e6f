"""A network on the inputs of a row."""

from torch import nn

from multiway.tasks.sample_candidate import Basis, TargetNetwork


class TableNetwork(TargetNetwork):
    """A multilayer perceptron, if the config names no other."""

    sampled = 256

    def build(self, basis: Basis) -> nn.Module:
        """Drawn for the inputs and outputs of the table."""
        network: nn.Module = basis.config.network(
            in_features=basis.state.num_inputs, num_outputs=basis.state.num_outputs
        )
        return network


CANDIDATE = TableNetwork()
