"""What forecasts may be: not below zero where no value was, and written as whole numbers where all were."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.models.series_units import ROUNDED
from multiway.tasks.forecasting.candidates.intermittent import MOSTLY
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.encode import ForecastState

Values = NDArray[np.float64]


def at_least_zero(
    forecasts: Mapping[str, Tensor], past: Tensor, config: ForecastConfig, state: ForecastState, low: Values
) -> dict[str, Tensor]:
    """Forecasts in scaled units at or above what zero is there; one under two names stays one."""
    lowest = lowest_of(past, config, state, low)
    if not np.isfinite(lowest).any():
        return dict(forecasts)
    bound = torch.from_numpy((lowest - state.target_scaler.mean) / state.target_scaler.std)
    once = {id(each): torch.maximum(each, bound.to(each.dtype)) for each in forecasts.values()}
    return {name: once[id(each)] for name, each in forecasts.items()}


def lowest_of(past: Tensor, config: ForecastConfig, state: ForecastState, low: Values) -> Values:
    """What no forecast of some windows is below, `(windows, 1, targets)` in the units of the file.

    Zero, or minus infinity where a value of the window or of the rows of the fit is below zero.

    Args:
        past: The windows, in scaled units.
        config: Of the run.
        state: Of the run.
        low: The smallest value of each target in the rows that the forecasts are fitted on.
    """
    chosen, scaler = config.output.nonnegative, state.target_scaler
    if chosen != "auto":
        own = np.full((len(past), 1, len(low)), chosen)
    else:
        seen = past[..., -len(low) :].double().amin(1, keepdim=True).numpy() * scaler.std + scaler.mean
        own = (low >= 0) & (state.high > 0) & (seen >= -ROUNDED * scaler.std)
    return np.where(own, 0.0, -np.inf)


def as_written(values: Values, lowest: Values, config: ForecastConfig, state: ForecastState, side: str = "") -> Values:
    """Forecasts `(..., targets)` in the units of the file as a table has them; a `side` is `lo` or `hi` of a band."""
    kept = np.maximum(values, lowest)
    chosen = config.output.whole
    whole = np.array(state.whole) & (state.high > state.low) if chosen == "auto" else np.full(len(state.low), chosen)
    if chosen == "auto" and not side:
        whole &= state.zeros < MOSTLY
    rounded = {"": np.rint, "lo": np.floor, "hi": np.ceil}[side](kept)
    return np.where(whole, rounded, kept)
