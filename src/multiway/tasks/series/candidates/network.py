"""A network on series."""

from torch import nn

from multiway.tasks.sample_candidate import Basis, TargetNetwork


class SeriesNetwork(TargetNetwork):
    """A transformer, if the config names no other."""

    def build(self, basis: Basis) -> nn.Module:
        """Drawn for the variates and classes of the series."""
        config, state = basis
        network: nn.Module = config.network(variates=len(state.variates), num_classes=len(state.classes))
        return network


CANDIDATE = SeriesNetwork()
