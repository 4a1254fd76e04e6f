"""Ridge from a window to its next step, run on: as many steps are forecast as are needed, by one fitted step."""

import torch
from torch import Tensor, nn

from multiway.models.windows import LinearFloor
from multiway.tasks.forecasting.candidate import Facts, OneMatrix, Sizes
from multiway.tasks.forecasting.windows import Windows


class Autoregression(nn.Module):
    """An autoregression that all series share, run on over its own forecasts, as one map from window to horizon.

    A step has as many weights as a window has values; a map that is fitted to every step has horizon times as many, and
    errs more where the rows are few.

    penalty: Of the fit of a step, as of all ridges.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    def __init__(self, lookback: int, horizon: int) -> None:
        super().__init__()
        self.floor = LinearFloor(1, horizon, lookback, trained=False)
        self.penalty = nn.Buffer(torch.ones((), dtype=torch.float64))

    def forward(self, past: Tensor) -> Tensor:
        """Forecast, in scaled units."""
        return self.floor(past)  # type: ignore[no-any-return]

    def set_weight(self, weight: Tensor) -> None:
        """Take over the weights of a step, `(1, 1, lookback)`, on windows with their last value subtracted."""
        horizon = self.floor.weight.shape[1]
        self.floor.set_weight(run_on(weight.flatten().double(), horizon)[None].float())


def run_on(step: Tensor, horizon: int) -> Tensor:
    """The map from a window to a horizon that repeats one step, `(horizon, lookback)`.

    Args:
        step: `(lookback,)`, acting on a window with its last value subtracted.
        horizon: Steps.
    """
    lookback = len(step)
    ahead = step.clone()
    ahead[-1] = 1 - step[:-1].sum()  # the same on the values themselves: what is subtracted comes back
    known = torch.eye(lookback, dtype=step.dtype)
    for _ in range(horizon):
        known = torch.cat([known, (ahead @ known[-lookback:])[None]])
    return known[lookback:]


class OneStep(OneMatrix[Autoregression]):
    """An autoregression that all series share."""

    name, cost = "autoregression", 12

    def can_answer(self, facts: Facts) -> bool:
        """Where windows are few, and no network is trained."""
        return facts.are_few and not facts.network

    def build(self, sizes: Sizes) -> Autoregression:
        """Without a weight."""
        return Autoregression(sizes.lookback, sizes.horizon)

    def view(self, model: Autoregression, windows: Windows) -> Windows:
        """Windows whose future is the next step."""
        return windows.replace(horizon=1)


CANDIDATE = OneStep()
