"""Past values that lie outside the bands of a forecast of one step."""

import dataclasses

import numpy as np
import pandas as pd

from multiway.errors import DataError
from multiway.tasks.forecasting.calendar import time_kept
from multiway.tasks.forecasting.candidate import others_in
from multiway.tasks.forecasting.forecasts import absent_others, backtest_frame
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.forecasting.panel import Columns, Panel
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

LEVEL = 99.0
"""Of the band in percent, if no other is given."""
MAX_CELLS = 2_000_000
"""Of forecasts that are made at once; those of later steps are dropped."""


def score_values(run: Run, panel: Panel, level: float = LEVEL) -> pd.DataFrame:
    r"""Score every value that has a look-back before it, against the band of a forecast of one step.

    $$s = \frac{y - \hat y}{b - \hat y}$$

    b is the edge of the band on the side of y, so a value outside the band has a score above 1. Where the band has no
    width, a value as forecast has 0, and any other infinity. Forecasts are by what was fitted on the rows before the
    test rows.

    Args:
        run: A fitted run.
        panel: The history. Where it has covariates, or no known step, its last rows up to a horizon are left out, as no
            forecast from before them has all that is known ahead.
        level: Of the band in percent.

    Returns:
        `unique_id, ds, y, multiway, multiway-lo-99, multiway-hi-99, score, fitted`, the first three by the names of the
        table, where `fitted` says that a value is among the rows of the fit, so that its score is too low.

    Raises:
        DataError: No value has a look-back before it.
    """
    whole, horizon = _with_steps_after(panel, run.config.horizon - 1), run.config.horizon
    ends = np.arange(run.config.lookback, whole.num_rows - horizon + 1)
    if others_in(model_of(run).used()):
        ends = ends[[not absent_others(run, whole, end) for end in ends.tolist()]]
    if not len(ends):
        needed = run.config.lookback + horizon - (whole.num_rows - panel.num_rows)
        raise DataError(f"{panel.source}: anomalies need {needed} rows; there are {panel.num_rows}. Give more of them.")
    size = max(1, MAX_CELLS // (horizon * len(run.state.targets)))
    parts = []
    for start in range(0, len(ends), size):
        cutoffs = list(whole.times.take(ends[start : start + size] - 1))
        parts.append(backtest_frame(run, whole, cutoffs, levels=(level,)).iloc[::horizon])  # steps are the innermost
    low, high = (f"{OURS}-{side}-{level:g}" for side in ("lo", "hi"))
    table = pd.concat(parts, ignore_index=True).dropna(subset=["y"])[["unique_id", "ds", "y", OURS, low, high]]
    off = (table["y"] - table[OURS]).to_numpy()
    edge = np.where(off < 0, table[low], table[high]) - table[OURS].to_numpy()
    score = np.divide(off, edge, where=edge != 0, out=np.where(off == 0, 0.0, np.inf))
    first = time_kept(panel.times, run.facts["splits"]["test"]["first"])
    columns: Columns = run.state.columns
    return columns.rename(table.assign(score=score, fitted=(table["ds"] < first).to_numpy()).reset_index(drop=True))


def _with_steps_after(panel: Panel, steps: int) -> Panel:
    """A panel with rows without values after its last, so that a window of a horizon begins at each of its own.

    As it is where nothing is known of these rows: their covariates, or the step between times.
    """
    is_counted = panel.frequency is not None or not isinstance(panel.times, pd.DatetimeIndex)
    if steps == 0 or panel.covariates is not None or not is_counted:
        return panel
    values = np.vstack([panel.values, np.full((steps, panel.num_variates), np.nan)])
    return dataclasses.replace(panel, values=values, times=panel.times.append(panel.future_times(steps)))
