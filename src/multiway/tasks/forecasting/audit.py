"""Audit of a forecast's data and split, as windows over a panel."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from multiway.auditing import AuditReport, Verdict, check_complete
from multiway.auditing.agreement import check_agreement
from multiway.auditing.look_ahead import check_known_ahead
from multiway.auditing.report import finding, verdict_on
from multiway.auditing.windows import WindowSplit, verdicts_on_windows
from multiway.data import Scaler, datasets
from multiway.tasks.forecasting.calendar import season_of
from multiway.tasks.forecasting.config import ForecastConfig, find_published_split
from multiway.tasks.forecasting.encode import PreparedPanel, prepare_panel
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.windows import Windows
from multiway.tasks.run import Run


def audit_forecast(config: ForecastConfig, run: Run | None = None) -> AuditReport:
    """Whether the windows of the splits, their scaling and their targets are what they should be."""
    prepared = prepare_panel(config, datasets.locate(config.data or ""))
    panel, learnt = prepared.panel, [name not in prepared.young for name in prepared.panel.names]
    scaler = prepared.scaler if run is None else run.state.scaler
    other = find_published_split(config.split.protocol)
    if other is not None:
        leaky = other.audited(panel, prepared.windows, scaler)
        return AuditReport.of(_title(panel, config), verdicts_on_windows(leaky))
    seen = dataclasses.replace(panel, values=panel.values[:, learnt], names=(*itertools.compress(panel.names, learnt),))
    split = scale_windows(seen, prepared.windows, Scaler(scaler.mean[learnt], scaler.std[learnt]))
    masked = dataclasses.replace(panel, values=np.where(learnt, panel.values, np.nan))
    targets = check_targets(masked, prepared.windows, prepared.scaler)
    verdicts = [
        *verdicts_on_windows(split),
        *_complete(prepared),
        targets,
        _check_known(config, prepared),
        _check_issued(prepared.panel),
        _check_unused(prepared),
    ]
    return AuditReport.of(_title(panel, config), verdicts)


def _title(panel: Panel, config: ForecastConfig) -> str:
    steps = f"{config.lookback} steps of past, {config.horizon} ahead"
    return f"{panel.source}: {panel.num_rows:,} rows, {panel.num_variates} variates; {steps}; {config.split.protocol}"


def _complete(prepared: PreparedPanel) -> Iterator[Verdict]:
    """Windows that the rows of validation and test have room for, and those that are there."""
    for name in ("validation", "test"):
        start, stop = prepared.borders.by_name()[name]
        windows = prepared.windows[name]
        yield check_complete(len(windows), stop - start - windows.horizon + 1, name)


def _check_unused(prepared: PreparedPanel) -> Verdict | None:
    left = prepared.panel.num_rows - prepared.borders.test[1]
    if not left:
        return None
    return finding("unused", "note", f"the last {left:,} rows are in no split, as the protocol has it")


def _check_known(config: ForecastConfig, prepared: PreparedPanel) -> Verdict | None:
    """Whether covariates of numbers that are said to be known ahead hold a target."""
    panel, covariates = prepared.panel, prepared.panel.covariates
    if covariates is None:
        return None
    ahead = {
        name: covariates.values[: panel.num_rows, :, place]
        for place, (name, role) in enumerate(zip(covariates.names, covariates.roles, strict=True))
        if role == "future" and name not in covariates.words
    }
    targets = prepared.windows["train"].num_targets
    values, season = panel.values[:, -targets:], config.season or season_of(panel.frequency)
    own = {name: rows if rows.shape[1] == 1 else rows[:, -targets:] for name, rows in ahead.items()}
    return check_known_ahead(values, panel.names[-targets:], own, season) if own else None


def _check_issued(panel: Panel) -> Verdict | None:
    """Whether what is said to be known ahead was first issued before the time that it is for.

    A value that is measured then, or after it, is no forecast of it.
    """
    covariates, own = panel.covariates, np.arange(1, panel.num_rows)[:, None]  # of the first row none can tell
    if covariates is None or covariates.vintages is None:
        return None
    names, places = covariates.columns_of("future"), []
    for name in names:
        first = covariates.first_known(name, panel.num_rows)[1:]
        late, there = (first >= own) & (first < panel.num_rows), first < panel.num_rows
        if late.sum() > FEW_LATE * there.sum():
            places.append(f"{name}: {late.sum() / there.sum():.0%} of its times")
    return verdict_on(
        places,
        f"what is said to be known ahead was issued before the time that it is for ({len(names)} looked at)",
        "issued",
        "columns that are said to be known ahead have final values: they were first issued at the time that they are "
        "for, or after it",
        "Name them as past, or give what had been forecast.",
        severity="warning",
    )


FEW_LATE = 0.05
"""Share of the times of a column that may have no forecast, as the first of a file have none."""
LOOKED_AT = 64
"""Windows of each split whose targets are compared with the series."""
ROUNDING = 1e-4
"""Largest difference in training standard deviations that float32 may make."""

Rows = NDArray[np.float64]


def scale_windows(panel: Panel, windows: Mapping[str, Windows], scaler: Scaler) -> WindowSplit:
    """Windows by split, under a scaling by mean and standard deviation."""
    first = next(iter(windows.values()))
    return WindowSplit(
        values=panel.values,
        times=panel.times,
        names=panel.names,
        lookback=first.lookback,
        horizon=first.horizon,
        starts={name: part.start_rows() for name, part in windows.items()},
        used={"mean": scaler.mean, "std": scaler.std},
        statistics={"mean": _mean, "std": _deviation},
    )


def smallest(rows: Rows) -> Rows:
    """Of each variate."""
    return np.asarray(np.min(rows, axis=0, where=~np.isnan(rows), initial=np.inf))


def largest(rows: Rows) -> Rows:
    """Of each variate."""
    return np.asarray(np.max(rows, axis=0, where=~np.isnan(rows), initial=-np.inf))


def _mean(rows: Rows) -> Rows:
    size = _size(rows)
    return np.asarray(np.nanmean(rows / size, axis=0) * size)


def _deviation(rows: Rows) -> Rows:
    """Over n; 1 for what never changes."""
    size = _size(rows)
    return np.where(largest(rows) > smallest(rows), np.nanstd(rows / size, axis=0) * size, 1.0)


def _size(rows: Rows) -> Rows:
    """Largest number of each variate, so that no square leaves the range."""
    size = np.maximum(np.abs(smallest(rows)), np.abs(largest(rows)))
    return np.where(np.isfinite(size) & (size > 0), size, 1.0)


def check_targets(panel: Panel, windows: Mapping[str, Windows], scaler: Scaler) -> Verdict | None:
    """Whether the targets of windows, unscaled, are the series' own values."""
    agreed, names = [], []
    for split, part in windows.items():
        index = np.unique(np.linspace(0, len(part) - 1, LOOKED_AT).astype(np.int64))
        batch = part.gather(torch.from_numpy(index))
        rows = batch["start"].numpy()[:, None] + np.arange(part.lookback, part.lookback + part.horizon)
        expected = scaler.transform(panel.values[rows])[..., -part.num_targets :]
        error = np.abs(batch["future"].double().numpy() - expected) / (1 + np.abs(expected))
        agreed.append(np.nan_to_num(error).max((1, 2)) < ROUNDING)
        names += [f"{split} window {position}" for position in index]
    same = np.concatenate(agreed)
    return check_agreement(same, np.ones_like(same), "the series' own values", names, noun="targets")
