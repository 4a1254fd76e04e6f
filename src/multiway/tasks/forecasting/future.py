"""The forecast that a user came for: the steps after the end of the data, with time stamps and intervals."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from multiway.data import Panel
from multiway.errors import ConfigError, DataError

if TYPE_CHECKING:
    from multiway.tasks.forecasting.run import ForecastRun

NAME = "multiway"


def future_frame(run: ForecastRun, panel: Panel, levels: tuple[float, ...] | None, layout: str) -> pd.DataFrame:
    """Forecast after the last row of a panel.

    Long: `unique_id, ds, multiway, multiway-lo-80, multiway-hi-80, …`. Wide: `ds`, a column per series, and its bands
    as `name-lo-80`, `name-hi-80`.

    Raises:
        DataError: The panel has fewer rows than the look-back.
        ConfigError: The layout is neither, or a level was not fitted.
    """
    levels = run.config.levels if levels is None else levels
    columns = forecast_columns(run, panel, levels)
    times = panel.future_times(run.config.horizon)
    if layout == "wide":
        wide = {
            name if column == NAME else f"{name}{column.removeprefix(NAME)}": values[:, index]
            for index, name in enumerate(panel.names)
            for column, values in columns.items()
        }
        if "ds" in wide or len(wide) < len(panel.names) * len(columns):
            raise ConfigError(
                "predict: two columns of the wide table would have one name. Set layout to long (--layout long)."
            )
        return pd.DataFrame({"ds": times, **wide})
    if layout != "long":
        raise ConfigError(f"predict: layout is long or wide, got {layout!r}.")
    repeated = {column: values.T.ravel() for column, values in columns.items()}
    ids = np.repeat(np.array(panel.names, dtype=object), len(times))
    return pd.DataFrame({"unique_id": ids, "ds": times.append([times] * (len(panel.names) - 1)), **repeated})


def at_frequency(panel: Panel, frequency: str | None, *, strict: bool) -> Panel:
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


def forecast_columns(run: ForecastRun, panel: Panel, levels: tuple[float, ...]) -> dict[str, NDArray[np.float64]]:
    """Point forecast and bands, `(horizon, variates)` each, in the units of the data."""
    past, observed = last_window(run, panel)
    with torch.no_grad():
        scaled = run.model(past, observed)[0].double().numpy()
    columns = {NAME: run.scaler.inverse(scaled)}
    for level in levels:
        radius = radius_of(run, level)
        columns[f"{NAME}-lo-{level:g}"] = run.scaler.inverse(scaled - radius)
        columns[f"{NAME}-hi-{level:g}"] = run.scaler.inverse(scaled + radius)
    return columns


def radius_of(run: ForecastRun, level: float) -> NDArray[np.float64]:
    """Half-width of the band of one level, `(horizon, variates)`, scaled."""
    if level not in run.config.levels:
        fitted = ", ".join(f"{known:g}" for known in run.config.levels)
        raise ConfigError(
            f"predict: intervals were fitted for levels {fitted}; got {level:g}. "
            "Set levels in training (--set levels='[80,95]')."
        )
    return run.radii[run.config.levels.index(level)].double().numpy()


def last_window(run: ForecastRun, panel: Panel) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The last look-back of a panel as a batch of one, and which cells are there."""
    lookback = run.config.lookback
    if panel.num_rows < lookback:
        raise DataError(
            f"{panel.source}: a forecast needs {lookback} steps of history; there are {panel.num_rows}. Give more."
        )
    scaled = run.scaler.transform(panel.values[-lookback:])
    missing = np.isnan(scaled)
    past = torch.from_numpy(np.where(missing, 0, scaled).astype(np.float32))[None]
    return past, torch.from_numpy(~missing)[None] if missing.any() else None
