"""What forecasts may be: not below zero where no training value was, and written as whole numbers where all were."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.tasks.forecasting.candidates import MOSTLY
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.encode import ForecastState

Values = NDArray[np.float64]


def at_least_zero(forecasts: Mapping[str, Tensor], config: ForecastConfig, state: ForecastState) -> dict[str, Tensor]:
    """Forecasts in scaled units at or above what zero is there; one under two names stays one."""
    lowest = lowest_of(config, state)
    if not np.isfinite(lowest).any():
        return dict(forecasts)
    bound = torch.from_numpy((lowest - state.target_scaler.mean) / state.target_scaler.std)
    once = {id(each): torch.maximum(each, bound.to(each.dtype)) for each in forecasts.values()}
    return {name: once[id(each)] for name, each in forecasts.items()}


def lowest_of(config: ForecastConfig, state: ForecastState) -> Values:
    """What no forecast of a target is below, in the units of the file: zero, or minus infinity."""
    chosen = config.output.nonnegative
    own = (state.low >= 0) & (state.high > 0) if chosen == "auto" else np.full(len(state.low), chosen)
    return np.where(own, 0.0, -np.inf)


def as_written(values: Values, config: ForecastConfig, state: ForecastState, side: str = "") -> Values:
    """Forecasts `(steps, targets)` in the units of the file as a table has them; a `side` is `lo` or `hi` of a band."""
    kept = np.maximum(values, lowest_of(config, state))
    chosen = config.output.whole
    whole = np.array(state.whole) & (state.high > state.low) if chosen == "auto" else np.full(len(state.low), chosen)
    if chosen == "auto" and not side:
        whole &= state.zeros < MOSTLY
    rounded = {"": np.rint, "lo": np.floor, "hi": np.ceil}[side](kept)
    return np.where(whole, rounded, kept)
