"""Ridge and network side by side, and the forecasts that need no training."""

import torch
from torch import Tensor, nn

from multiway import ops
from multiway.models.hot_forecaster import HOTForecaster
from multiway.models.linear_floor import LinearFloor
from multiway.models.windows import fill_gaps


class RidgeAndNetwork(nn.Module):
    """A fitted ridge forecast and, where one was trained, a network; mixed by the weight that validation chose.

    Shape:
        past `(batch, lookback, variates)` in scaled units; forecasts `(batch, horizon, variates)`.
    """

    def __init__(
        self, lookback: int, horizon: int, season: int, num_matrices: int, network: HOTForecaster | None
    ) -> None:
        super().__init__()
        self.horizon, self.season = horizon, season
        self.floor = LinearFloor(num_matrices, horizon, lookback, trained=False)
        self.network = network
        self.weight: Tensor
        self.register_buffer("weight", torch.zeros((), dtype=torch.float64))

    def forward(self, past: Tensor, observed: Tensor | None = None) -> Tensor:
        """(1 - weight) ridge + weight network."""
        weight = float(self.weight)
        if self.network is None or weight == 0:
            return self.ridge(past, observed)
        network: Tensor = self.network(past, observed)
        return network if weight == 1 else self.mix(self.ridge(past, observed), network)

    def mix(self, ridge: Tensor, network: Tensor) -> Tensor:
        """Blend two forecasts; the ends are one of them itself."""
        weight = float(self.weight)
        return {0.0: ridge, 1.0: network}[weight] if weight in {0.0, 1.0} else torch.lerp(ridge, network, weight)

    def ridge(self, past: Tensor, observed: Tensor | None = None) -> Tensor:
        """The closed-form forecast alone."""
        return self.floor(past if observed is None else fill_gaps(past, observed))  # type: ignore[no-any-return]

    def all_forecasts(self, past: Tensor, observed: Tensor | None = None) -> dict[str, Tensor]:
        """The chosen forecast, `multiway`, and every baseline."""
        filled = past if observed is None else fill_gaps(past, observed)
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
