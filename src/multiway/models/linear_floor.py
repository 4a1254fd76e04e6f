"""The linear forecast under a network: one matrix per variate, or one for all."""

import torch
from torch import Tensor, nn

from multiway.errors import ShapeError


class LinearFloor(nn.Module):
    """Forecast last value + W (window - last value), with W from a closed form (`ops.ridge`).

    Until `set_weight` W is zero, which is the naive forecast. A trained floor is a parameter, a frozen one a
    buffer; both are saved under the same name.

    Args:
        num_matrices: One per variate, or 1 for a shared one.
        horizon: Steps forecast, the rows of W.
        lookback: Steps seen, the columns of W.
        trained: Let the optimiser change W.

    Shape:
        Input `(batch, lookback, variates)`, output `(batch, horizon, variates)`.
    """

    weight: Tensor

    def __init__(self, num_matrices: int, horizon: int, lookback: int, *, trained: bool) -> None:
        super().__init__()
        weight = torch.zeros(num_matrices, horizon, lookback)
        if trained:
            self.weight = nn.Parameter(weight)
        else:
            self.register_buffer("weight", weight)

    def set_weight(self, weight: Tensor) -> None:
        """Copy in fitted matrices `(variates or 1, horizon, lookback)`; a single one serves every variate.

        Raises:
            ShapeError: The sizes differ.
        """
        if weight.shape not in (self.weight.shape, (1, *self.weight.shape[1:])):
            raise ShapeError(
                f"set_floor: weight must be (variates or 1, horizon, lookback) = {tuple(self.weight.shape)}. "
                f"Got {tuple(weight.shape)}. A shared floor takes one matrix; matrices are stored (out, in)."
            )
        with torch.no_grad():
            self.weight.copy_(weight.expand_as(self.weight))

    def forward(self, past: Tensor) -> Tensor:
        """Forecast every variate by its own matrix."""
        last = past[:, -1:]
        steps = (past - last).permute(2, 1, 0)  # (variates, lookback, batch)
        return last + (self.weight @ steps).permute(2, 1, 0)

    def extra_repr(self) -> str:
        """Sizes, and whether the matrices are trained."""
        matrices, horizon, lookback = self.weight.shape
        return f"{matrices}, {horizon}, {lookback}, trained={isinstance(self.weight, nn.Parameter)}"
