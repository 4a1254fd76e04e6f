"""Covariates after the end of a panel: their plan, read and held to every series and step of the horizon."""

import dataclasses

import numpy as np
import pandas as pd
import torch

from multiway.data import datasets
from multiway.data.findings import Findings, list_some, soundly
from multiway.data.matching import hold_to_training
from multiway.data.options import ReadOptions
from multiway.data.sources.columns import require_columns, sound_times
from multiway.data.sources.frames import source_name
from multiway.data.sources.layouts import load_series_table
from multiway.errors import DataError, Fix, warn
from multiway.models.regression import Regressors
from multiway.tasks.forecasting.calendar import clock_of
from multiway.tasks.forecasting.config import ForecastConfig, Roles
from multiway.tasks.forecasting.covariates import Covariates, LearntCovariates, new_words, read_covariates
from multiway.tasks.forecasting.issued import Rows, read_issued, read_moments, refuse_contradictions
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.read import options_of_training, places_of
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
    if learnt.roles.issued is not None:
        _warn_of_reach(plan or seen.ahead(run.config.lookback, run.config.horizon), panel)
    parts = [(seen, panel.source, "the last rows"), *([] if plan is None else [(plan, _name(source), "the plan")])]
    for covariates, name, word in parts:
        notes = hold_to_training(learnt.far(covariates, word), name, is_allowed=far)
        for words in (*notes, *new_words(covariates, learnt)):
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
    keys = [name for name in (columns.time, *columns.ids, roles.issued) if name is not None]
    require_columns(table.names, [*keys, *roles.future], "future data", findings)
    table, times = sound_times(table, columns.time, options, findings)
    horizon, series = run.config.horizon, places_of(table, columns.ids, panel.names, findings)
    ahead = panel.future_times(horizon)
    if columns.time is None:
        steps = pd.Series(series).groupby(series).cumcount().to_numpy()
    else:
        steps = ahead.get_indexer(times)
    chosen = np.flatnonzero((steps >= 0) & (steps < horizon) & (series >= 0))
    if not len(chosen):
        rule = f"no row is one of the {horizon} steps after {panel.times[-1]}, to {ahead[-1]}"
        rule += f": they are {times.min()} to {times.max()}"
        raise findings.fatal("covariates", rule, "Write times as in the history, and names too.")
    count = panel.num_variates if columns.ids else 1
    if roles.issued is not None:
        row = np.where((steps >= 0) & (steps < horizon), panel.num_rows + steps, -1)
        moments = read_moments(table, roles.issued, str(columns.time), times, options, findings)
        every = read_issued(table, roles, Rows(row, series, *moments), panel.times, options, findings)
        for finding in findings.found:
            if finding.kind == "issued" and finding.severity == "warning":
                warn(f"{findings.source}: {finding.line()}")
        empty = np.full((panel.num_rows + horizon, count, len(every.names)), np.nan)
        last = dataclasses.replace(every, values=empty).ahead(panel.num_rows, horizon)
        _need_all(last, panel, findings.source, has_issues=True)
        return last
    if options.duplicates != "last":
        chosen = chosen[::-1]  # of rows of one cell, the one that is written last stays
    origin = np.full((horizon, count), -1)
    origin[steps[chosen], series[chosen]] = chosen
    if options.duplicates == "error":
        refuse_contradictions(table, roles.future, chosen, origin[steps[chosen], series[chosen]], findings)
    covariates = read_covariates(table, roles, origin, findings)
    if covariates is None:
        return None
    missing = np.isin(covariates.values, options.missing_marks)
    covariates = dataclasses.replace(covariates, values=np.where(missing, np.nan, covariates.values))
    _need_all(covariates, panel, findings.source, has_issues=False)
    return covariates


def _warn_of_reach(ahead: Covariates, panel: Panel) -> None:
    """Say of how many steps nothing had been issued."""
    missing = np.isnan(ahead.values[..., [role == "future" for role in ahead.roles]])
    lacking = np.asarray(missing.any(-1))
    steps = int(lacking.any(1).sum())
    if steps and not lacking.all():
        rule = f"by {panel.times[-1]} nothing had been issued for {steps} of {len(lacking)} steps"
        warn(f"{panel.source}: {rule}; what was known of the season before stands in.")


def _need_all(plan: Covariates, panel: Panel, source: str, *, has_issues: bool) -> None:
    """Refuse a plan without a value of a column that is known ahead; of series without a past none is needed.

    Where columns are issued a value at one step is enough.
    """
    ahead = [place for place, role in enumerate(plan.roles) if role == "future"]
    lacking = np.isnan(plan.values[..., ahead])
    lacking = np.asarray(lacking.all(0, keepdims=True)) if has_issues else lacking
    if lacking.shape[1] > 1:
        lacking &= ~np.asarray(np.isnan(panel.values).all(0))[:, None]
    if not lacking.any():
        return
    step, series, place = (int(part) for part in np.argwhere(lacking)[0])
    times = panel.future_times(len(plan.values))
    whose = f" of {panel.names[series]}" if lacking.shape[1] > 1 else ""
    if has_issues:
        raise DataError(
            f"{source}: by {panel.times[-1]}, the last row of the history, nothing had been issued of "
            f"{plan.names[ahead[place]]}{whose} for {times[0]} to {times[-1]}. Give what had been as future data (",
            Fix("future_df", like="FILE"),
            ").",
        )
    raise DataError(
        f"{source}: {plan.names[ahead[place]]}{whose} is not known at {times[step]}. A forecast of {len(times)} steps "
        f"needs {list_some([plan.names[each] for each in ahead])} at each, to {times[-1]}. Give them as future data (",
        Fix("future_df", like="FILE"),
        ").",
    )


def knows_ahead(panel: Panel, horizon: int) -> bool:
    """Whether the rows of a panel's own table say what is known ahead of a forecast: all, or of issues some."""
    covariates = panel.covariates
    if covariates is None or "future" not in covariates.roles:
        return True
    ahead = [place for place, role in enumerate(covariates.roles) if role == "future"]
    lacking = np.isnan(covariates.ahead(panel.num_rows, horizon).values[..., ahead])
    return not (lacking if covariates.vintages is None else lacking.all(0)).any()


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
    own, lookback, horizon = panel.covariates, config.lookback, config.horizon
    first = (panel.num_rows if end is None else end) - lookback
    times = panel.times[first:].append(panel.future_times(horizon))
    if learnt is None or own is None:
        clock = torch.from_numpy(clock_of(times[lookback : lookback + 1], panel.frequency))
        return Regressors(torch.empty(1, lookback + horizon, 1, 0), torch.empty(1, lookback, 1, 0), clock)
    if plan is None:
        plan = own.ahead(panel.num_rows, horizon)
        _need_all(plan, panel, panel.source, has_issues=own.vintages is not None)
    whole = own.since(first).append(plan, panel.num_rows - first)
    return learnt.encode(whole, times).of_windows(torch.tensor([0]), lookback, horizon)
