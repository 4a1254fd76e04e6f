"""Rows that came after those of a run: joined to them, and candidates refitted on rows up to any moment."""

import dataclasses
from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import nn

from multiway.data.scaling import Floats
from multiway.errors import ConfigError, Fix, MultiwayWarning, warn
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.forecasting.bands import POWER, WIDEST, Bands
from multiway.tasks.forecasting.candidate import Rows, Training, candidates, refit_candidates
from multiway.tasks.forecasting.choice import follow_test_rows
from multiway.tasks.forecasting.encode import (
    USES,
    PreparedPanel,
    check_longer,
    complete,
    prepare_panel,
    sizes_of,
)
from multiway.tasks.forecasting.held_out import Stretch, errors_of
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.ridge import ChosenRidge
from multiway.tasks.forecasting.windows import all_windows
from multiway.tasks.protocol import OURS, Context
from multiway.tasks.run import Run, digest_of

WIDE, HELD = 95.0, 0.6
"""Bands in percent whose share of the test values is looked at, and the share below which they are too narrow."""


def take_in(run: Run, source: object, *updates: str) -> Run:
    """Take in rows that came later: what forecasts the future is fitted on all rows; bands stay.

    The same as a training with these `updates`, whose other steps come to what they came to before. The models are
    those of the run, changed in place.

    Args:
        run: A finished run.
        source: What it was fitted on; without `updates` with the later rows at its end.
        updates: Files of later rows.
    """
    model = model_of(run)
    if "future" not in model.refits:
        raise ConfigError(
            "update: the run stays as it was fitted on its training rows. Train it with refit (",
            Fix("refit", "closed"),
            ").",
        )
    config = run.config.replace(updates=(*run.config.updates, *updates))
    rows = None if config.updates else run.prepared.rows
    longer = dataclasses.replace(run, config=config, prepared=prepare_panel(config, source, rows=rows))
    panel, before = longer.prepared.panel, () if run.prepared is None else run.prepared.panel.warned
    if run.prepared is not None:
        check_longer(run.prepared.panel, panel)
    for words in panel.warned:
        if words not in before:
            warn(MultiwayWarning.of(run.task.name, f"{panel.source}: ", *words))
    longer.state = run.state.with_rows("future", longer.prepared.panel_for("future"), panel.num_rows)
    longer.facts = {**run.facts, "rows": longer.prepared.panel.num_rows}
    refit_run(longer, longer.prepared, Context(), uses=("future",))
    longer.facts["notes"] = list(longer.prepared.notes)
    longer.facts["data_sha256"] = digest_of(longer.prepared.content())
    return longer


def fit_before(run: Run, panel: Panel, row: int) -> tuple[WeighedForecasts, Floats]:
    """The answer by candidates fitted on the rows before one, and the smallest values of these.

    Forms, penalties and weights are those of validation.
    """
    model, config, state = model_of(run), run.config, run.state
    sizes = config.lookback, config.horizon, len(state.targets)
    windows = complete(all_windows(panel.slice(0, row), state.scaler, *sizes), panel, state.covariates)
    ridge = ChosenRidge(weight=model.floor.weight, common=model.floor.weight, **run.facts["selection"]["ridge"])
    known = state.with_rows("cutoff", panel, row)
    data = Rows(windows.of_targets(), ridge)
    return model.by(
        refit_candidates(sizes_of(config, known, "cutoff"), model.candidates, model.every, data)
    ), known.low_for("cutoff")


def refit_run(run: Run, prepared: PreparedPanel, context: Context, uses: Sequence[str] = USES) -> None:
    """Refit all candidates for some uses; note on how many rows each, and for how many epochs the network was."""
    model, every, config = model_of(run), candidates(), run.config
    rows = {use: prepared.refit_rows[use] for use in model.refits}
    has_share = run.facts["selection"]["weight"] > 0
    epochs = run.facts["best"][OURS]["epoch"] if has_share and config.retrains else 0.0
    for use in (use for use in uses if use in rows):
        windows, names = prepared.before(rows[use], use), list(cast(nn.ModuleDict, model.refits[use]))
        by = Training(
            config, dataclasses.replace(context, model=f"refit-{use}"), prepared.windows, model, epochs=epochs
        )
        data = Rows(windows.of_targets(), prepared.ridge, windows, training=by)
        sizes = sizes_of(config, run.state, use)
        used = [name for name in names if has_share or not every[name].is_stepped]
        formed = {name: each for name, each in model.every.items() if not every[name].is_searched}
        fitted = refit_candidates(sizes, used, formed, data)
        model.refits[use] = nn.ModuleDict({name: fitted.get(name, model.every[name]) for name in names})
    if "future" in uses and "test" in model.refits:
        run.facts["selection"]["later"] = follow_test_rows(model, prepared, run.state.mase_scale)
        run.facts["intervals"].pop("wider", None)
        if run.facts["selection"]["later"] and (wider := widen_bands(run, prepared)):
            run.facts["intervals"]["wider"] = wider
    run.facts |= {"refit": rows, "retrained": epochs}


def bands_for(run: Run, use: str) -> Bands:
    """Bands of errors out of time, beside what the models expect that are fitted for a use."""
    blocks, wider = run.facts["intervals"]["windows"] / run.config.horizon, run.facts["intervals"].get("wider")
    bands = Bands.read(run.calibration).with_spread(model_of(run).fitted_for(use).own_spread(), blocks)
    if use != "future" or not wider:
        return bands
    return bands._replace(offsets=bands.offsets * torch.tensor([wider.get(name, 1.0) for name in run.state.targets]))


def widen_bands(run: Run, prepared: PreparedPanel) -> dict[str, float]:
    """What bands of the future are multiplied by, of the series whose bands missed the test rows by far.

    That is where bands of 95 % held less than `HELD` of the values. They go half of the way to those that would have.
    """
    bands, test, wider = bands_for(run, "test"), prepared.windows["test"], dict[str, float]()
    model = model_of(run).fitted_for("test")
    part = Stretch(test, lambda past, observed, *given: {OURS: model(past, observed, *given)})
    low, high = (edge.double().numpy()[..., None] for edge in bands.edges([WIDE])[0])
    errors = errors_of([part])[OURS].astype(float)
    widths = np.maximum(np.where(errors < 0, -low, high), np.abs(errors) / WIDEST ** (1 / POWER))
    sizes = np.divide(np.abs(errors), widths, where=widths > 0, out=np.full(errors.shape, np.nan))
    for place in np.flatnonzero(~bands.causes["following"]):
        seen = sizes[:, place][~np.isnan(sizes[:, place])]
        if len(seen) and (seen <= 1).mean() < HELD:
            wider[run.state.targets[place]] = float(np.quantile(seen, WIDE / 100) ** POWER)
    return wider


def drop_networks(run: Run) -> None:
    """Leave the network of the training rows alone in a run."""
    run.facts["retrained"] = 0.0
    for made in model_of(run).refits.values():
        del cast(nn.ModuleDict, made)["network"]
