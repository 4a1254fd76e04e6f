"""Series that end a few steps before the others: what they lack is forecast before what follows the last row."""

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from multiway.tasks.forecasting.panel import Panel, lacking


def late_by(panel: Panel, targets: int, horizon: int, lookback: int) -> NDArray[np.int64]:
    """Rows that each of the last series lacks at the end, `(targets,)`.

    0 for one that lacks a whole horizon, which may have ended, and where the rows before make no look-back.
    """
    rows = lacking(panel)[-targets:]
    return np.where((rows < horizon) & (panel.num_rows - rows >= lookback), rows, 0)


def with_ends(panel: Panel, late: NDArray[np.int64], forecast: Callable[[Panel], NDArray[np.float64]]) -> Panel:
    """A panel in which what its last series lack is forecast, the series that lack most first.

    Args:
        panel: The history.
        late: Rows that each of the last series lacks at the end.
        forecast: Values `(horizon, targets)` after the last row of a panel, in its units; called once for each number
            of lacking rows.
    """
    if not late.any():
        return panel
    whole = dataclasses.replace(panel, values=panel.values.copy())
    for steps in sorted({*late.tolist()} - {0}, reverse=True):
        own = np.flatnonzero(late == steps)
        ahead = forecast(whole.slice(0, panel.num_rows - steps))[:steps, own]
        whole.values[-steps:, panel.num_variates - len(late) + own] = ahead
    return whole
