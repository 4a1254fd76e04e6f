"""Covariates after the end of a panel: their plan, read and held to every series and step of the horizon."""

import dataclasses

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from multiway.data import datasets
from multiway.data.findings import Findings, list_some, soundly
from multiway.data.matching import hold_to_training
from multiway.data.options import ReadOptions
from multiway.data.sources.columns import RawTable, require_columns, sound_times
from multiway.data.sources.frames import source_name
from multiway.data.sources.layouts import load_series_table
from multiway.errors import DataError, Fix, warn
from multiway.models.regression import Regressors
from multiway.tasks.forecasting.calendar import clock_of
from multiway.tasks.forecasting.config import ForecastConfig, Roles
from multiway.tasks.forecasting.covariates import Covariates, LearntCovariates, new_words, read_covariates
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.read import labels_of, options_of_training
from multiway.tasks.run import Run


def read_plan(run: Run, panel: Panel, source: object, *, far: bool = False) -> Covariates | None:
    """The plan in a file or frame; None where none is given.

    Words that the training rows lack, and numbers far from theirs, are named in warnings.

    Args:
        run: A fitted run.
        panel: The history.
        source: The plan.
        far: Whether numbers much too far from the training are answered all the same.

    Raises:
        DataError: It is given and the run has no covariate that is known ahead, or it is no sound table.
    """
    learnt: LearntCovariates | None = run.state.covariates
    plan = None if source is None else _plan(run, panel, source, learnt)
    seen = panel.slice(-run.config.lookback, panel.num_rows).covariates
    if learnt is None or seen is None:
        return plan
    parts = [(seen, panel.source, "the last rows"), *([] if plan is None else [(plan, _name(source), "the plan")])]
    for covariates, name, word in parts:
        told = hold_to_training(learnt.far(covariates, word), name, is_allowed=far)
        for words in (*told, *new_words(covariates, learnt)):
            warn(f"{name}: {words}.")
    return plan


def _name(source: object) -> str:
    return source_name(datasets.locate(source) if isinstance(source, str) else source)


def _plan(run: Run, panel: Panel, source: object, learnt: LearntCovariates | None) -> Covariates | None:
    """The plan in a file or frame."""
    if learnt is None or not learnt.roles.future:
        raise DataError(
            "predict: this run has no covariate that is known ahead, so it takes no future data. Train with future (",
            Fix("future", like="NAME,NAME"),
            "), or leave it out.",
        )
    options = options_of_training(source, run.config.read, run.state.columns)
    source = datasets.locate(source) if isinstance(source, str) else source
    roles = learnt.roles.replace(past=(), static=())
    return soundly(source_name(source), lambda findings: _read(panel, source, options, run, roles, findings))


def _read(
    panel: Panel, source: object, options: ReadOptions, run: Run, roles: Roles, findings: Findings
) -> Covariates | None:
    """Cells of the table at every step and series of the horizon."""
    columns = run.state.columns
    table = load_series_table(source, options, columns.time, findings)
    keys = [name for name in (columns.time, *columns.ids) if name is not None]
    require_columns(table.names, [*keys, *roles.future], "future data", findings)
    table, times = sound_times(table, columns.time, options, findings)
    horizon, is_long = run.config.horizon, bool(columns.ids)
    names, codes = labels_of(table, columns.ids, findings) if is_long else ([0], np.zeros(len(times), np.intp))
    ahead = panel.future_times(horizon)
    if columns.time is None:
        steps = pd.Series(codes).groupby(codes).cumcount().to_numpy()
    else:
        steps = ahead.get_indexer(times)
    series = pd.Index(panel.names if is_long else [0]).get_indexer(pd.Index(names))[codes]
    chosen = np.flatnonzero((steps >= 0) & (steps < horizon) & (series >= 0))
    if not len(chosen):
        rule = f"no row is one of the {horizon} steps after {panel.times[-1]}, to {ahead[-1]}"
        rule += f": they are {times.min()} to {times.max()}"
        raise findings.fatal("covariates", rule, "Write times as in the history, and names too.")
    if options.duplicates != "last":
        chosen = chosen[::-1]  # of rows of one cell, the one that is written last stays
    origin = np.full((horizon, panel.num_variates if is_long else 1), -1)
    origin[steps[chosen], series[chosen]] = chosen
    if options.duplicates == "error":
        _refuse_contradictions(table, list(roles.future), chosen, origin[steps[chosen], series[chosen]], findings)
    covariates = read_covariates(table, roles, origin, findings)
    if covariates is None:
        return None
    missing = np.isin(covariates.values, options.sentinels)
    covariates = dataclasses.replace(covariates, values=np.where(missing, np.nan, covariates.values))
    _need_all(covariates, panel, findings.source)
    return covariates


def _refuse_contradictions(
    table: RawTable, names: list[str], rows: NDArray[np.int64], kept: NDArray[np.int64], findings: Findings
) -> None:
    """Refuse rows that say something else than the row that is kept of the same series and step."""
    one, other = (table.frame[names].iloc[each].reset_index(drop=True) for each in (rows, kept))
    different = (one != other) & ~(one.isna() & other.isna())
    if different.any(axis=None):
        places = [table.place(int(row)) for row in rows[different.any(axis=1)]]
        rule = f"rows of one time and series differ in {list_some(different.columns[different.any()])}"
        raise findings.fatal("duplicates", rule, "Leave one of them.", places, count=len(places))


def _need_all(plan: Covariates, panel: Panel, source: str) -> None:
    """Refuse a plan without a value of a column that is known ahead; of series without a past none is needed."""
    ahead = [place for place, role in enumerate(plan.roles) if role == "future"]
    lacking = np.isnan(plan.values[..., ahead])
    if lacking.shape[1] > 1:
        lacking &= ~np.asarray(np.isnan(panel.values).all(0))[:, None]
    if not lacking.any():
        return
    step, series, place = (int(part) for part in np.argwhere(lacking)[0])
    times = panel.future_times(len(plan.values))
    whose = f" of {panel.names[series]}" if lacking.shape[1] > 1 else ""
    raise DataError(
        f"{source}: {plan.names[ahead[place]]}{whose} is not known at {times[step]}. A forecast of {len(times)} steps "
        f"needs {list_some([plan.names[each] for each in ahead])} at each, to {times[-1]}. Give them as future data (",
        Fix("future_df", like="FILE"),
        ").",
    )


def knows_ahead(panel: Panel, horizon: int) -> bool:
    """Whether the rows of a panel's own table say all that is known ahead of a forecast."""
    covariates = panel.covariates
    if covariates is None or "future" not in covariates.roles:
        return True
    ahead = [place for place, role in enumerate(covariates.roles) if role == "future"]
    own = covariates.values[panel.num_rows : panel.num_rows + horizon, :, ahead]
    return len(own) == horizon and not np.isnan(own).any()


def window_ahead(
    config: ForecastConfig,
    learnt: LearntCovariates | None,
    panel: Panel,
    plan: Covariates | None,
    end: int | None = None,
) -> Regressors:
    """Covariates of the last look-back of a panel and of the horizon after it, as a batch of one.

    With an `end` it is a row of the panel that the horizon begins with.
    """
    own, horizon = panel.covariates, config.horizon
    stop = panel.num_rows if end is None else end
    first, length = stop - config.lookback, config.lookback + horizon
    clock = torch.from_numpy(clock_of(panel.times[stop:].append(panel.future_times(1))[:1], panel.frequency))
    if learnt is None or own is None:
        return Regressors(torch.empty(1, length, 1, 0), torch.empty(1, config.lookback, 1, 0), clock)
    seen = learnt.encode(own.since(first), panel.times[first:])
    if plan is None:
        plan = _beyond(own, panel.num_rows, horizon)
        _need_all(plan, panel, panel.source)
    known = torch.cat([seen.known, learnt.encode(plan, panel.future_times(horizon)).known])[:length]
    return Regressors(known[None], seen.seen[None, : config.lookback], clock)


def _beyond(own: Covariates, row: int, horizon: int) -> Covariates:
    """Rows after one, of which those that are not there are missing."""
    values = np.full((horizon, *own.values.shape[1:]), np.nan)
    there = own.values[row : row + horizon]
    values[: len(there)] = there
    return dataclasses.replace(own, values=values)
