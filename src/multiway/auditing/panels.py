"""Audit of a panel that was split, scaled and cut into windows."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from multiway.auditing.agreement import check_agreement
from multiway.auditing.report import Verdict
from multiway.auditing.windows import Statistic, WindowSplit
from multiway.data import Panel, Scaler, Windows

LOOKED_AT = 64
"""Windows of each split whose targets are compared with the series."""
ROUNDING = 1e-4
"""Largest difference in training standard deviations that float32 may make."""

Rows = NDArray[np.float64]


def scaled_windows(panel: Panel, windows: Mapping[str, Windows], scaler: Scaler) -> WindowSplit:
    """Windows by split, under a scaling by mean and standard deviation."""
    first = next(iter(windows.values()))
    return WindowSplit(
        values=panel.values, times=panel.times, names=panel.names, lookback=first.lookback, horizon=first.horizon,
        starts={name: part.start_rows() for name, part in windows.items()},
        used={"mean": scaler.mean, "std": scaler.std}, statistics={"mean": _mean, "std": _deviation},
    )  # fmt: skip


def ranged_windows(panel: Panel, windows: Mapping[str, Windows], scaler: Scaler) -> WindowSplit:
    """Windows by split, under a scaling by smallest and largest value; what chooses the epoch and is scored is one."""
    split = scaled_windows(panel, {name: windows[name] for name in ("train", "validation")}, scaler)
    used = {"smallest": scaler.mean, "largest": scaler.mean + scaler.std}
    statistics: dict[str, Statistic] = {"smallest": _smallest, "largest": _largest}
    return dataclasses.replace(split, used=used, statistics=statistics, reports_choice=True)


def _smallest(rows: Rows) -> Rows:
    return np.asarray(np.min(rows, axis=0, where=~np.isnan(rows), initial=np.inf))


def _largest(rows: Rows) -> Rows:
    return np.asarray(np.max(rows, axis=0, where=~np.isnan(rows), initial=-np.inf))


def _mean(rows: Rows) -> Rows:
    size = _size(rows)
    return np.asarray(np.nanmean(rows / size, axis=0) * size)


def _deviation(rows: Rows) -> Rows:
    """Over n; 1 for what never changes."""
    size = _size(rows)
    return np.where(_largest(rows) > _smallest(rows), np.nanstd(rows / size, axis=0) * size, 1.0)


def _size(rows: Rows) -> Rows:
    """Largest number of each variate, so that no square leaves the range."""
    size = np.maximum(np.abs(_smallest(rows)), np.abs(_largest(rows)))
    return np.where(np.isfinite(size) & (size > 0), size, 1.0)


def check_targets(panel: Panel, windows: Mapping[str, Windows], scaler: Scaler) -> Verdict | None:
    """Whether the targets of windows, unscaled, are the series' own values."""
    agreed, names = [], []
    for split, part in windows.items():
        index = np.unique(np.linspace(0, len(part) - 1, LOOKED_AT).astype(np.int64))
        batch = part.gather(torch.from_numpy(index))
        first = batch["start"].numpy() + part.lookback
        wanted = scaler.transform(panel.values[first[:, None] + np.arange(part.horizon)])[..., -part.num_targets :]
        error = np.abs(batch["future"].double().numpy() - wanted) / (1 + np.abs(wanted))
        agreed.append(np.nan_to_num(error).max((1, 2)) < ROUNDING)
        names += [f"{split} window {place}" for place in index.tolist()]
    same = np.concatenate(agreed)
    return check_agreement(same, np.ones_like(same), "the series' own values", names, noun="targets")
