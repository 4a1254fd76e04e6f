"""The forecast that a user came for: the steps after the end of the data, with time stamps and intervals."""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from multiway.data import Panel, last_window
from multiway.errors import ConfigError
from multiway.tasks.forecasting.model import model_of
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run


def future_frame(run: Run, panel: Panel, levels: tuple[float, ...] | None, layout: str) -> pd.DataFrame:
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
        return pd.DataFrame({"ds": times, **_wide(run.state.targets, columns)})
    if layout != "long":
        raise ConfigError(f"predict: layout is long or wide, got {layout!r}.")
    repeated = {column: values.T.ravel() for column, values in columns.items()}
    names = run.state.targets
    ids = np.repeat(np.array(names, dtype=object), len(times))
    return pd.DataFrame({"unique_id": ids, "ds": times.append([times] * (len(names) - 1)), **repeated})


def _wide(names: tuple[str, ...], columns: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """A column per series and band, `name-lo-80`."""
    wide = {
        f"{name}{column.removeprefix(OURS)}": values[:, index]
        for index, name in enumerate(names)
        for column, values in columns.items()
    }
    if "ds" in wide or len(wide) < len(names) * len(columns):
        raise ConfigError(
            "predict: two columns of the wide table would have one name. Set layout to long (--layout long)."
        )
    return wide


def forecast_columns(run: Run, panel: Panel, levels: tuple[float, ...]) -> dict[str, NDArray[np.float64]]:
    """Point forecast and bands, `(horizon, targets)` each, in the units of the data."""
    scaler = run.state.target_scaler
    past, observed = last_window(panel, run.state.scaler, run.config.lookback)
    with torch.no_grad():
        scaled = model_of(run)(past, observed)[0].double().numpy()
    columns = {OURS: scaler.inverse(scaled)}
    for level in levels:
        radius = radius_of(run, level)
        columns[f"{OURS}-lo-{level:g}"] = scaler.inverse(scaled - radius)
        columns[f"{OURS}-hi-{level:g}"] = scaler.inverse(scaled + radius)
    return columns


def radius_of(run: Run, level: float) -> NDArray[np.float64]:
    """Half-width of the band of one level, `(horizon, variates)`, scaled."""
    if level not in run.config.levels:
        fitted = ", ".join(f"{known:g}" for known in run.config.levels)
        raise ConfigError(
            f"predict: intervals were fitted for levels {fitted}; got {level:g}. "
            "Set levels in training (--set levels='[80,95]')."
        )
    return run.calibration["radii"][run.config.levels.index(level)].double().numpy()
