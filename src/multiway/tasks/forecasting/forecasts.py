"""Forecasts with time stamps and intervals: after the end of the data, and from past moments."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway import files
from multiway.data.findings import list_some
from multiway.data.scaling import Floats
from multiway.data.writing import write_table
from multiway.errors import ConfigError, DataError, Fix
from multiway.models.regression import Regressors
from multiway.models.series_units import ROUNDED
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.forecasting.bands import Bands, in_widths, mean_sizes, stretch
from multiway.tasks.forecasting.breaks import join_breaks
from multiway.tasks.forecasting.calendar import time_kept
from multiway.tasks.forecasting.candidate import others_in
from multiway.tasks.forecasting.candidates.intermittent import MOSTLY
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.covariates import Covariates
from multiway.tasks.forecasting.encode import ForecastState, PreparedPanel, complete
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.forecasting.others import absent_models
from multiway.tasks.forecasting.panel import Panel, lacking
from multiway.tasks.forecasting.plan import window_ahead
from multiway.tasks.forecasting.processes import join_frames
from multiway.tasks.forecasting.refit import bands_for, fit_before
from multiway.tasks.forecasting.windows import Windows, all_windows, history_of, inputs_of, last_window
from multiway.tasks.options import hold_moments
from multiway.tasks.protocol import OURS, Context, Row
from multiway.tasks.run import Run
from multiway.terminal import tell
from multiway.training.processes import is_main

FIRST = "forecast.parquet"
"""In the state of a run: what ridge forecasts, until the run is finished."""
Inputs = tuple[Tensor, Tensor | None, Regressors]
"""A past, which cells of it are there, and covariates."""
Cutoffs = int | Sequence[object]
"""Last known times, or how many."""


def all_forecasts(
    run: Run,
    past: Tensor,
    observed: Tensor | None = None,
    covariates: Regressors | None = None,
    *,
    use: str = "test",
    fitted: WeighedForecasts | None = None,
    low: Floats | None = None,
) -> dict[str, Tensor]:
    """The chosen forecast, `multiway`, and every baseline's.

    By what was `fitted` on rows whose smallest values are `low`; if not given, by what a use is fitted on.
    """
    fitted = model_of(run).fitted_for(use) if fitted is None else fitted
    low = run.state.low_for(use) if low is None else low
    baselines = {name: model(past, observed) for name, model in run.models.items() if name != OURS}
    forecasts = {**fitted.all_forecasts(past, observed, covariates), **baselines}
    return at_least_zero(forecasts, past, run.config, run.state, low)


def at_least_zero(
    forecasts: Mapping[str, Tensor], past: Tensor, config: ForecastConfig, state: ForecastState, low: Floats
) -> dict[str, Tensor]:
    """Forecasts in scaled units at or above what zero is there; one under two names stays one."""
    lowest = lowest_of(past, config, state, low)
    if not np.isfinite(lowest).any():
        return dict(forecasts)
    bound = torch.from_numpy((lowest - state.target_scaler.mean) / state.target_scaler.std)
    once = {id(each): torch.maximum(each, bound.to(each.dtype)) for each in forecasts.values()}
    return {name: once[id(each)] for name, each in forecasts.items()}


def lowest_of(past: Tensor, config: ForecastConfig, state: ForecastState, low: Floats) -> Floats:
    """What no forecast of some windows is below, `(windows, 1, targets)` in the units of the file.

    Zero, or minus infinity where a value of the window or of the rows of the fit is below zero.

    Args:
        past: The windows, in scaled units.
        config: Of the run.
        state: Of the run.
        low: The smallest value of each target in the rows that the forecasts are fitted on.
    """
    chosen, scaler = config.output.nonnegative, state.target_scaler
    if chosen != "auto":
        own = np.full((len(past), 1, len(low)), chosen)
    else:
        least, most = (
            end.double().numpy() * scaler.std + scaler.mean
            for end in past[..., -len(low) :].aminmax(dim=1, keepdim=True)
        )
        own = (low >= 0) & ((state.high > 0) | (most > ROUNDED * scaler.std)) & (least >= -ROUNDED * scaler.std)
    return np.where(own, 0.0, -np.inf)


def as_written(
    values: Floats, lowest: Floats, config: ForecastConfig, state: ForecastState, use: str, side: str = ""
) -> Floats:
    """Forecasts `(..., targets)` in the units of the file as a table has them; a `side` is `lo` or `hi` of a band.

    What all rows are that a use is fitted on, its forecasts are: whole numbers, unless most are zero.
    """
    kept = np.maximum(values, lowest)
    chosen, (whole, zeros) = config.output.whole, state.whole_for(use)
    whole = whole & (state.high_for(use) > state.low_for(use)) if chosen == "auto" else np.full(len(state.low), chosen)
    if chosen == "auto" and not side:
        whole &= zeros < MOSTLY
    rounded = {"": np.rint, "lo": np.floor, "hi": np.ceil}[side](kept)
    return np.where(whole, rounded, kept)


def future_frame(
    run: Run,
    panel: Panel,
    levels: Sequence[float] | None,
    layout: str,
    quantiles: Sequence[float] = (),
    plan: Covariates | None = None,
) -> pd.DataFrame:
    """Forecast after the last row of a panel.

    Long: `unique_id, ds, multiway, multiway-lo-80, multiway-hi-80, …, multiway-q-10, …`. Wide: `ds`, a column per
    series, and its bands as `name-lo-80`, `name-hi-80`. Series without a value in the panel are left out. Without
    levels these are the run's, or none with quantiles. `plan` has the next rows of what is known ahead.
    """
    levels = (() if quantiles else run.config.levels) if levels is None else levels
    there = np.asarray(~np.isnan(panel.values[:, -len(run.state.targets) :]).all(axis=0))
    every = forecast_columns(run, panel, levels, quantiles, plan=plan)
    columns = {name: values[:, there] for name, values in every.items()}
    names = tuple(itertools.compress(run.state.targets, list(map(bool, there))))
    times = panel.future_times(run.config.horizon)
    if layout == "wide":
        return pd.DataFrame({"ds": times, **_wide(names, columns)})
    if layout != "long":
        raise ConfigError(f"predict: layout is long or wide, got {layout!r}.")
    return _long(names, columns, times)


def keep_first(run: Run, prepared: PreparedPanel, context: Context) -> None:
    """Write what ridge forecasts, in the units of the data, while the rest is trained; it goes with the state."""
    shared = prepared.panel.share is not None
    if context.folder is None or not (shared or is_main()):
        return
    past, observed = last_window(prepared.panel, run.state.scaler, run.config.lookback)
    model_of(run).floor.set_weight(prepared.ridge.weight)
    with torch.no_grad():
        scaled = model_of(run).ridge(past, observed)[0].double().numpy()
    columns = {OURS: run.state.target_scaler.inverse(scaled)}
    frame = _long(run.state.targets, columns, prepared.panel.future_times(run.config.horizon))
    frame = join_frames(frame) if shared else frame
    if not is_main():
        return
    path = context.folder.state_dir / FIRST
    files.make_folder(path.parent, parents=False)
    write_table(run.state.columns.rename(frame), path)
    if context.progress:
        tell(f"first forecast, by ridge: {path}")


def _long(names: Sequence[str], columns: dict[str, NDArray[np.float64]], times: pd.Index) -> pd.DataFrame:
    """A row for each series and time."""
    repeated = {column: values.T.ravel() for column, values in columns.items()}
    ids = np.repeat(np.array(names, dtype=object), len(times))
    return pd.DataFrame({"unique_id": ids, "ds": times.append([times] * (len(names) - 1)), **repeated})


def _wide(names: tuple[str, ...], columns: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """A column per series and band, `name-lo-80`."""
    wide = {
        f"{name}{column.removeprefix(OURS)}": values[:, index]
        for index, name in enumerate(names)
        for column, values in columns.items()
    }
    if "ds" in wide or len(wide) < len(names) * len(columns):
        raise ConfigError(
            "predict: two columns of the wide table would have one name. Set layout to long (",
            Fix("layout", "long"),
            ").",
        )
    return wide


def forecast_columns(
    run: Run,
    panel: Panel,
    levels: Sequence[float],
    quantiles: Sequence[float] = (),
    use: str = "future",
    plan: Covariates | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Forecast of the answer with its bands and quantiles, or of another candidate alone, in the units of the data.

    Series that end early are forecast from there, with the bands of as many steps more.
    """
    ahead = look_ahead(run, panel, use, plan)
    columns = {OURS: ahead.written(ahead.middle)}
    if _is_other(run):
        return columns
    offsets, scale = ahead.bands.edges(levels).double(), ahead.scale
    for level, edges in zip(levels, stretch(offsets, scale).numpy(), strict=True):
        for side, edge in zip(("lo", "hi"), edges, strict=True):
            columns[f"{OURS}-{side}-{level:g}"] = ahead.written(ahead.middle + edge, side=side)
    for share, offset in zip(quantiles, stretch(ahead.bands.at(quantiles).double(), scale).numpy(), strict=True):
        side = "lo" if share < 0.5 else "hi"
        columns[f"{OURS}-q-{100 * share:g}"] = ahead.written(ahead.middle + offset, side=side)
    return columns


class Ahead(NamedTuple):
    """The steps after the last row.

    middle: The forecast in scaled units, `(horizon, targets)`.
    bands: Around it, for as many steps as each series is late more.
    scale: What offsets of the bands are multiplied by below and above, `(2, horizon or 1, targets)`.
    written: Brings scaled values `(..., horizon, targets)` into the units of the file, as a table has them.
    """

    middle: Floats
    bands: Bands
    scale: Tensor
    written: Callable[..., Floats]


def absent_others(run: Run, panel: Panel, row: int | None = None) -> list[str]:
    """Models of others that the answer is made of, and that have no whole forecast from before a row of a panel.

    row: Where the forecast begins; after the last one if not given.
    """
    used = others_in([run.answer.name] if _is_other(run) else model_of(run).used())
    row = panel.num_rows if row is None else row
    return absent_models(panel, used, len(run.state.targets), run.config.horizon, row) if used else []


def look_ahead(run: Run, panel: Panel, use: str = "future", plan: Covariates | None = None) -> Ahead:
    """The answer after the last row of a panel, with what its bands are made of.

    Raises:
        DataError: A model of others that the answer is made of has no forecast from that row.
    """
    if lacking := absent_others(run, panel):
        shares = run.facts["selection"]["weights"]
        listed = list_some([f"{name} ({shares.get(name, 0):.0%} of the answer)" for name in lacking])
        raise DataError(
            f"predict: there is no forecast of all {run.config.horizon} steps by {listed} from the cutoff "
            f"{panel.times[-1]}, the last row. Add it to the candidates, or let another model answer."
        )
    scaler, config, known = run.state.target_scaler, run.config, run.state.covariates
    seen = join_breaks(panel, run.state.breaks) if use == "future" else panel

    def window(rows: Panel) -> Inputs:
        ahead = window_ahead(config, known, panel, plan, rows.num_rows)
        ahead = ahead._replace(history=history_of(rows, run.state.scaler))
        return *last_window(rows, run.state.scaler, config.lookback), ahead

    late = late_by(panel, len(run.state.targets), config.horizon, config.lookback)
    inputs = window(with_ends(seen, late, lambda rows: scaler.inverse(_forecast_scaled(run, use, window(rows)))))
    middle = _forecast_scaled(run, use, inputs)
    lowest = lowest_of(inputs[0], config, run.state, run.state.low_for(use))[0]

    def written(scaled: Floats, side: str = "") -> Floats:
        return as_written(scaler.inverse(scaled), lowest, config, run.state, use, side)

    bands, scale = bands_for(run, use).after(late), torch.ones(2, 1, 1, dtype=torch.float64)
    if not _is_other(run):
        with torch.no_grad():
            widths = bands.widths(model_of(run).fitted_for(use).spread, *inputs)[:, 0].double()
        scale = torch.from_numpy(factors_at(run, panel, bands, [panel.num_rows])[0]) * widths
    return Ahead(middle, bands, scale, written)


def _is_other(run: Run) -> bool:
    """Whether another candidate than the answer is asked for; the bands are of the answer's errors alone."""
    return bool(run.answer.name != run.facts["selection"]["answer"])


@torch.no_grad()
def _forecast_scaled(run: Run, use: str, inputs: Inputs) -> NDArray[np.float64]:
    """Scaled forecast of the answer or another candidate, `(horizon, targets)`."""
    (past, observed, ahead), model, name = inputs, model_of(run).fitted_for(use), run.answer.name
    if _is_other(run):
        scaled = model.forecasts(past, observed, [name], ahead)[name]
    else:
        scaled = model.mix(model.forecasts(past, observed, model.used(), ahead))
    return np.asarray(scaled[0].double().numpy())


@torch.no_grad()
def factors_at(run: Run, panel: Panel, bands: Bands, ends: Sequence[int]) -> NDArray[np.float64]:
    """Of the bands after some rows, which rise, `(ends, variates)`, by errors on those from the first test row on.

    The fit before the test rows makes them: what was refitted has seen these rows.
    """
    windows = _later_windows(run, panel) if bands.causes["following"].any() else None
    if windows is None or not len(windows):
        return np.ones((len(ends), bands.offsets.shape[-1]))
    model, recent = model_of(run).fitted_for("test"), bands.recent(windows.horizon, windows.start_rows().tolist())
    for batch in windows.batches():
        past, seen, *covariates = inputs_of(batch)
        errors = batch["future"] - model.mix(model.forecasts(past, seen, model.used(), *covariates))
        errors = in_widths(errors, bands.widths(model.spread, past, seen, *covariates))
        errors = errors if seen is None else torch.where(batch["future_observed"], errors, torch.nan)
        recent.add(batch["start"].tolist(), mean_sizes(errors.transpose(0, 1).numpy()))
    return bands.factors(np.stack([recent.before(end - windows.lookback) for end in ends])).double().numpy()


def _later_windows(run: Run, panel: Panel) -> Windows | None:
    """Those from the first test row on; None where a panel has none."""
    lookback, horizon = run.config.lookback, run.config.horizon
    if panel.num_rows < lookback + horizon:
        return None
    windows = all_windows(panel, run.state.scaler, lookback, horizon, len(run.state.targets))
    windows = complete(windows, panel, run.state.covariates)
    first = panel.times.searchsorted(time_kept(panel.times, run.facts["intervals"]["first"]))
    return windows.between(max(int(first), lookback), panel.num_rows)


def backtest_frame(
    run: Run,
    panel: Panel,
    cutoffs: Cutoffs = 10,
    step: int | None = None,
    refit_every: int | None = None,
    levels: Sequence[float] = (),
) -> pd.DataFrame:
    """Forecast from several past moments, in batches: `unique_id, ds, cutoff, y, multiway, multiway-lo-80, ridge, …`.

    Cutoffs inside the rows that a model was fitted on flatter it. With `refit_every` candidates are fitted on the rows
    up to a cutoff; a network and baselines are not, nor are the weights of the answer chosen anew.

    Args:
        run: A fitted run.
        panel: History with what came after the cutoffs.
        cutoffs: Last known times; or how many, of which the last is a horizon before the end.
        step: Rows between counted cutoffs; the horizon if not given.
        refit_every: Cutoffs for which one fit is used.
        levels: Of bands in percent around the answer; none if not given. They widen and narrow by what had come before
            a cutoff.

    Raises:
        DataError: The panel is too short, or a cutoff leaves no room for its look-back or horizon.
        ConfigError: No cutoff was given.
    """
    windows = all_windows(panel, run.state.scaler, run.config.lookback, run.config.horizon)
    windows = complete(windows, panel, run.state.covariates)
    rows = _first_rows(run, panel, cutoffs, step, len(windows))
    rows = rows if refit_every is None and not len(levels) else np.sort(rows)
    names = run.state.targets
    ends, steps, variates = rows + run.config.lookback, run.config.horizon, len(names)
    forecasts = _forecasts(run, panel, windows, torch.from_numpy(rows), refit_every)
    ahead = (ends[:, None] + np.arange(steps)).repeat(variates, 0).ravel()  # in the order cutoff, variate, step
    return pd.DataFrame(
        {
            "unique_id": pd.Index(names).take(np.tile(np.repeat(np.arange(variates), steps), len(ends))),
            "ds": panel.times.take(ahead),
            "cutoff": panel.times.take(np.repeat(ends - 1, steps * variates)),
            "y": panel.values[ahead.reshape(-1, variates, steps)[:, 0], -variates:].transpose(0, 2, 1).ravel(),
            **_with_bands(run, panel, forecasts, windows, rows, levels),
        },
        copy=False,  # the columns are new already
    )


def _first_rows(run: Run, panel: Panel, cutoffs: Cutoffs, step: int | None, count: int) -> NDArray[np.int64]:
    """First past row of each cutoff's window."""
    if isinstance(cutoffs, int):
        step = run.config.horizon if step is None else step
        hold_moments(cutoffs, step)
        counted = np.arange(count - 1, -1, -step)
        if others_in(model_of(run).used()):
            counted = _far_apart(
                [row for row in range(count) if not absent_others(run, panel, row + run.config.lookback)], step
            )
        if not len(counted):
            raise DataError(
                f"{panel.source}: others that the answer is made of have no forecast from any of its times."
            )
        return counted[:cutoffs][::-1].copy()
    if not len(cutoffs):
        raise ConfigError("backtest: give at least one cutoff.")
    rows: NDArray[np.int64] = np.array([panel.row_of(moment) for moment in cutoffs]) - run.config.lookback + 1
    lookback, horizon, times = run.config.lookback, run.config.horizon, panel.times
    for row, moment in zip(rows, cutoffs, strict=True):
        if not 0 <= row < count:
            raise DataError(
                f"{panel.source}: the cutoff {moment} leaves no room for lookback {lookback} or horizon {horizon}. "
                f"Choose one from {times[lookback - 1]} to {times[-horizon - 1]}."
            )
        if lacking := absent_others(run, panel, int(row) + lookback):
            raise DataError(f"{panel.source}: there is no forecast by {list_some(lacking)} from the cutoff {moment}.")
    return rows


def _far_apart(rows: Sequence[int], step: int) -> NDArray[np.int64]:
    """The last of some rows and those before it, at least so many apart."""
    chosen = list[int]()
    for row in reversed(rows):
        chosen += [row] if not chosen or chosen[-1] - row >= step else []
    return np.array(chosen, np.int64)


@torch.no_grad()
def _forecasts(
    run: Run, panel: Panel, windows: Windows, rows: Tensor, refit_every: int | None
) -> dict[str, NDArray[np.float64]]:
    """Every model's forecasts in the units of the data, flat in the order cutoff, variate, step."""
    parts: dict[str, list[Tensor]] = {}
    for some in torch.split(rows, refit_every or len(rows)):
        row = int(some[0]) + run.config.lookback
        fitted, low = (None, None) if refit_every is None else fit_before(run, panel, row)
        for batch in windows.batches(some):
            for name, forecast in all_forecasts(run, *inputs_of(batch), fitted=fitted, low=low).items():
                parts.setdefault(name, []).append(forecast)
    scaler = run.state.target_scaler
    whole = {name: scaler.inverse(torch.cat(batches).double().numpy()) for name, batches in parts.items()}
    return {name: values.transpose(0, 2, 1).ravel() for name, values in whole.items()}


@torch.no_grad()
def _with_bands(
    run: Run,
    panel: Panel,
    columns: dict[str, NDArray[np.float64]],
    windows: Windows,
    rows: NDArray[np.int64],
    levels: Sequence[float],
) -> dict[str, NDArray[np.float64]]:
    """The edges of bands after the answer that they are around."""
    if not len(levels):
        return columns
    steps, variates, std = run.config.horizon, len(run.state.targets), run.state.target_scaler.std
    bands, centre = bands_for(run, "test"), columns[OURS].reshape(-1, variates, steps).swapaxes(1, 2)
    factors = torch.from_numpy(factors_at(run, panel, bands, (rows + run.config.lookback).tolist()))[:, None]
    spread, widths, parts = model_of(run).fitted_for("test").spread, list[Tensor](), []
    for batch in windows.batches(torch.from_numpy(rows)):
        widths.append(bands.widths(spread, *inputs_of(batch)))
        parts.append(lowest_of(batch["past"], run.config, run.state, run.state.low_for("test")))
    scale = factors * (widths[0] if len(widths[0][0]) == 1 else torch.cat(widths, 1)).double()
    lowest, offsets = np.concatenate(parts), bands.edges(levels).double()
    edges = {
        f"{OURS}-{side}-{level:g}": as_written(centre + edge * std, lowest, run.config, run.state, "test", side)
        for level, both in zip(levels, stretch(offsets.unsqueeze(2), scale).numpy(), strict=True)
        for side, edge in zip(("lo", "hi"), both, strict=True)
    }
    flat = {name: each.swapaxes(1, 2).ravel() for name, each in edges.items()}
    return {OURS: columns.pop(OURS), **flat, **columns}


def score_backtest(frame: pd.DataFrame) -> list[Row]:
    """MSE and MAE of every model by cutoff, in the units of the data."""
    models = [
        name
        for name in frame.columns
        if name not in {"unique_id", "ds", "cutoff", "y"} and not name.startswith((f"{OURS}-lo-", f"{OURS}-hi-"))
    ]
    rows = []
    for cutoff, part in frame.groupby("cutoff", sort=True):
        for model in models:
            error = (part[model] - part["y"]).dropna()
            means = {"mse": float((error**2).mean()), "mae": float(error.abs().mean())}
            rows.append({"cutoff": str(cutoff), "model": model, **means})
    return rows


def late_by(panel: Panel, targets: int, horizon: int, lookback: int) -> NDArray[np.int64]:
    """Rows that each of the last series lacks at the end, `(targets,)`.

    0 for one that lacks a whole horizon, which may have ended, and where the rows before make no look-back.
    """
    rows = lacking(panel)[-targets:]
    return np.where((rows < horizon) & (panel.num_rows - rows >= lookback), rows, 0)


def with_ends(panel: Panel, late: NDArray[np.int64], forecast: Callable[[Panel], NDArray[np.float64]]) -> Panel:
    """A panel in which what its last series lack is forecast, the series that lack most first.

    Args:
        panel: The history.
        late: Rows that each of the last series lacks at the end.
        forecast: Values `(horizon, targets)` after the last row of a panel, in its units; called once for each number
            of lacking rows.
    """
    if not late.any():
        return panel
    whole = dataclasses.replace(panel, values=panel.values.copy())
    for steps in sorted({*late.tolist()} - {0}, reverse=True):
        own = np.flatnonzero(late == steps)
        ahead = forecast(whole.slice(0, panel.num_rows - steps))[:steps, own]
        whole.values[-steps:, panel.num_variates - len(late) + own] = ahead
    return whole
