"""Forecasts from past moments with a frozen model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data import Panel, Windows, all_windows
from multiway.errors import ConfigError, DataError
from multiway.tasks.forecasting.model import all_forecasts
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run


def backtest_frame(run: Run, panel: Panel, cutoffs: int | Sequence[Any] = 10, step: int | None = None) -> pd.DataFrame:
    """Forecast from several past moments, in batches: `unique_id, ds, cutoff, y, multiway, ridge, …`.

    The model is not fitted again, so cutoffs inside its training rows flatter it.

    Args:
        run: A fitted run.
        panel: History with what came after the cutoffs.
        cutoffs: Last known times; or how many, of which the last is a horizon before the end.
        step: Rows between counted cutoffs; the horizon if not given.

    Raises:
        DataError: The panel is too short, or a cutoff leaves no room for its look-back or horizon.
        ConfigError: No cutoff was asked for.
    """
    windows = all_windows(panel, run.state.scaler, run.config.lookback, run.config.horizon)
    rows = _first_rows(run, panel, cutoffs, step, len(windows))
    names = run.state.targets
    ends, steps, variates = rows + run.config.lookback, run.config.horizon, len(names)
    ahead = (ends[:, None] + np.arange(steps)).repeat(variates, 0).ravel()  # in the order cutoff, variate, step
    return pd.DataFrame(
        {
            "unique_id": pd.Index(names).take(np.tile(np.repeat(np.arange(variates), steps), len(ends))),
            "ds": panel.times.take(ahead),
            "cutoff": panel.times.take(np.repeat(ends - 1, steps * variates)),
            "y": panel.values[ahead.reshape(-1, variates, steps)[:, 0], -variates:].transpose(0, 2, 1).ravel(),
            **_forecasts(run, windows, torch.from_numpy(rows)),
        },
        copy=False,  # the columns are new already
    )


def _first_rows(
    run: Run, panel: Panel, cutoffs: int | Sequence[Any], step: int | None, count: int
) -> NDArray[np.int64]:
    """First past row of each cutoff's window."""
    if isinstance(cutoffs, int):
        step = run.config.horizon if step is None else step
        if cutoffs < 1 or step < 1:
            raise ConfigError(f"backtest: cutoffs and step are at least 1. Got cutoffs={cutoffs}, step={step}.")
        return np.arange(count - 1, -1, -step)[:cutoffs][::-1].copy()
    if not len(cutoffs):
        raise ConfigError("backtest: give at least one cutoff.")
    rows: NDArray[np.int64] = np.array([panel.row_of(moment) for moment in cutoffs]) - run.config.lookback + 1
    outside = [moment for row, moment in zip(rows, cutoffs, strict=True) if not 0 <= row < count]
    if outside:
        raise _no_room(run, panel, outside[0])
    return rows


def _no_room(run: Run, panel: Panel, moment: Any) -> DataError:
    lookback, horizon = run.config.lookback, run.config.horizon
    return DataError(
        f"{panel.source}: the cutoff {moment} leaves no room for lookback {lookback} or horizon {horizon}. "
        f"Choose one from {panel.times[lookback - 1]} to {panel.times[-horizon - 1]}."
    )


@torch.no_grad()
def _forecasts(run: Run, windows: Windows, rows: Tensor) -> dict[str, NDArray[np.float64]]:
    """Every model's forecasts in the units of the data, flat in the order cutoff, variate, step."""
    parts: dict[str, list[Tensor]] = {}
    for _, batch in windows.batches(rows):
        for name, forecast in all_forecasts(run, batch["past"], batch.get("past_observed")).items():
            parts.setdefault(name, []).append(forecast)
    whole = {name: run.state.target_scaler.inverse(torch.cat(each).double().numpy()) for name, each in parts.items()}
    return {name: values.transpose(0, 2, 1).ravel() for name, values in whole.items()}


def score_backtest(frame: pd.DataFrame) -> list[Row]:
    """MSE and MAE of every model by cutoff, in the units of the data."""
    models = [name for name in frame.columns if name not in {"unique_id", "ds", "cutoff", "y"}]
    parts = frame.groupby("cutoff", sort=True)
    return [
        {"cutoff": str(cutoff), "model": model, **_means((part[model] - part["y"]).dropna())}
        for cutoff, part in parts
        for model in models
    ]


def _means(error: pd.Series) -> dict[str, float]:
    return {"mse": float((error**2).mean()), "mae": float(error.abs().mean())}
