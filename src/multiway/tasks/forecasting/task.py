"""The task `forecast`."""

import contextlib
import dataclasses
import itertools
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from multiway import files
from multiway.data.findings import list_some
from multiway.data.matching import Far, far_columns
from multiway.data.scaling import Floats
from multiway.data.writing import check_target, write_table
from multiway.errors import ConfigError, DataError, Fix, MultiwayError, warn
from multiway.explain import save_explanation
from multiway.metrics.quantiles import TENTHS
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.answers import Answer, KeptAnswer, words_on_units, write_answer
from multiway.tasks.choice import Choice
from multiway.tasks.forecasting import encode, forecasts, refit, scores
from multiway.tasks.forecasting.anomalies import LEVEL, score_values
from multiway.tasks.forecasting.audit import audit_forecast
from multiway.tasks.forecasting.bands import PARTS, SHARES, Bands, calibration_of, stretch
from multiway.tasks.forecasting.calendar import time_kept
from multiway.tasks.forecasting.candidate import Rows, Training, candidates, fit_candidates, others_in
from multiway.tasks.forecasting.choice import decide
from multiway.tasks.forecasting.config import FORECAST, ForecastConfig, find_published_split
from multiway.tasks.forecasting.encode import ForecastState, PreparedPanel
from multiway.tasks.forecasting.explain import (
    FOLDER,
    explain_windows,
    find_networks_with_maps,
    savings,
    words_on_savings,
    write_explanation,
)
from multiway.tasks.forecasting.facts import ForecastFacts, cautions, refit_words, words_on_following
from multiway.tasks.forecasting.forecasts import absent_others
from multiway.tasks.forecasting.headline import headline
from multiway.tasks.forecasting.held_out import Stretch
from multiway.tasks.forecasting.intervals import fit_bands
from multiway.tasks.forecasting.networks import (
    build_forecast_baseline,
    fit_forecast_baseline,
    model_of,
    plan_epochs,
    samples_of,
)
from multiway.tasks.forecasting.panel import Panel, words_on_ended
from multiway.tasks.forecasting.paths import OF_TABLE, forecast_table
from multiway.tasks.forecasting.plan import knows_ahead, read_plan
from multiway.tasks.forecasting.processes import join_frames, join_words, words_on_shares
from multiway.tasks.forecasting.refit import take_in
from multiway.tasks.forecasting.scores import Measured
from multiway.tasks.forecasting.windows import where_others
from multiway.tasks.lifecycle import announce, data_of
from multiway.tasks.protocol import OURS, VALIDATION, Context, Fitted, Metric, Row, Settled, Task
from multiway.tasks.run import Run
from multiway.tasks.scores import in_words, models_of, score_of, words_of
from multiway.tasks.stored import same_length
from multiway.training import RunFolder
from multiway.training.processes import is_main, join_arrays, total
from multiway.training.run_folder import ANSWER, PAGE
from multiway.training.stored import columns_of

SAMPLED = 64
"""Validation windows that a compression is measured on."""
MOST_KEPT, MOST_READ = 1_000_000, 100_000
"""Values of a panel whose report is written by the training, and of one that is read once more to keep its answer.

More takes seconds, and is made on request."""
NO_BANDS = "bands are of the answer's errors, so the forecast of another model has none"
SCALED, ORIGINAL = {"scale": "scaled"}, {"scale": "original"}
METRICS = (
    Metric(name="mse", title="MSE", higher=False, spread=True, where=SCALED, detail=True),
    Metric(name="mae", title="MAE", higher=False, spread=True, where=SCALED, detail=True),
    Metric(name="mase", title="MASE", higher=False, spread=True, where=SCALED),
    Metric(name="sql", title="SQL", higher=False, where=SCALED, detail=True),
    Metric(name="mse (original)", title="MSE, original scale", of="mse", higher=False, where=ORIGINAL, detail=True),
    Metric(name="mae (original)", title="MAE, original scale", of="mae", higher=False, where=ORIGINAL),
    Metric(name="rmse", title="RMSE", higher=False, decimals=None, where=ORIGINAL),
    Metric(name="wape", title="WAPE", higher=False, decimals=4, spread=True, where=ORIGINAL),
    Metric(name="smape", title="sMAPE", higher=False, decimals=4, spread=True, where=ORIGINAL, detail=True),
    Metric(name="wql", title="WQL", higher=False, decimals=4, where=ORIGINAL, detail=True),
    Metric(name="crps", title="CRPS", higher=False, decimals=None, where=ORIGINAL, detail=True),
    Metric(name="pinball", title="Pinball loss", higher=False, decimals=None, where=ORIGINAL, detail=True),
)


def settle_run(config: ForecastConfig, prepared: PreparedPanel, spent: float, *, progress: bool = False) -> Settled:
    """Sizes, then what training learns, then what a budget leaves to be trained.

    Windows are shorter than usual where the rows are few; whether a network is trained follows from their number; and a
    published protocol fits once.
    """
    panel, training = prepared.panel, config.training
    found: dict[str, Any] = {name: getattr(prepared.windows["train"], name) for name in ("lookback", "horizon")}
    changes = {name: steps for name, steps in found.items() if steps != getattr(config, name)}
    longer = changes.get("lookback", 0) > config.lookback
    notes = (
        (f"the look-back is {changes['lookback']} rows, with which ridge errs least on validation",) if longer else ()
    )
    if shorter := {name: steps for name, steps in changes.items() if steps < getattr(config, name)}:
        words = " and ".join(f"{name} {steps}" for name, steps in shorter.items())
        rows = f"{prepared.borders.train[1]:,} training rows"
        warn(f"{prepared.source}: shortened to {words}, since there are {rows}.")
    if config.split != prepared.split:
        changes["split"] = prepared.split
        parts = [f"{stop - start} rows are for {name}" for name, (start, stop) in prepared.borders.by_name().items()]
        warn(f"{prepared.source}: the splits give way to the horizon of {config.horizon}: {', '.join(parts)}.")
    group = config.group_of(panel.num_variates if panel.share is None else panel.share.of)
    config = config.replace(**changes, **({} if group is None or not config.network else {"group": group}))
    state = encode.learn_state(config, prepared)
    if config.metric != "mse" and training.validation_loss is None:
        training = training.replace(validation_loss="mae")
    once = {} if find_published_split(config.split.protocol) is None else {"refit": "none"}
    config = config.replace(network=config.trains_network(state.windows), training=training, **once)
    if config.budget is None:
        return Settled(config, state, notes if panel.share is None else (*notes, words_on_shares(panel.share)))
    planned, plan = plan_epochs(config, prepared, spent)
    return Settled(planned, encode.learn_state(planned, prepared), (*notes, plan))


def build_model(config: ForecastConfig, state: ForecastState, name: str) -> nn.Module:
    """All candidates side by side, or a baseline."""
    if name != OURS:
        return build_forecast_baseline(name, config, len(state.names))
    every, refits, sizes = candidates(), {}, encode.sizes_of(config, state)
    own = {each: every[each].build(sizes) for each in state.candidates}
    refitted = [each for each in state.candidates if config.retrains or not every[each].is_stepped]
    for use in () if config.refit == "none" else encode.USES:
        sizes = encode.sizes_of(config, state, use)
        refits[use] = {each: every[each].build(sizes) for each in refitted}
    return WeighedForecasts(config.horizon, len(state.targets), own, refits)


def trained_part(model: nn.Module) -> nn.Module:
    """Without what is fitted once more."""
    return model.by({}) if isinstance(model, WeighedForecasts) else model


def fit_model(run: Run, name: str, prepared: PreparedPanel, context: Context) -> Fitted:
    """The candidates in the order of their cost; or a baseline."""
    config, windows = run.config, prepared.windows
    if name != OURS:
        announce(name, context)
        return fit_forecast_baseline(
            run.models[name],
            windows,
            lambda: prepared.ridge.weight if config.group == "auto" else prepared.ridge.common,
            config,
            context,
        )
    forecasts.keep_first(run, prepared, context)
    model = model_of(run)
    by = Training(config, context, windows, model, prepared.refit_share if config.retrains else 0.0)
    training, validation = (
        Rows(windows[split].of_targets(), prepared.ridge, training=by) for split in ("train", "validation")
    )
    fitted = fit_candidates(model, training, validation)
    for each, own in model.every.items():
        run.facts["notes"] = [*run.facts["notes"], *candidates()[each].notes(own, run.state.targets)]
    return fitted


def choose_answer(run: Run, prepared: PreparedPanel, *, refit: bool = True) -> Choice:
    """Weights of all candidates, on the errors that bands are of as well."""
    sizes = encode.sizes_of(run.config, run.state)
    chosen, bands, facts = decide(model_of(run), prepared, run.config, sizes, run.state.mase_scale)
    run.facts |= facts
    run.facts["covariates"] = savings(model_of(run), prepared, sizes)
    following = words_on_following(facts["intervals"], prepared.windows["train"].all_targets)
    run.facts["notes"] += words_on_others(run, prepared)
    run.facts["notes"] = [*run.facts["notes"], *words_on_savings(run.facts["covariates"]), *following]
    baselines = {name: model for name, model in run.models.items() if name != OURS}
    if baselines:
        part = Stretch(
            prepared.windows["validation"],
            lambda past, observed, *_: {name: model(past, observed) for name, model in baselines.items()},
        )
        bands |= fit_bands([part], (), len(baselines))
    run.calibration = calibration_of(bands)
    return chosen.choice()


def words_on_others(run: Run, prepared: PreparedPanel) -> list[str]:
    """What others' forecasts are compared on, and whether there is one of the future."""
    names, panel = others_in(run.state.candidates), prepared.panel
    if not names:
        return []
    count, compared = len(where_others(prepared.windows["test"])), run.facts["selection"]["windows"]
    scored = f"all scores are of the {count:,} test windows at these"
    notes = [f"{list_some(names)}: compared with ours on the {compared:,} windows at their cutoffs; {scored}"]
    if lacking := absent_others(run, panel):
        notes.append(f"no forecast is stored, as {list_some(lacking)} has none from {panel.times[-1]}")
    return notes


def join_processes(run: Run) -> None:
    """State, own matrices of ridge and bands of the series of all processes, in the first."""
    if run.prepared.panel.share is None:
        return
    bands = {name: join_arrays(each.numpy(), each.ndim - 1) for name, each in run.calibration.items() if name != SHARES}
    weights, apart = model_of(run).state_dict(), not run.state.shared
    for name, each in weights.items():
        if apart and name.endswith("ridge.weight"):
            weights[name] = torch.from_numpy(join_arrays(each.numpy(), 0))
        if name in ("own", "later"):  # weights of each series
            weights[name] = torch.from_numpy(join_arrays(each.numpy(), 1))
    run.state = encode.join_state(run.state)
    if is_main():
        run.calibration |= {name: torch.from_numpy(each) for name, each in bands.items()}
        whole = build_model(run.config, run.state, OURS)
        whole.load_state_dict(weights)
        run.models = {OURS: whole.eval()}


def check_stored(run: Run) -> None:
    """Scaling and bands fit the steps and variates."""
    state = run.state
    same_length({"names": state.names, "mean": state.scaler.mean, "std": state.scaler.std})
    targets = run.config.num_targets or len(state.names)
    same_length({"mase": state.mase_scale, "targets": state.names[-targets:]})
    bands = Bands.read(run.calibration)
    expected = (len(bands.shares), run.config.horizon, targets)
    varying = (bands.usual, bands.spread, bands.slopes)
    fits = bands.offsets.shape == expected and all(each.shape[-1] == targets for each in varying if each is not None)
    if not fits or (bands.shares.diff() <= 0).any():
        raise ValueError(f"bands of {tuple(bands.offsets.shape)} in place of {expected}")


def predict_split(run: Run, prepared: PreparedPanel, split: str) -> Measured:
    """Errors of every forecast, summed over windows: the forecasts themselves are not kept.

    Where others' forecasts are candidates, over the windows at their cutoffs.
    """
    bands, windows = refit.bands_for(run, split), prepared.windows[split]
    forecast = partial(forecasts.all_forecasts, run, use=split)
    if others := others_in(run.state.candidates):
        windows = where_others(windows)
        if not len(windows):
            raise DataError(f"{prepared.source}: there is no forecast by {list_some(others)} from any of its times.")
    edges, none, spread = bands.edges(run.config.levels), bands.edges(()), model_of(run).fitted_for(split).spread
    tenths = {name: each for name, each in run.calibration.items() if name not in PARTS}
    following = scores.Following(bands, windows, spread) if bands.vary else None
    around = {name: scores.Around(each, none) for name, each in tenths.items()}
    around[OURS] = scores.Around(bands.at(TENTHS), edges, following)
    errors = scores.measure(windows, forecast, run.state.target_scaler, around)
    units = scores.Units(run.state.target_scaler.std, run.state.mase_scale, run.config.levels)
    own = Measured(errors, units, run.state.targets, edges if following is None else stretch(edges, following.mean))
    return own if prepared.panel.share is None else own.join()


def tables_of_split(run: Run, predictions: Measured, split: str) -> dict[str, pd.DataFrame]:
    """Errors by variate and step; with the last split also the forecast beyond the data."""
    errors = {"errors": scores.error_frame(predictions.errors, split, predictions.names)}
    if split != "test":
        return errors
    if not knows_ahead(run.prepared.panel, run.config.horizon) or absent_others(run, run.prepared.panel):
        return errors  # without their plan, or others' forecasts, there is nothing to forecast from
    future = forecasts.future_frame(run, run.prepared.panel, None, "long")
    future = future if run.prepared.panel.share is None else join_frames(future)
    return {**errors, "predictions": run.state.columns.rename(future)}


def describe_run(run: Run, prepared: PreparedPanel, predictions: Measured) -> Row:
    """Sizes, the rows of the splits, how many test values the intervals hold, and the series that have none."""
    panel, share, missing = prepared.panel, prepared.panel.share, int(np.isnan(prepared.panel.values).sum())
    seen, splits = predictions.errors[OURS].count.sum(0) > 0, dict[str, Row]()
    for name, (start, stop) in prepared.borders.by_name().items():
        first, last = str(panel.times[start]), str(panel.times[stop - 1])
        sizes = {"rows": stop - start, "windows": len(prepared.windows[name])}
        splits[name] = {**sizes, "first": first, "last": last, "start": start, "stop": stop}
    return {
        "rows": panel.num_rows,
        "variates": panel.num_variates if share is None else share.of,
        "layout": panel.layout,
        "young": list(prepared.young if share is None else join_words(prepared.young)),
        "missing_cells": missing if share is None else int(total(torch.tensor(missing))[0]),
        "splits": splits,
        "unscored": list(itertools.compress(predictions.names, ~seen.numpy())),
        "coverage": scores.coverage_rows(predictions.errors[OURS], predictions.edges, run.config.levels),
    }


def keep_files(run: Run, prepared: PreparedPanel, folder: RunFolder) -> None:
    """Attention maps; of a panel that is no large one also the report, unless cautions are to be said beside it."""
    if find_networks_with_maps(run):
        maps = explain_windows(run, prepared.panel, prepared.windows["test"])
        save_explanation(folder.path / FOLDER, maps)
    panel = prepared.panel
    is_usual = panel.share is None and panel.values.size <= MOST_KEPT and not TASK.cautions(run)
    is_usual &= not absent_others(run, panel)  # a forecast of others that comes later is to be shown
    if run.folder is folder and is_usual:
        folder.write_json(PAGE, TASK.page.report([run]))
        if panel.values.size <= MOST_READ and (kept := _answer_to_keep(run)) is not None:
            folder.write_json(ANSWER, kept.plain())


def _answer_to_keep(run: Run) -> KeptAnswer | None:
    """The answer after the data of a run, as they lie in one file, where there is nothing to be said beside it."""
    table = run.tables.get("predictions")
    if table is None or run.config.updates or run.config.candidates or run.config.static_data:
        return None
    with contextlib.suppress(MultiwayError, OSError, Warning), warnings.catch_warnings(action="error"):
        read = files.sha256_of(source := Path(TASK.locate(str(run.config.data))))
        answer = answer_data(run, None, None, {})
        same = answer.frame is not None and table.equals(answer.frame) and files.sha256_of(source) == read
        if same and not answer.notes:
            told, columns = in_words(run, run.line), columns_of(table)
            return KeptAnswer(read=read, head=run.line, told=told, words=words_of([run]), columns=columns)
    return None


def list_metrics(config: ForecastConfig) -> tuple[Metric, ...]:
    """What decides is the first, and no detail."""
    decides = next(metric for metric in METRICS if metric.name == config.metric)
    first = [dataclasses.replace(decides, detail=False), *(metric for metric in METRICS if metric != decides)]
    apart = [
        Metric(
            name=f"{metric}_{steps}",
            title=f"{metric.upper()}, {steps} steps",
            higher=False,
            spread=True,
            where=SCALED,
        )
        for steps, metric in itertools.product(config.horizons, ("mse", "mae"))
    ]
    held = [
        Metric(
            name=f"coverage_{level:g}",
            title=f"Coverage of {level:g} %",
            higher=None,
            where=ORIGINAL,
            detail=level != config.levels[0],
        )
        for level in config.levels
    ]
    return (*first, *apart, *held)


def summarise(run: Run) -> str:
    """How far the answer and every candidate are off."""
    errors = {name: score_of(run, name, "mae (original)")["value"] for name in models_of(run)}
    own, *others = (f"{name} {'undefined' if mae is None else f'{mae:.4g}'}" for name, mae in errors.items())
    rest = f"; {', '.join(others)}" if others else ""
    return f"off by {own.removeprefix(OURS).strip()} a step on the test rows, in the file's units{rest}."


def list_cautions(run: Run) -> list[str]:
    """See `multiway.tasks.forecasting.facts`."""
    other = find_published_split(run.config.split.protocol)
    return [*([] if other is None else [other.note]), *cautions(run.facts)]


def answer_in_words(run: Run) -> str:
    """What forecasts, and why; or what was chosen by name."""
    line = f"Answer: {run.facts['selection']['sentence']}" if _is_own(run) else run.answer.line()
    return f"{line}{refit_words(run.facts)}"


def find_far(run: Run, later: Panel) -> Sequence[Far]:
    """Series whose last rows, which the models see, are far from the training and from all rows of the last fit."""
    seen = run.state.outside(_without_trend(run, later)[-run.config.lookback :])
    return far_columns(seen, later.names, run.state.scaler, f"the last {len(seen)} rows")


def find_far_scored(run: Run, prepared: PreparedPanel) -> Sequence[Far]:
    """Series that are far from the training in any of the rows that are scored."""
    return far_columns(_without_trend(run, prepared.panel), prepared.panel.names, run.state.scaler, "rows")


def _without_trend(run: Run, panel: Panel) -> Floats:
    """Values of a panel, those of targets without what the trend of the training rows explains."""
    state, part = run.state, run.facts["splits"]["train"]
    first, last = (time_kept(panel.times, part[name]) for name in ("first", "last"))
    rows = np.asarray((panel.times - last) / ((last - first) / (part["rows"] - 1)), float)
    own = panel.values[:, -len(state.targets) :]
    nearest = state.trend.nearest(own, rows, state.target_scaler.mean)
    return np.hstack([panel.values[:, : -len(state.targets)], nearest])


def answer_data(run: Run, data: str | None, out: Path | None, options: Row) -> Answer:
    """The steps after the end of a file."""
    check_target(out)
    panel = _panel(run, data)
    notes = run.check_far(panel, panel.source, far=(far := bool(options.get("far"))))
    notes = (*notes, *words_on_ended(panel, run.state.targets, run.config.horizon, run.config.lookback))
    columns = run.state.columns
    notes += words_on_units({columns.value or name: columns.sign_of(name) for name in run.state.targets})
    plan = read_plan(run, panel, options.get("future_data"), far=far)
    frame = forecast_table(run, panel, plan, **{name: each for name, each in options.items() if name in OF_TABLE})
    return write_answer(frame, out, notes if _is_own(run) or not run.config.levels else (*notes, NO_BANDS))


def backtest_run(run: Run, data: str | None, out: Path | None, options: Row) -> Answer:
    """Scores of forecasts from past moments; the forecasts are written where a path is given."""
    check_target(out)
    past = options.get("cutoffs", 10), options.get("step"), options.get("refit"), options.get("levels", ())
    frame = forecasts.backtest_frame(run, _panel(run, data), *past)
    if out is not None:
        write_table(run.state.columns.rename(frame), out)
    rows = pd.DataFrame(forecasts.score_backtest(frame))
    chosen = rows if _is_own(run) else rows[rows["model"] == run.answer.name]
    return Answer(frame=chosen.reset_index(drop=True), files=() if out is None else (out,))


def find_anomalies(run: Run, data: str | None, out: Path | None, options: Row) -> Answer:
    """Values outside the bands, the farthest first; all values that were scored are written where a path is given."""
    check_target(out)
    level = options.get("band", LEVEL)
    table = score_values(run, _panel(run, data), level)
    outside = table[table["score"] > 1].sort_values("score", ascending=False).reset_index(drop=True)
    fitted = table["fitted"].sum()
    line = f"{len(outside):,} of {len(table):,} values lie outside the {level:g} % band of the step before."
    seen = f"{fitted:,} of them are of the rows that the forecasts were fitted on, and lie nearer to them."
    if out is not None:
        write_table(table, out)
    return Answer(frame=outside, files=() if out is None else (out,), notes=[line, *([seen] if fitted else [])])


def _panel(run: Run, data: str | None) -> Panel:
    source = data or run.config.data
    if source is None:
        raise ConfigError("this run was fitted on a frame in memory. Give a file (", Fix("data", like="FILE"), ").")
    source = TASK.locate(source) if data else encode.add_updates(run.config, TASK.locate(source), run.state.columns)
    return encode.read_later(run.config, run.state, source)


def update_run(run: Run, data: str) -> Run:
    """See `multiway.tasks.forecasting.refit`; the forecast beyond all rows takes the place of the one before."""
    longer, tables = take_in(run, data_of(run), data), dict(run.tables)
    tables.pop("predictions", None)
    if knows_ahead(longer.prepared.panel, run.config.horizon) and not absent_others(longer, longer.prepared.panel):
        future = forecasts.future_frame(longer, longer.prepared.panel, None, "long")
        tables["predictions"] = run.state.columns.rename(future)
    longer.tables = tables
    return longer


def prepare_compression(run: Run) -> None:
    """Networks that were trained once more: the smaller one takes their place."""
    if run.config.retrains:
        run.config = run.config.replace(refit="closed")
        refit.drop_networks(run)


def swappable_part(model: nn.Module) -> nn.Module:
    """The network; ridge stays as it is."""
    assert isinstance(model, WeighedForecasts)
    if model.network is None:
        raise ConfigError(
            "compress: the run has no network to compress. Set network to true (",
            Fix("network", True),
            ").",
        )
    return model.network


def sample_inputs(run: Run, prepared: PreparedPanel) -> tuple[Tensor | None, ...]:
    """Validation windows, evenly spread."""
    batch = samples_of(prepared.windows["validation"], run.config).spread(SAMPLED)
    return batch["past"], batch.get("past_observed")


def _is_own(run: Run) -> bool:
    """Whether what validation or the settings chose answers."""
    return bool(run.answer.name == run.facts["selection"]["answer"])


TASK = Task(
    **FORECAST.parts,
    own=OURS,
    page="multiway.tasks.forecasting.page",
    state=ForecastState,
    fields_of_validation=(*VALIDATION, "horizon"),
    facts=ForecastFacts,
    prepare=encode.prepare_panel,
    warnings=lambda config, prepared: prepared.panel.warned,
    audit=audit_forecast,
    settle=settle_run,
    names=lambda config, state: (OURS, *config.baselines),
    build=build_model,
    fit=fit_model,
    candidates=candidates,
    answers=lambda config, state: state.candidates,
    choose=choose_answer,
    refit=refit.refit_run,
    join=join_processes,
    calibrate=lambda run, prepared: run.calibration,  # as the choice left it
    check_stored=check_stored,
    predict=predict_split,
    score=lambda run, predictions, split: scores.forecast_rows(
        predictions.errors, split, predictions.units, run.config.horizons
    ),
    tables=tables_of_split,
    describe=describe_run,
    keep=keep_files,
    metrics=list_metrics,
    sentence=summarise,
    headline=headline,
    cautions=list_cautions,
    cell_facts=lambda runs: {"selections": [run.facts["selection"]["sentence"] for run in runs]},
    answer_line=answer_in_words,
    score_name=lambda run: OURS if _is_own(run) else run.answer.name,
    far=find_far,
    far_scored=find_far_scored,
    answer=answer_data,
    backtest=backtest_run,
    anomalies=find_anomalies,
    update=update_run,
    explain=lambda run, out, options: write_explanation(run, out),
    prepare_compression=prepare_compression,
    network_in=swappable_part,
    trained_part=trained_part,
    sample=sample_inputs,
)
