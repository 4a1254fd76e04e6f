"""Audit of a forecast's data and split, and of a published split that leaks."""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from multiway.auditing import AuditReport, Verdict, check_complete, check_targets, ranged_windows, scaled_windows
from multiway.auditing.report import found
from multiway.auditing.windows import verdicts_on_windows
from multiway.data import Panel, Scaler, datasets
from multiway.data.series.splits import LEAKY
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.prepared import Prepared, prepare
from multiway.tasks.run import Run


def audit(config: ForecastConfig, run: Run | None = None) -> AuditReport:
    """Whether the windows of the splits, their scaling and their targets are what they should be.

    Raises:
        DataError: The data cannot be read, or has no window.
        ConfigError: The split contradicts the data.
    """
    prepared = prepare(config, datasets.locate(config.data or ""))
    panel, learnt = prepared.panel, [name not in prepared.young for name in prepared.panel.names]
    scaler = prepared.scaler if run is None else run.state.scaler
    if config.split.protocol == LEAKY:
        leaky = ranged_windows(panel, prepared.windows, scaler)
        return AuditReport.of(_title(panel, config), verdicts_on_windows(leaky))
    names = tuple(itertools.compress(panel.names, learnt))
    seen = dataclasses.replace(panel, values=panel.values[:, learnt], names=names)
    split = scaled_windows(seen, prepared.windows, Scaler(scaler.mean[learnt], scaler.std[learnt]))
    masked = dataclasses.replace(panel, values=np.where(learnt, panel.values, np.nan))
    targets = check_targets(masked, prepared.windows, prepared.scaler)
    verdicts = [*verdicts_on_windows(split), *_complete(prepared), targets, _unused(prepared)]
    return AuditReport.of(_title(panel, config), verdicts)


def _title(panel: Panel, config: ForecastConfig) -> str:
    steps = f"{config.lookback} steps of past, {config.horizon} ahead"
    return f"{panel.source}: {panel.num_rows:,} rows, {panel.num_variates} variates; {steps}; {config.split.protocol}"


def _complete(prepared: Prepared) -> Iterator[Verdict]:
    """Windows that the rows of validation and test have room for, and those that are there."""
    for name in ("validation", "test"):
        start, stop = prepared.borders.by_name()[name]
        windows = prepared.windows[name]
        yield check_complete(len(windows), stop - start - windows.horizon + 1, name)


def _unused(prepared: Prepared) -> Verdict | None:
    left = prepared.panel.num_rows - prepared.borders.test[1]
    if not left:
        return None
    return found("unused", "note", f"the last {left:,} rows are in no split, as the protocol has it")
