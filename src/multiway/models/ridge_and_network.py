"""Forecasts of several networks by their mean, and of ridge and network by their shares."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from multiway import ops
from multiway.models.windows import LinearFloor, fill_gaps


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


class RidgeAndNetwork(nn.Module):
    """A fitted ridge forecast and, where one was trained, a network; mixed step by step by weights of validation.

    Shape:
        past `(batch, lookback, variates)` in scaled units; forecasts `(batch, horizon, targets)`. The targets are the
        last variates; ridge and the naive forecasts see their own past.
    """

    def __init__(
        self, lookback: int, horizon: int, season: int, num_matrices: int, network: nn.Module | None, num_targets: int
    ) -> None:
        super().__init__()
        self.horizon, self.season, self.num_targets = horizon, season, num_targets
        self.floor = LinearFloor(num_matrices, horizon, lookback, trained=False)
        self.network = network
        self.weight: Tensor
        self.register_buffer("weight", torch.zeros(horizon, dtype=torch.float64))

    def forward(self, past: Tensor, observed: Tensor | None = None) -> Tensor:
        """(1 - weight) ridge + weight network."""
        if self.network is None or bool((self.weight == 0).all()):
            return self.ridge(past, observed)
        network: Tensor = self.network(past, observed)
        return network if bool((self.weight == 1).all()) else self.mix(self.ridge(past, observed), network)

    def mix(self, ridge: Tensor, network: Tensor) -> Tensor:
        """Blend two forecasts, step by step; where the weight is 0 or 1 the step is one of them itself."""
        weight = self.weight[:, None]
        blend = torch.lerp(ridge, network, weight.to(ridge.dtype))
        return torch.where(weight == 0, ridge, torch.where(weight == 1, network, blend))

    def ridge(self, past: Tensor, observed: Tensor | None = None) -> Tensor:
        """The closed-form forecast alone."""
        return self.floor(self._own(past, observed))  # type: ignore[no-any-return]

    def _own(self, past: Tensor, observed: Tensor | None) -> Tensor:
        """The past of the targets, without gaps."""
        own = past[..., -self.num_targets :]
        return own if observed is None else fill_gaps(own, observed[..., -self.num_targets :])

    def all_forecasts(self, past: Tensor, observed: Tensor | None = None) -> dict[str, Tensor]:
        """The chosen forecast, `multiway`, and every baseline."""
        filled = self._own(past, observed)
        ridge: Tensor = self.floor(filled)
        forecasts = {
            "multiway": ridge,
            "ridge": ridge,
            "seasonal_naive": ops.seasonal_naive(filled, self.horizon, self.season),
            "naive": ops.naive(filled, self.horizon),
        }
        if self.network is not None:
            network: Tensor = self.network(past, observed)
            forecasts |= {"multiway": self.mix(ridge, network), "network": network}
        return forecasts
