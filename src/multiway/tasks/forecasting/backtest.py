"""Scores on other rows with a frozen model: a later file, or forecasts from past moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data import Panel, Windows
from multiway.errors import ConfigError, DataError
from multiway.tasks.forecasting.evaluation import batches, measure, score_rows

if TYPE_CHECKING:
    from multiway.tasks.forecasting.run import ForecastRun


def evaluate_panel(run: ForecastRun, panel: Panel) -> list[dict[str, Any]]:
    """Score every window of a panel; scaler and model are as they were fitted.

    Raises:
        DataError: The panel is too short for one window, or holds no value to compare with.
    """
    windows = _windows(run, panel)
    errors = measure(windows, run.model.all_forecasts, run.scaler)
    if not errors["multiway"].count.any():
        raise DataError(
            f"{panel.source}: no value to score stands after the first {run.config.lookback} rows. Give more."
        )
    return score_rows(errors, panel.source, run.scaler, run.mase_scale)


def backtest_frame(
    run: ForecastRun, panel: Panel, cutoffs: int | Sequence[Any] = 10, step: int | None = None
) -> pd.DataFrame:
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
    windows = _windows(run, panel)
    rows = _first_rows(run, panel, cutoffs, step, len(windows))
    ends, steps, variates = rows + run.config.lookback, run.config.horizon, panel.num_variates
    ahead = (ends[:, None] + np.arange(steps)).repeat(variates, 0).ravel()  # in the order cutoff, variate, step
    return pd.DataFrame(
        {
            "unique_id": pd.Index(panel.names).take(np.tile(np.repeat(np.arange(variates), steps), len(ends))),
            "ds": panel.times.take(ahead),
            "cutoff": panel.times.take(np.repeat(ends - 1, steps * variates)),
            "y": panel.values[ahead.reshape(-1, variates, steps)[:, 0]].transpose(0, 2, 1).ravel(),
            **_forecasts(run, windows, torch.from_numpy(rows)),
        },
        copy=False,  # the columns are new already
    )


def _first_rows(
    run: ForecastRun, panel: Panel, cutoffs: int | Sequence[Any], step: int | None, count: int
) -> NDArray[np.int64]:
    """First past row of each cutoff's window."""
    if isinstance(cutoffs, int):
        step = run.config.horizon if step is None else step
        if cutoffs < 1 or step < 1:
            raise ConfigError(f"backtest: cutoffs and step are at least 1. Got cutoffs={cutoffs}, step={step}.")
        return np.arange(count - 1, -1, -step)[:cutoffs][::-1].copy()
    if not len(cutoffs):
        raise ConfigError("backtest: give at least one cutoff.")
    rows = np.array([_row_of(panel, moment) for moment in cutoffs]) - run.config.lookback + 1
    for row, moment in zip(rows, cutoffs, strict=True):
        if not 0 <= row < count:
            first, last = panel.times[run.config.lookback - 1], panel.times[-run.config.horizon - 1]
            raise DataError(
                f"{panel.source}: the cutoff {moment} leaves no room for lookback {run.config.lookback} or horizon "
                f"{run.config.horizon}. Choose one from {first} to {last}."
            )
    return rows


def _row_of(panel: Panel, moment: Any) -> int:
    try:
        wanted = pd.Timestamp(moment) if isinstance(panel.times, pd.DatetimeIndex) else int(moment)
        if isinstance(wanted, pd.Timestamp) and wanted.tz is None:
            wanted = wanted.tz_localize(panel.times.tz)  # type: ignore[attr-defined]
        found = np.flatnonzero(panel.times == wanted)
    except (TypeError, ValueError):
        found = np.empty(0, dtype=np.int64)
    if not len(found):
        raise DataError(
            f"{panel.source}: the cutoff {moment} is none of its times, {panel.times[0]} to {panel.times[-1]}."
        )
    return int(found[-1])


@torch.no_grad()
def _forecasts(run: ForecastRun, windows: Windows, rows: Tensor) -> dict[str, NDArray[np.float64]]:
    """Every model's forecasts in the units of the data, flat in the order cutoff, variate, step."""
    parts: dict[str, list[Tensor]] = {}
    for _, batch in batches(windows, rows):
        for name, forecast in run.model.all_forecasts(batch["past"], batch.get("past_observed")).items():
            parts.setdefault(name, []).append(forecast)
    whole = {name: run.scaler.inverse(torch.cat(each).double().numpy()) for name, each in parts.items()}
    return {name: values.transpose(0, 2, 1).ravel() for name, values in whole.items()}


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


def _windows(run: ForecastRun, panel: Panel) -> Windows:
    lookback, horizon = run.config.lookback, run.config.horizon
    if panel.num_rows < lookback + horizon:
        raise DataError(
            f"{panel.source}: one window needs {lookback + horizon} rows (lookback {lookback}, horizon {horizon}); "
            f"there are {panel.num_rows}. Give more."
        )
    scaled = run.scaler.transform(panel.values)
    missing = np.isnan(scaled)
    values = torch.from_numpy(np.where(missing, 0, scaled).astype(np.float32))
    observed = torch.from_numpy(~missing) if missing.any() else None
    return Windows(values, observed, start=0, stop=panel.num_rows, lookback=lookback, horizon=horizon)
