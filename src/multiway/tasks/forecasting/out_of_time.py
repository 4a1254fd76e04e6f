"""Errors of ridge on training rows that come after those it is fitted on: more of them than a short validation has."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from multiway import ops
from multiway.data import Windows
from multiway.models.linear_floor import LinearFloor
from multiway.models.windows import fill_gaps
from multiway.tasks.forecasting.conformal import Forecast, errors_of
from multiway.tasks.forecasting.floor import Floor
from multiway.tasks.forecasting.moments import normal_equations

MAX_ORIGINS = 10
SMALLEST = 0.2
"""Share of the training windows that a fit has at least."""


def out_of_time_errors(training: Windows, floor: Floor) -> NDArray[np.float32]:
    """Absolute errors `(horizon, variates, windows)` from rolling origins; NaN where nothing was observed.

    At each origin ridge is fitted on the rows before it, under the penalty and of the kind that were chosen, and
    forecasts the windows whose targets begin in the `horizon` rows from there.
    """
    horizon = training.horizon
    last = training.first + len(training) + training.lookback - horizon
    found = [np.empty((horizon, training.num_variates, 0), np.float32)]
    for origin in range(last, training.first, -horizon)[:MAX_ORIGINS]:
        earlier = training.between(training.first, origin)
        if len(earlier) < max(SMALLEST * len(training), 1):
            break
        found.append(errors_of(training.between(origin, origin + 2 * horizon - 1), _ridge(earlier, floor)))
    return np.concatenate(found, -1)


def _ridge(windows: Windows, floor: Floor) -> Forecast:
    """A forecast fitted on windows, with the penalty and the number of matrices of another."""
    gram, cross = normal_equations(windows)
    if floor.shared:
        gram, cross = gram.sum(0, keepdim=True), cross.sum(0, keepdim=True)
    [weight] = ops.ridge_path(gram, cross, [floor.penalty])
    model = LinearFloor(len(weight), windows.horizon, windows.lookback, trained=False)
    model.set_weight(weight.float())

    def forecast(past: Tensor, observed: Tensor | None) -> Tensor:
        return model(past if observed is None else fill_gaps(past, observed))  # type: ignore[no-any-return]

    return forecast
