"""Scores on other rows with a frozen model: a later file, or forecasts from past moments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from multiway.data import Panel, Windows
from multiway.errors import DataError
from multiway.tasks.forecasting.evaluation import measure, score_rows

if TYPE_CHECKING:
    from multiway.tasks.forecasting.run import ForecastRun


def evaluate_panel(run: ForecastRun, panel: Panel) -> list[dict[str, Any]]:
    """Score every window of a panel; scaler and model are as they were fitted.

    Raises:
        DataError: The panel is too short for one window.
    """
    windows = _windows(run, panel)
    errors = measure(windows, run.model.all_forecasts, run.scaler)
    return score_rows(errors, panel.source, run.scaler, run.mase_scale)


def backtest_frame(run: ForecastRun, panel: Panel, cutoffs: int, step: int | None) -> pd.DataFrame:
    """Forecast from several past moments in one batch: `unique_id, ds, cutoff, y, multiway, ridge, …`.

    The last cutoff is a horizon before the end; the others lie `step` rows apart before it. The model is not
    fitted again, so cutoffs inside its training rows flatter it.

    Raises:
        DataError: The panel is too short.
    """
    windows, step = _windows(run, panel), step or run.config.horizon
    rows = np.arange(len(windows) - 1, -1, -step)[:cutoffs][::-1].copy()
    batch = windows.gather(torch.from_numpy(rows))
    with torch.no_grad():
        forecasts = run.model.all_forecasts(batch["past"], batch.get("past_observed"))
    ends = rows + run.config.lookback
    steps, count = run.config.horizon, panel.num_variates
    times = [panel.times[end : end + steps] for end in ends]
    actual = np.stack([panel.values[end : end + steps] for end in ends])
    columns = {name: run.scaler.inverse(scaled.double().numpy()) for name, scaled in {**forecasts}.items()}
    return pd.DataFrame(
        {
            "unique_id": np.tile(np.repeat(np.array(panel.names, dtype=object), steps), len(ends)),
            "ds": pd.Index(np.concatenate([np.tile(part.to_numpy(), count) for part in times])),
            "cutoff": np.repeat(np.array([panel.times[end - 1] for end in ends]), steps * count),
            "y": _flat(actual),
            **{name: _flat(values) for name, values in columns.items()},
        }
    )


def score_backtest(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """MSE and MAE of every model by cutoff, in the units of the data."""
    models = [name for name in frame.columns if name not in {"unique_id", "ds", "cutoff", "y"}]
    rows = []
    for cutoff, part in frame.groupby("cutoff", sort=True):
        for model in models:
            error = (part[model] - part["y"]).dropna()
            rows.append(
                {
                    "cutoff": str(cutoff),
                    "model": model,
                    "mse": float((error**2).mean()),
                    "mae": float(error.abs().mean()),
                }
            )
    return rows


def _flat(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`(cutoffs, steps, variates)` in the order cutoff, variate, step."""
    return values.transpose(0, 2, 1).ravel()


def _windows(run: ForecastRun, panel: Panel) -> Windows:
    lookback, horizon = run.config.lookback, run.config.horizon
    if panel.num_rows < lookback + horizon:
        raise DataError(
            f"{panel.source}: one window needs {lookback + horizon} rows (lookback {lookback}, horizon {horizon}); the "
            f"file has {panel.num_rows}."
        )
    scaled = run.scaler.transform(panel.values)
    missing = np.isnan(scaled)
    values = torch.from_numpy(np.where(missing, 0, scaled).astype(np.float32))
    observed = torch.from_numpy(~missing) if missing.any() else None
    return Windows(values, observed, start=0, stop=panel.num_rows, lookback=lookback, horizon=horizon)
