"""Audit of a forecast's data and split, and of a published split that leaks."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from multiway.auditing import AuditReport, Verdict, WindowSplit, check_agreement, check_complete
from multiway.auditing.report import found
from multiway.auditing.windows import verdicts_on_windows
from multiway.data import Panel, Scaler, datasets, read_panel
from multiway.data.series.splits import RANDOM_WINDOWS
from multiway.errors import DataError
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.prepared import Prepared, prepare
from multiway.tasks.run import Run

LOOKED_AT = 64
"""Windows of each split whose targets are compared with the series."""
ROUNDING = 1e-4
"""Largest difference in training standard deviations that float32 may make."""


def audit(config: ForecastConfig, run: Run | None = None) -> AuditReport:
    """Whether the windows of the splits, their scaling and their targets are what they should be.

    Raises:
        DataError: The data cannot be read, or has no window.
        ConfigError: The split contradicts the data.
    """
    source = datasets.locate(config.data or "")
    if config.split.protocol == RANDOM_WINDOWS:
        panel = read_panel(source, config.read)
        return AuditReport.of(_title(panel, config), verdicts_on_windows(random_windows(panel, config)))
    prepared = prepare(config, source)
    scaler = prepared.scaler if run is None else run.state.scaler
    verdicts = verdicts_on_windows(_split_of(prepared, config, scaler))
    return AuditReport.of(
        _title(prepared.panel, config), [*verdicts, *_complete(prepared), _targets(prepared), _unused(prepared)]
    )


def _title(panel: Panel, config: ForecastConfig) -> str:
    steps = f"{config.lookback} steps of past, {config.horizon} ahead"
    return f"{panel.source}: {panel.num_rows:,} rows, {panel.num_variates} variates; {steps}; {config.split.protocol}"


def random_windows(panel: Panel, config: ForecastConfig) -> WindowSplit:
    """NdLinear's published protocol: overlapping windows put at random into halves, MinMax scaling of all rows.

    The score is that of the best validation epoch, so there is no test split.

    Raises:
        DataError: There are not two windows.
    """
    count = panel.num_rows - config.lookback - config.horizon + 1
    if count < 2:
        raise DataError(
            f"{panel.source}: {panel.num_rows} rows hold no two windows. Use a shorter look-back or horizon."
        )
    order = np.random.default_rng(config.training.seed).permutation(count)
    used = {"smallest": _smallest(panel.values), "largest": _largest(panel.values)}
    return WindowSplit(
        values=panel.values, times=panel.times, names=panel.names, lookback=config.lookback, horizon=config.horizon,
        starts={"train": np.sort(order[: count // 2]), "validation": np.sort(order[count // 2 :])},
        used=used, statistics={"smallest": _smallest, "largest": _largest},
    )  # fmt: skip


def _smallest(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.min(rows, axis=0, where=~np.isnan(rows), initial=np.inf))


def _largest(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.max(rows, axis=0, where=~np.isnan(rows), initial=-np.inf))


def _mean(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    size = _size(rows)
    return np.asarray(np.nanmean(rows / size, axis=0) * size)


def _deviation(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over n; 1 for what never changes."""
    size = _size(rows)
    return np.where(_largest(rows) > _smallest(rows), np.nanstd(rows / size, axis=0) * size, 1.0)


def _size(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest number of each variate, so that no square leaves the range."""
    size = np.maximum(np.abs(_smallest(rows)), np.abs(_largest(rows)))
    return np.where(np.isfinite(size) & (size > 0), size, 1.0)


def _split_of(prepared: Prepared, config: ForecastConfig, scaler: Scaler) -> WindowSplit:
    panel = prepared.panel
    return WindowSplit(
        values=panel.values, times=panel.times, names=panel.names, lookback=config.lookback, horizon=config.horizon,
        starts={name: windows.start_rows() for name, windows in prepared.windows.items()},
        used={"mean": scaler.mean, "std": scaler.std}, statistics={"mean": _mean, "std": _deviation},
    )  # fmt: skip


def _complete(prepared: Prepared) -> Iterator[Verdict]:
    """Windows that the rows of validation and test have room for, and those that are there."""
    for name in ("validation", "test"):
        start, stop = getattr(prepared.borders, name)
        windows = prepared.windows[name]
        yield check_complete(len(windows), stop - start - windows.horizon + 1, name)


def _targets(prepared: Prepared) -> Verdict | None:
    """Whether the targets of windows, unscaled, are the series' own values."""
    agreed, names = [], []
    for split, windows in prepared.windows.items():
        index = np.unique(np.linspace(0, len(windows) - 1, LOOKED_AT).astype(np.int64))
        batch = windows.gather(torch.from_numpy(index))
        first = batch["start"].numpy() + windows.lookback
        rows = prepared.panel.values[first[:, None] + np.arange(windows.horizon)]
        wanted = prepared.scaler.transform(rows)
        error = np.abs(batch["future"].double().numpy() - wanted) / (1 + np.abs(wanted))
        agreed.append(np.nan_to_num(error).max((1, 2)) < ROUNDING)
        names += [f"{split} window {place}" for place in index.tolist()]
    same = np.concatenate(agreed)
    return check_agreement(same, np.ones_like(same), "the series' own values", names, noun="targets")


def _unused(prepared: Prepared) -> Verdict | None:
    left = prepared.panel.num_rows - prepared.borders.test[1]
    if not left:
        return None
    return found("unused", "note", f"the last {left:,} rows are in no split, as the protocol has it")
