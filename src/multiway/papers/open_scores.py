"""Scores of forecasts as fev-bench and GIFT-Eval define them, and the seasonal naive forecast that both divide by."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from multiway.papers.open_tasks import Floats, Item, OpenTask, windows_of

TENTHS = tuple(tenth / 10 for tenth in range(1, 10))
QUANTILES = (0.025, *TENTHS, 0.975)
"""Of a forecast: the tenths that are scored, and the ends of the bands of 80 and 95 %."""
BANDS = {"coverage_80": (1, -2), "coverage_95": (0, -1)}


@dataclasses.dataclass(frozen=True)
class Actual:
    """What stands in the windows of an item.

    actual: `(windows, horizon, targets)`; NaN where missing.
    scale: Mean absolute error of the seasonal naive forecast in all rows before each window, `(windows, targets)`.
    """

    actual: Floats
    scale: Floats

    @classmethod
    def of(cls, task: OpenTask, item: Item) -> "Actual":
        """Cut them from an item."""
        values, starts = item.values, [*windows_of(task, item)]
        moved = np.abs(values[task.season :] - values[: -task.season])
        scale = [np.nanmean(moved[: start - task.season], 0) for start in starts]
        return cls(np.stack([values[start : start + task.horizon] for start in starts]), np.stack(scale))


def naive_quantiles(task: OpenTask, item: Item) -> Floats:
    """Quantiles of every window, `(windows, horizon, targets, QUANTILES)`.

    Normal around the last season, with the deviation of the forecast's errors in the rows before, which grows by the
    root of the seasons ahead, as statsforecast has it.
    """
    values = item.values
    return np.stack([_naive(values[:start][-task.context :], task) for start in windows_of(task, item)])


def _naive(past: Floats, task: OpenTask) -> Floats:
    from scipy.special import ndtri  # takes longer to import than most of what is here

    steps = np.arange(task.horizon)
    errors = past[task.season :] - past[: -task.season]
    spread = np.sqrt(np.nanmean(errors**2, 0)) * np.sqrt(steps // task.season + 1)[:, None]
    levels: Floats = past[-task.season :][steps % task.season, :, None] + spread[..., None] * ndtri(QUANTILES)
    return levels


def scores_of(task: OpenTask, items: Sequence[Actual], levels: Sequence[Floats]) -> dict[str, float]:
    """MASE and the losses of quantiles, by the names of the published file, and shares of values within the bands.

    fev-bench takes WAPE and WQL of each window and target and averages them; GIFT-Eval divides sums over all windows.
    """
    errors = [np.abs(each.actual - own[..., 5]) for each, own in zip(items, levels, strict=True)]
    losses = [_losses(each.actual, own[..., 1:-1]) for each, own in zip(items, levels, strict=True)]
    sizes = [np.abs(each.actual) for each in items]
    if task.benchmark == "fev":
        scaled = {"MASE": _scaled(errors, items), "SQL": _scaled(losses, items)}
        shares = {"WAPE": _of_windows(errors, sizes), "WQL": _of_windows(losses, sizes)}
    else:
        scaled = {"MASE": _scaled(errors, items)}
        shares = {"WQL": _of_all(losses, sizes), "ND": _of_all(errors, sizes)}
    return {**scaled, **shares, **{name: _coverage(items, levels, *ends) for name, ends in BANDS.items()}}


def _losses(actual: Floats, levels: Floats) -> Floats:
    """Twice the pinball loss, mean over the tenths."""
    shares, error = np.array(TENTHS), actual[..., None] - levels
    return np.asarray(2 * np.maximum(shares * error, (shares - 1) * error).mean(-1))


def _scaled(errors: Sequence[Floats], items: Sequence[Actual]) -> float:
    parts = [np.nanmean(error, 1) / each.scale for error, each in zip(errors, items, strict=True)]
    return float(np.nanmean(np.concatenate(parts, 1)))


def _of_windows(errors: Sequence[Floats], sizes: Sequence[Floats]) -> float:
    """Of each window and target over all items; a target that is zero throughout a window counts nowhere."""
    sums, weights = (np.nansum(np.stack(parts), (0, 2)) for parts in (errors, sizes))
    return float(np.mean(sums[weights > 0] / weights[weights > 0]))


def _of_all(errors: Sequence[Floats], sizes: Sequence[Floats]) -> float:
    sums, weights = (sum(float(np.nansum(part)) for part in parts) for parts in (errors, sizes))
    return sums / weights


def _coverage(items: Sequence[Actual], levels: Sequence[Floats], low: int, high: int) -> float:
    """Share of values between two of the levels."""
    held = [
        ((own[..., low] <= each.actual) & (each.actual <= own[..., high]))[~np.isnan(each.actual)]
        for each, own in zip(items, levels, strict=True)
    ]
    return float(np.concatenate(held).mean())
