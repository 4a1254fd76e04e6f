"""The split of NdLinear's published forecasts, kept to show what it is worth: it leaks in three ways."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from multiway.auditing import WindowSplit
from multiway.auditing.windows import Statistic
from multiway.data.scaling import Scaler
from multiway.errors import DataError
from multiway.tasks.forecasting.audit import largest, scale_windows, smallest
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.splitting import PublishedSplit
from multiway.tasks.forecasting.windows import Windows

NAME = "leaky_random_windows"
NOTE = (
    f"{NAME}: windows of training and scores overlap, scaling saw all rows, and the score is of the "
    "windows that chose the epoch, in units of the range of all rows. It says little about later rows."
)


def range_scaler(values: NDArray[np.float64]) -> Scaler:
    """Bring the smallest and the largest value of each variate to 0 and 1: `mean` is the one, `std` their distance.

    A variate that never changes is shifted, and one without any value left alone.
    """
    low, width = smallest(values), largest(values) - smallest(values)
    changes = width > 0
    low, width = np.where(np.isfinite(low), low, 0.0), np.where(changes, width, 1.0)
    return Scaler(low, width, tuple(int(position) for position in np.flatnonzero(~changes)))


def leaky_windows(windows: Windows, seed: int, source: str) -> dict[str, Windows]:
    """Put overlapping windows at random into halves; the one that chooses the epoch is scored as well."""
    count = len(windows)
    if count < 2:
        raise DataError(f"{source}: its rows hold no two windows. Use a shorter look-back or horizon.")
    order = np.random.default_rng(seed).permutation(count)
    first, second = (torch.from_numpy(np.sort(half)) for half in (order[: count // 2], order[count // 2 :]))
    scored = windows.replace(chosen=second)
    return {"train": windows.replace(chosen=first), "validation": scored, "test": scored}


def ranged_windows(panel: Panel, windows: Mapping[str, Windows], scaler: Scaler) -> WindowSplit:
    """Windows by split, under a scaling by smallest and largest value; what chooses the epoch and is scored is one."""
    split = scale_windows(panel, {name: windows[name] for name in ("train", "validation")}, scaler)
    used = {"smallest": scaler.mean, "largest": scaler.mean + scaler.std}
    statistics: dict[str, Statistic] = {"smallest": smallest, "largest": largest}
    return dataclasses.replace(split, used=used, statistics=statistics, reports_choice=True)


SPLIT = PublishedSplit(note=NOTE, scale=range_scaler, split=leaky_windows, audited=ranged_windows)
