"""What a forecast is refitted on before it is used: all candidates in their form, a network for its best epochs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

from torch import nn

from multiway.models.regression import Regression
from multiway.models.weighed_forecasts import answers_of
from multiway.tasks.forecasting.candidate import fit_all
from multiway.tasks.forecasting.candidates.regression import left_of
from multiway.tasks.forecasting.encode import USES, PreparedPanel, sizes_of
from multiway.tasks.forecasting.floor import refit_floor
from multiway.tasks.forecasting.network import (
    WindowLoss,
    build_network,
    model_of,
    samples_of,
    set_apart,
    shown_to,
    start_from,
)
from multiway.tasks.forecasting.windows import Windows
from multiway.tasks.protocol import OURS, Context, Row
from multiway.tasks.run import Run
from multiway.terminal import tell
from multiway.training import seed_everything, train
from multiway.training.processes import is_main


def refit(run: Run, prepared: PreparedPanel, context: Context, uses: Sequence[str] = USES) -> Row:
    """Refit all candidates for some uses; facts on how many rows each, and for how many epochs the network was."""
    model = model_of(run)
    rows = {use: prepared.refit_rows[use] for use in model.refits}
    has_share, known = run.facts["selection"]["weight"] > 0, dict(model.candidates.items())
    for use in (use for use in uses if use in rows):
        made, windows = cast(nn.ModuleDict, model.refits[use]), prepared.before(rows[use])
        sizes = sizes_of(run.config, run.state, run.state.low_for(use))
        fitted = fit_all(sizes, list(known), windows.of_targets(), known, prepared.floor)
        if "network" in made:
            assert model.network is not None
            own = dataclasses.replace(context, model=f"refit-{use}")
            fitted["network"] = _retrained(run, prepared, windows, fitted, own) if has_share else model.network
        model.refits[use] = nn.ModuleDict(fitted)
    epochs = run.facts["best"][OURS]["epoch"] if has_share and run.config.retrains else 0.0
    return {"refit": rows, "retrained": epochs}


def drop_networks(run: Run) -> None:
    """Leave the network of the training rows alone in a run."""
    run.facts["retrained"] = 0.0
    for made in model_of(run).refits.values():
        del cast(nn.ModuleDict, made)["network"]


def _retrained(
    run: Run, prepared: PreparedPanel, windows: Windows, fitted: Mapping[str, nn.Module], context: Context
) -> nn.Module:
    """The network, trained from the seed of the run on other windows: the epochs and the schedule are as they were."""
    config, epochs, model = run.config, run.facts["best"][OURS]["epoch"], model_of(run)
    if context.progress and is_main():
        tell(f"training the network again, for {epochs:g} epochs on {len(windows.rows):,} rows")
    first = shown_to(model, prepared)
    if model.explained:
        windows = left_of(windows, cast(Regression, fitted["regression"]))
    seed_everything(config.training.seed)
    network = build_network(config, len(run.state.names), run.state.covariates)
    floor = first.floor if config.group == "auto" else dataclasses.replace(first.floor, shared=True)
    start_from(network, windows, lambda: refit_floor(floor, windows.of_targets()))
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
