"""Later data of a run: read under its policies, in its order of series, at its step, scaled as it learnt."""

from typing import Any

import numpy as np

from multiway.data import Borders, Panel, all_windows
from multiway.data.series import later
from multiway.errors import DataError
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.prepared import Prepared
from multiway.tasks.forecasting.state import ForecastState
from multiway.tasks.protocol import SPLITS


def read_later(config: ForecastConfig, state: ForecastState, source: Any) -> Panel:
    """Read a file or frame as a run read its own; see `multiway.data.series.later`."""
    return later.read_later(source, config.read, state.names, state.frequency)


def prepare_later(config: ForecastConfig, state: ForecastState, source: Any) -> Prepared:
    """Windows over all rows of later data, to score.

    Raises:
        DataError: There are too few rows for one window, or there is no value to compare with.
    """
    panel = read_later(config, state, source)
    windows = all_windows(panel, state.scaler, config.lookback, config.horizon)
    if np.isnan(panel.values[config.lookback :]).all():
        raise DataError(f"{panel.source}: no value to score stands after the first {config.lookback} rows. Give more.")
    whole = (0, panel.num_rows)
    return Prepared(
        panel=panel,
        borders=Borders(train=whole, validation=whole, test=whole),
        scaler=state.scaler,
        windows=dict.fromkeys(SPLITS, windows),
        notes=panel.notes,
    )
