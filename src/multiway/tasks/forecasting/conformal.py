"""Split conformal intervals: quantiles of the absolute validation errors, per step and variate."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from multiway import ops
from multiway.data import Windows
from multiway.tasks.protocol import Row

Forecast = Callable[[Tensor, Tensor | None], Tensor]
MAX_CELLS = 100_000_000


@torch.no_grad()
def fit_radii(windows: Windows, forecast: Forecast, levels: tuple[float, ...]) -> Tensor:
    """Half-widths `(levels, horizon, variates)` in scaled units.

    Overlapping windows are not exchangeable and the future may be harder than validation; coverage is therefore
    measured. Where all errors would not fit into memory, every k-th window is used. See `ops.conformal_radii`.
    """
    if not levels:
        return torch.zeros(0, windows.horizon, windows.num_variates)
    stride = math.ceil(len(windows) * windows.horizon * windows.num_variates / MAX_CELLS)
    errors = []
    for index, batch in windows.batches():
        rows = torch.nonzero(index % stride == 0).flatten()
        past, seen = batch["past"][rows], batch.get("past_observed")
        error = (forecast(past, None if seen is None else seen[rows]) - batch["future"][rows]).abs_()
        observed = batch.get("future_observed")
        error = error if observed is None else torch.where(observed[rows], error, torch.nan)
        errors.append(error.permute(1, 2, 0))
    return torch.from_numpy(ops.conformal_radii(torch.cat(errors, -1).numpy(), [level / 100 for level in levels]))


@torch.no_grad()
def measure_coverage(windows: Windows, forecast: Forecast, radii: Tensor) -> tuple[Tensor, Tensor]:
    """Share of targets inside the bands, `(levels, horizon)`, and mean scaled width, `(levels,)`."""
    inside = torch.zeros(len(radii), windows.horizon, dtype=torch.float64)
    count = torch.zeros(windows.horizon, dtype=torch.float64)
    for _, batch in windows.batches():
        error = (forecast(batch["past"], batch.get("past_observed")) - batch["future"]).abs()
        keep = batch.get("future_observed", torch.ones_like(error, dtype=torch.bool))
        inside += ((error[None] <= radii[:, None]) & keep[None]).sum((1, 3))
        count += keep.sum((0, 2))
    return inside / count.clamp_min(1), 2 * radii.double().mean((1, 2))


def coverage_rows(windows: Windows, forecast: Forecast, radii: Tensor, levels: tuple[float, ...]) -> list[Row]:
    """Coverage in percent and width of the bands of every level, the coverage also by step."""
    inside, width = measure_coverage(windows, forecast, radii)
    return [
        {
            "level": level,
            "actual": float(inside[i].mean() * 100),
            "width": float(width[i]),
            "by_step": (inside[i] * 100).tolist(),
        }
        for i, level in enumerate(levels)
    ]
