"""The task `grids`."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from multiway import files
from multiway.auditing import AuditReport
from multiway.auditing.duplicates import by_split, check_duplicates, sample_digest
from multiway.auditing.windows import check_fields
from multiway.config import Plain
from multiway.data.matching import Far, far_columns
from multiway.data.writing import check_target, write_table
from multiway.errors import ConfigError, Fix
from multiway.tasks.answers import Answer
from multiway.tasks.choice import Choice, choice_of_settings
from multiway.tasks.fitting import nearing
from multiway.tasks.grids.backtest import backtest_frame, pool_leads
from multiway.tasks.grids.bands import SHOWN
from multiway.tasks.grids.config import GRIDS, GridConfig
from multiway.tasks.grids.encode import GridState, PreparedGrid, prepare_grid
from multiway.tasks.grids.explain import write_explanation
from multiway.tasks.grids.fields import BLOCK, Floats, in_blocks
from multiway.tasks.grids.floors import Fitted as Floors
from multiway.tasks.grids.floors import blend_weights
from multiway.tasks.grids.model import (
    GridFloors,
    Measured,
    forecast_fields,
    in_words,
    keep_bands,
    learn_start,
    measure_coverage,
    measure_errors,
    module_of,
    quantiles_of,
    samples_of,
    shares_of,
    spread_frames,
)
from multiway.tasks.grids.network import list_candidates, weigh_error
from multiway.tasks.grids.settling import settle_network
from multiway.tasks.grids.writing import FIELDS, write_fields
from multiway.tasks.lifecycle import data_of
from multiway.tasks.options import AUTO
from multiway.tasks.protocol import OURS, SPLITS, VALIDATION, Context, Fitted, Metric, Row, Task
from multiway.tasks.run import Run
from multiway.training import train


def fit_model(run: Run, name: str, prepared: PreparedGrid, context: Context) -> Fitted:
    """Learn from the training times to correct the blend of floors that validation prefers."""
    module = learn_start(module_of(run), prepared)
    if module.network is None:
        return {"modes": run.state.modes, "period": run.state.period, "cells": prepared.values.shape[1]}
    samples = samples_of(module, prepared)
    return train(
        module.network,
        weigh_error if context.teacher is None else nearing(context.teacher, weigh_error),
        samples.training,
        samples.validation,
        run.config.training,
        run=context.own_folder(),
        progress=context.progress,
        callbacks=context.callbacks,
    )


def choose_answer(run: Run, prepared: PreparedGrid, *, refit: bool = True) -> Choice:
    """A blend or a floor for each lead, by the times of validation; or the floor that the settings name."""
    module, floors = module_of(run), list_candidates(run.config, run.state)
    products = run.once(prepared, "validation", lambda: measure_errors(module, prepared, "validation"))
    shares = np.stack([blend_weights(each) for each in products])
    module.keep("shares", shares)
    run.facts["banded"] = OURS if run.config.answer in (AUTO, OURS) else run.config.answer
    keep_bands(module, prepared, shares_of(run, run.facts["banded"]))
    if run.config.answer not in (AUTO, OURS):
        return choice_of_settings(run.config.answer)
    pooled = {name: pool(each) for name, each in Measured(floors, products, shares, {}).errors().items()}
    best, count = min(floors, key=lambda name: pooled[name]), len(products[0])
    reason = f", {in_words(floors, shares[0])} at lead 1"
    reason += f", {in_words(floors, shares[-1])} at lead {len(shares)}" if len(shares) > 1 else ""
    against = f"{pooled[OURS]:.3g}{run.state.suffix} against {pooled[best]:.3g} of {best}"
    reason += f" (RMSE {against}, validation of {count} times)"
    return Choice(name=OURS, reason=reason, loss="RMSE", cases=count, unit="times")


def pool(errors: Floats) -> float:
    """Root mean square over leads."""
    return float(np.sqrt((errors**2).mean()))


def refit_floors(run: Run, prepared: PreparedGrid, context: Context) -> None:
    """Learn the floors again from all times before the test, once the choice is made."""
    module_of(run).fit(prepared, prepared.borders["validation"][1])


def learn_all(run: Run, prepared: PreparedGrid) -> dict[str, torch.Tensor]:
    """What the floors know of all times, those of the test too: for forecasts beyond them alone, and for no score."""
    learnt = prepared.learn(prepared.until(len(prepared.values)))._asdict()
    return {name: torch.from_numpy(each).float() for name, each in learnt.items()}


def predict_split(run: Run, prepared: PreparedGrid, split: str) -> Measured:
    """Errors of every floor on a part; of validation by what was learnt before it."""
    module, names = module_of(run), list_candidates(run.config, run.state)
    products = run.once(prepared, split, lambda: measure_errors(module, prepared, split))
    coverage = measure_coverage(module, prepared, split, shares_of(run, run.facts["banded"]))
    return Measured(names, products, module.numbers("shares"), coverage)


def score_split(run: Run, predictions: Measured, split: str) -> list[Row]:
    """Root mean squared error of the answer and of every candidate, over all leads and at each."""
    rows: list[Row] = []
    for name, errors in predictions.errors().items():
        by_lead = {f"rmse_{lead}": float(each) for lead, each in enumerate(errors, start=1)}
        own = {"model": name, "split": split, "low": None, "high": None}
        rows += [{**own, "metric": metric, "value": each} for metric, each in {"rmse": pool(errors), **by_lead}.items()]
    own = {"model": run.facts["banded"], "split": split, "low": None, "high": None}
    bands = predictions.coverage.items()
    return rows + [{**own, "metric": f"coverage_{level:g}", "value": share} for level, share in bands]


def list_metrics(config: GridConfig) -> tuple[Metric, ...]:
    """Over all leads, then at each; the first, the middle and the last are printed."""
    shown = {1, (config.horizon + 1) // 2, config.horizon}
    by_lead = [
        Metric(name=f"rmse_{lead}", title=f"RMSE, lead {lead}", higher=False, decimals=None, detail=lead not in shown)
        for lead in range(1, config.horizon + 1)
    ]
    bands = [
        Metric(name=f"coverage_{level:g}", title=f"In the band of {level:g} %", higher=None, detail=True)
        for level in SHOWN
    ]
    return (Metric(name="rmse", title="RMSE", higher=False, decimals=None), *by_lead, *bands)


def list_tables(run: Run, predictions: Measured, split: str) -> dict[str, pd.DataFrame]:
    """Errors by lead, and the share of each candidate in the answer to it."""
    leads = {"split": split, "lead": np.arange(1, len(predictions.shares) + 1)}
    errors = {f"rmse_{name}": each for name, each in predictions.errors().items()}
    shares = {f"share_{name}": predictions.shares[:, place] for place, name in enumerate(predictions.names)}
    return {"errors": pd.DataFrame({**leads, **errors, **shares})}


def describe_splits(run: Run, prepared: PreparedGrid, predictions: object = None) -> Plain:
    """How many times each part has, and which."""
    words, borders = prepared.cube.times.words(), ((split, *prepared.borders[split]) for split in SPLITS)
    facts = {
        split: {"times": stop - start, "first": words[start], "last": words[stop - 1]} for split, start, stop in borders
    }
    return {"splits": facts}


def summarise(run: Run) -> str:
    """How far the answer and every floor are off on the test times."""
    rows = [row for row in run.scores if row["split"] == "test" and row["metric"] == "rmse"]
    errors = {row["model"]: row["value"] for row in rows}
    own = errors.pop(run.answer.name)
    others = ", ".join(f"{name} {value:.4g}" for name, value in errors.items())
    return f"off by {own:.4g}{run.state.suffix} on the test times (RMSE by area, all leads); {others}."


def find_far(run: Run, later: PreparedGrid) -> Sequence[Far]:
    """Values of the last times far from those of the training."""
    seen = later.values[-run.config.context :].reshape(-1, 1)
    return far_columns(seen, (" and ".join(run.state.targets),), run.state.scaler, "the values")


def check_stored(run: Run) -> None:
    """What was learnt of all times fits what was scored."""
    own = {name: module_of(run).get_parameter(name).shape for name in Floors._fields}
    found = {name: each.shape for name, each in run.calibration.items()}
    if own != found:
        raise ValueError(f"floors of {found} in place of {own}")


def swappable_part(model: nn.Module) -> nn.Module:
    """The network; floors stay as they are."""
    assert isinstance(model, GridFloors)
    if model.network is None:
        raise ConfigError("compress: the run has no network to compress. Train one (", Fix("model.name", AUTO), ").")
    return model.network


def sample_inputs(run: Run, prepared: PreparedGrid) -> tuple[torch.Tensor | None, ...]:
    """Validation inputs of the network, evenly spread."""
    frames = spread_frames(run, prepared)
    return (frames.gather(torch.arange(len(frames)))["inputs"],)


def answer_grid(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """The fields after the end of a file, as NetCDF or .npz."""
    if out is None or out.suffix.lower() not in FIELDS:
        raise ConfigError("predict: fields are written as NetCDF or .npz (", Fix("out", like="FILE.nc"), ").")
    source = TASK.locate(data) if data else data_of(run)
    files.add_input(source)
    prepared = prepare_grid(run.config, source, run.state)
    far_notes = run.check_far(prepared, prepared.source, far=bool(options.get("far")))
    levels: tuple[float, ...] = options.get("levels") or ()
    whole = run.state.spread(forecast_fields(run, prepared, levels))
    times = prepared.cube.times.later(run.state.step, run.config.horizon)
    write_fields(prepared.cube, whole, times, out, quantiles_of(levels) if levels else ())
    words = times.words()
    return Answer(files=(out,), notes=(*far_notes, f"{len(words)} fields from {words[0]} to {words[-1]}:"))


def backtest_grid(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """Errors of forecasts from past times over all leads; those of each lead are written where a path is given."""
    check_target(out)
    source = TASK.locate(data) if data else data_of(run)
    files.add_input(source)
    prepared = prepare_grid(run.config, source, run.state)
    frame = backtest_frame(run, prepared, options.get("cutoffs", 10), options.get("step"))
    if out is not None:
        write_table(frame, out)
    rows = pool_leads(frame)
    chosen = rows if run.answer.name == OURS else rows[rows["model"] == run.answer.name]
    notes = flattering(run, prepared.cube.times.words(), frame["cutoff"].unique().tolist())
    return Answer(frame=chosen.reset_index(drop=True), files=() if out is None else (out,), notes=notes)


def flattering(run: Run, times: Sequence[str], cutoffs: Sequence[str]) -> list[str]:
    """A line on the cutoffs after which come times that were learnt from."""
    first = run.facts["splits"]["test"]["first"]
    early = [cutoff for cutoff in cutoffs if first in times and times.index(cutoff) + 1 < times.index(first)]
    where = f"{len(early)} of {len(cutoffs)} cutoffs lie before the test, which begins at {first}."
    return [f"{where} Errors there are too low: models were fitted on what followed."] if early else []


def audit_grid(config: GridConfig, run: Run | None = None) -> AuditReport:
    """Whether a field is in two parts or made of later ones, and from which times what is scored was learnt."""
    prepared = prepare_grid(config, TASK.locate(config.data or ""))
    words, splits = prepared.cube.times.words(), {split: np.arange(*prepared.borders[split]) for split in SPLITS}
    digests, parts, step = [], [], -(-math.prod(prepared.values.shape) // BLOCK)
    for _, _, block in in_blocks(prepared.values):
        digests += [sample_digest(np.nan_to_num(field)) for field in block]
        parts.append(block[:, ::step])
    counts = ", ".join(f"{split} {len(rows)}" for split, rows in splits.items())
    sound = [
        "no time is forecast in two parts, whose order is that of time",
        f"what is scored was learnt from times before {words[splits['test'][0]]}, the first of the test",
    ]
    copies = check_duplicates(by_split(digests, splits), by_split(words, splits), "fields")
    verdicts = [*sound, copies, *check_fields(np.concatenate(parts))]
    return AuditReport.of(f"{prepared.source}: {len(words)} times; {counts}", verdicts)


TASK = Task(
    **GRIDS.parts,
    own=OURS,
    page="multiway.tasks.grids.page:PAGE",
    needs="a grid. Give a file",
    state=GridState,
    fields_of_validation=(*VALIDATION, "horizon", "context"),
    prepare=prepare_grid,
    audit=audit_grid,
    names=lambda config, state: (OURS,),
    settle=settle_network,
    answers=lambda config, state: (OURS, *list_candidates(config, state)),
    build=lambda config, state, name: GridFloors(config, state),
    fit=fit_model,
    choose=choose_answer,
    refit=refit_floors,
    calibrate=learn_all,
    check_stored=check_stored,
    predict=predict_split,
    score=score_split,
    tables=list_tables,
    describe=describe_splits,
    metrics=list_metrics,
    sentence=summarise,
    far=find_far,
    far_scored=find_far,
    answer=answer_grid,
    backtest=backtest_grid,
    explain=write_explanation,
    network_in=swappable_part,
    sample=sample_inputs,
)
