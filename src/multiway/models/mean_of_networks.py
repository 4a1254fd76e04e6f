"""Several networks that forecast by their mean."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class MeanOfNetworks(nn.Module):
    """The mean of the forecasts of K networks that started apart, y = 1/K Σ_k y_k.

    In training every network answers for itself: its forecasts stand one after another along the batch, so that each
    learns from its own errors and none from those of the mean. In evaluation it is the mean.

    Shape:
        past `(batch, lookback, variates)`; forecast `(batch, horizon, variates)`, in training `(K batch, …)`.

    Cost:
        K times that of one network.
    """

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """The mean; in training the forecasts of the first network for the whole batch, then those of the next."""
        forecasts = [network(past, past_observed) for network in self.networks]
        return torch.cat(forecasts) if self.training else torch.stack(forecasts).mean(0)


def members_of(network: nn.Module | None) -> list[nn.Module]:
    """The networks that a forecast is made of: none, one, or those of a mean."""
    if network is None:
        return []
    return list(network.networks) if isinstance(network, MeanOfNetworks) else [network]
