"""Later data of a run: read under its policies, in its order of series, at its step, scaled as it learnt."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import torch

from multiway.data import Borders, Panel, ReadOptions, Windows, match_panel, read_panel
from multiway.errors import DataError
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.prepared import Prepared
from multiway.tasks.forecasting.state import ForecastState
from multiway.tasks.protocol import SPLITS


def read_later(config: ForecastConfig, state: ForecastState, source: Any) -> Panel:
    """Read a file or frame under a run's policies and bring its columns into the run's order by name.

    Raises:
        DataError: It lacks a series, or its rows are not as far apart as those of the training.
    """
    panel = match_panel(_read(source, config.read.replace(variates=state.names)), state.names)
    return _at_frequency(panel, state.frequency, strict=config.read.gaps != "ignore")


def _read(source: Any, options: ReadOptions) -> Panel:
    """Read under a run's policies; a fix that is an option is one of training."""
    try:
        return read_panel(source, options)
    except DataError as error:
        if "(--" not in str(error):
            raise
        raise DataError(f"{error} A run keeps the options it was trained with: fix the file, or train anew.") from None


def _at_frequency(panel: Panel, frequency: str | None, *, strict: bool) -> Panel:
    """Take over a run's step, also where the panel is too short to infer one; if strict, only where it follows it.

    Raises:
        DataError: The rows are not that far apart.
    """
    if frequency is None or not isinstance(panel.times, pd.DatetimeIndex):
        return panel
    if not strict or _follows(panel.times, frequency):
        return dataclasses.replace(panel, frequency=frequency)
    raise DataError(
        f"{panel.source}: the run was trained on steps of {frequency}; these rows follow "
        f"{panel.frequency or 'no regular step'}. Resample them, or train a run on them."
    )


def _follows(times: pd.DatetimeIndex, frequency: str) -> bool:
    """Whether most stamps are on the grid of the step, and most of the grid is there."""
    grid = pd.date_range(times[0], times[-1], freq=frequency)
    return bool(len(grid)) and bool(min(times.isin(grid).mean(), grid.isin(times).mean()) > 0.5)


def prepare_later(config: ForecastConfig, state: ForecastState, source: Any) -> Prepared:
    """Windows over all rows of later data, to score.

    Raises:
        DataError: There are too few rows for one window, or there is no value to compare with.
    """
    panel = read_later(config, state, source)
    windows = all_windows(config, state, panel)
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


def all_windows(config: ForecastConfig, state: ForecastState, panel: Panel) -> Windows:
    """Every window of a panel, scaled as the training rows were.

    Raises:
        DataError: There are too few rows for one.
    """
    lookback, horizon = config.lookback, config.horizon
    if panel.num_rows < lookback + horizon:
        raise DataError(
            f"{panel.source}: one window needs {lookback + horizon} rows (lookback {lookback}, horizon {horizon}); "
            f"there are {panel.num_rows}. Give more."
        )
    values, observed = scaled_rows(state, panel)
    return Windows(values, observed, start=0, stop=panel.num_rows, lookback=lookback, horizon=horizon)


def last_window(config: ForecastConfig, state: ForecastState, panel: Panel) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The last look-back of a panel as a batch of one, and which cells are there.

    Raises:
        DataError: The panel has fewer rows.
    """
    rows, lookback = panel.num_rows, config.lookback
    if rows < lookback:
        raise DataError(f"{panel.source}: a forecast needs {lookback} steps of history; there are {rows}. Give more.")
    values, observed = scaled_rows(state, panel.slice(rows - lookback, rows))
    return values[None], None if observed is None else observed[None]


def scaled_rows(state: ForecastState, panel: Panel) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Scaled rows in float32 with 0 for missing cells, and which cells are there; None where all are."""
    scaled = state.scaler.transform(panel.values)
    missing = np.isnan(scaled)
    values = torch.from_numpy(np.where(missing, 0, scaled).astype(np.float32))
    return values, torch.from_numpy(~missing) if missing.any() else None
