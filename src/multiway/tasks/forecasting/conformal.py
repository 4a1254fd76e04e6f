"""Intervals: quantiles of the absolute validation errors, per step and variate, or Student's t where they are few."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway import ops
from multiway.data import Windows

Forecast = Callable[[Tensor, Tensor | None], Tensor]
Errors = NDArray[np.float32]
MAX_CELLS = 100_000_000


class Radii(NamedTuple):
    """Half-widths, scaled, and which of them are by Student's t, `(levels, horizon, variates)` both."""

    values: Tensor
    by_student: Tensor


def fit_radii(
    windows: Windows, forecast: Forecast, levels: Sequence[float], earlier: Callable[[], Errors] | None = None
) -> Radii:
    """Half-widths from the errors on validation windows.

    Overlapping windows are not exchangeable and the future may be harder than validation; coverage is therefore
    measured. Where all errors would not fit into memory, every k-th window is used. A cell with too few errors for
    the rank of a level is given a Student-t tail, for which `earlier` brings more of them. See `ops.conformal_radii`
    and `ops.student_radii`.
    """
    if not levels:
        return Radii(*torch.zeros(2, 0, windows.horizon, windows.num_targets))
    stride = math.ceil(len(windows) * windows.horizon * windows.num_targets / MAX_CELLS)
    shares, errors = [level / 100 for level in levels], errors_of(windows, forecast, stride)
    few = ops.is_too_few(errors, shares)
    radii = ops.conformal_radii(errors, shares)
    if few.any():
        every = errors if earlier is None else np.concatenate([errors, earlier()], -1)
        radii = np.where(few, np.maximum.accumulate(np.where(few, ops.student_radii(every, shares), radii)), radii)
    return Radii(torch.from_numpy(radii), torch.from_numpy(few))


@torch.no_grad()
def errors_of(windows: Windows, forecast: Forecast, stride: int = 1) -> Errors:
    """Absolute errors of every k-th window, `(horizon, variates, windows)`; NaN where nothing was observed."""
    errors = []
    for index, batch in windows.batches():
        rows = torch.nonzero(index % stride == 0).flatten()
        past, seen = batch["past"][rows], batch.get("past_observed")
        error = (forecast(past, None if seen is None else seen[rows]) - batch["future"][rows]).abs_()
        observed = batch.get("future_observed")
        error = error if observed is None else torch.where(observed[rows], error, torch.nan)
        errors.append(error.permute(1, 2, 0))
    return torch.cat(errors, -1).numpy()
