"""Rows that came after those of a run: joined to them, and candidates refitted on rows up to any moment."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

from torch import nn

from multiway.data.scaling import Floats
from multiway.errors import ConfigError, Fix, MultiwayWarning, warn
from multiway.models.regression import Regression
from multiway.models.weighed_forecasts import WeighedForecasts, answers_of
from multiway.tasks.forecasting.candidate import fit_all
from multiway.tasks.forecasting.candidates.regression import leave_effects
from multiway.tasks.forecasting.encode import (
    USES,
    PreparedPanel,
    check_longer,
    lowest_before,
    prepare_panel,
    regressors_of,
    sizes_of,
)
from multiway.tasks.forecasting.network import (
    WindowLoss,
    build_network,
    model_of,
    samples_of,
    set_apart,
    start_from,
    windows_for_network,
)
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.ridge import ChosenRidge
from multiway.tasks.forecasting.windows import Windows, all_windows
from multiway.tasks.protocol import OURS, Context, Row
from multiway.tasks.run import Run, digest_of
from multiway.terminal import tell
from multiway.training import seed_everything, train
from multiway.training.processes import is_main


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
    longer = dataclasses.replace(run, config=config, prepared=prepare_panel(config, source, rows))
    panel, before = longer.prepared.panel, () if run.prepared is None else run.prepared.panel.warned
    if run.prepared is not None:
        check_longer(run.prepared.panel, panel)
    for words in panel.warned:
        if words not in before:
            warn(MultiwayWarning.of(run.task.name, f"{panel.source}: ", *words))
    low = lowest_before(panel, panel.num_rows, run.state.low)
    longer.state = run.state.replace(later_low={**run.state.later_low, "future": low})
    longer.facts = {**run.facts, "rows": longer.prepared.panel.num_rows}
    longer.facts |= refit(longer, longer.prepared, Context(), uses=("future",))
    longer.facts["notes"] = list(longer.prepared.notes)
    longer.facts["data_sha256"] = digest_of(longer.prepared.content())
    return longer


def fit_before(run: Run, panel: Panel, row: int) -> tuple[WeighedForecasts, Floats]:
    """The answer by candidates fitted on the rows before one, and the smallest values of these.

    Forms, penalties and weights are those of validation.
    """
    model, config, state = model_of(run), run.config, run.state
    windows = all_windows(
        panel.slice(0, row), state.scaler, config.lookback, config.horizon, len(state.targets)
    ).with_covariates(regressors_of(panel, state.covariates))
    ridge = ChosenRidge(weight=model.floor.weight, common=model.floor.weight, **run.facts["selection"]["ridge"])
    low, known = lowest_before(panel, row, state.low), dict(model.candidates.items())
    sizes = sizes_of(config, state, low)
    return model.by(fit_all(sizes, list(known), windows.of_targets(), known, ridge)), low


def refit(run: Run, prepared: PreparedPanel, context: Context, uses: Sequence[str] = USES) -> Row:
    """Refit all candidates for some uses; facts on how many rows each, and for how many epochs the network was."""
    model = model_of(run)
    rows = {use: prepared.refit_rows[use] for use in model.refits}
    has_share, known = run.facts["selection"]["weight"] > 0, dict(model.candidates.items())
    for use in (use for use in uses if use in rows):
        made, windows = cast(nn.ModuleDict, model.refits[use]), prepared.before(rows[use])
        sizes = sizes_of(run.config, run.state, run.state.low_for(use))
        fitted = fit_all(sizes, list(known), windows.of_targets(), known, prepared.ridge)
        if "network" in made:
            assert model.network is not None
            own = dataclasses.replace(context, model=f"refit-{use}")
            fitted["network"] = _retrain_network(run, prepared, windows, fitted, own) if has_share else model.network
        model.refits[use] = nn.ModuleDict(fitted)
    epochs = run.facts["best"][OURS]["epoch"] if has_share and run.config.retrains else 0.0
    return {"refit": rows, "retrained": epochs}


def drop_networks(run: Run) -> None:
    """Leave the network of the training rows alone in a run."""
    run.facts["retrained"] = 0.0
    for made in model_of(run).refits.values():
        del cast(nn.ModuleDict, made)["network"]


def _retrain_network(
    run: Run, prepared: PreparedPanel, windows: Windows, fitted: Mapping[str, nn.Module], context: Context
) -> nn.Module:
    """The network, trained from the seed of the run on other windows: the epochs and the schedule are as they were."""
    config, epochs, model = run.config, run.facts["best"][OURS]["epoch"], model_of(run)
    if context.progress and is_main():
        tell(f"training the network again, for {epochs:g} epochs on {len(windows.rows):,} rows")
    first = windows_for_network(model, prepared)
    if model.explained:
        windows = leave_effects(windows, cast(Regression, fitted["regression"]))
    seed_everything(config.training.seed)
    network = build_network(config, len(run.state.names), run.state.covariates)
    ridge = first.ridge if config.group == "auto" else dataclasses.replace(first.ridge, shared=True)
    start_from(network, windows, lambda: ridge.refit(windows.of_targets()))
    train(
        network,
        WindowLoss(config.training.loss, config.horizons, answers_of(network)),
        samples_of(windows, config),
        None,
        config.training.replace(epochs=config.training.epochs_of(len(samples_of(first.windows["train"], config)))),
        epochs=epochs,
        run=context.own_folder(),
        progress=context.progress,
    )
    set_apart(network, windows)
    return network.to("cpu").eval()
