"""Rows that came after those of a run: joined to them, and candidates refitted on rows up to any moment."""

import dataclasses

from multiway.data.scaling import Floats
from multiway.errors import ConfigError, Fix, MultiwayWarning, warn
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.forecasting import network, refitting
from multiway.tasks.forecasting.candidate import fit_all
from multiway.tasks.forecasting.encode import begun, lowest_before, prepare_panel, regressors_of, sizes_of
from multiway.tasks.forecasting.floor import Floor
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.windows import all_windows
from multiway.tasks.protocol import Context
from multiway.tasks.run import Run, digest_of


def take_in(run: Run, source: object, *updates: str) -> Run:
    """Take in rows that came later: what forecasts the future is fitted on all rows; bands stay.

    The same as a training with these `updates`, whose other steps come to what they came to before. The models are
    those of the run, changed in place.

    Args:
        run: A finished run.
        source: What it was fitted on; without `updates` with the later rows at its end.
        updates: Files of later rows.
    """
    model = network.model_of(run)
    if "future" not in model.refits:
        raise ConfigError(
            "update: the run stays as it was fitted on its training rows. Train it with refit (",
            Fix("refit", "closed"), ").",
        )  # fmt: skip
    config = run.config.replace(updates=(*run.config.updates, *updates))
    rows = None if config.updates else run.prepared.rows
    longer = dataclasses.replace(run, config=config, prepared=prepare_panel(config, source, rows))
    panel, before = longer.prepared.panel, () if run.prepared is None else run.prepared.panel.warned
    if run.prepared is not None:
        begun(run.prepared.panel, panel)
    for words in panel.warned:
        if words not in before:
            warn(MultiwayWarning.of(run.task.name, f"{panel.source}: ", *words))
    low = lowest_before(panel, panel.num_rows, run.state.low)
    longer.state = run.state.replace(later_low={**run.state.later_low, "future": low})
    longer.facts = {**run.facts, "rows": longer.prepared.panel.num_rows}
    longer.facts |= refitting.refit(longer, longer.prepared, Context(), uses=("future",))
    longer.facts["notes"] = list(longer.prepared.notes)
    longer.facts["data_sha256"] = digest_of(longer.prepared.content())
    return longer


def fitted_before(run: Run, panel: Panel, row: int) -> tuple[WeighedForecasts, Floats]:
    """The answer by candidates fitted on the rows before one, and the smallest values of these.

    Forms, penalties and weights are those of validation.
    """
    model, config, state = network.model_of(run), run.config, run.state
    windows = all_windows(
        panel.slice(0, row), state.scaler, config.lookback, config.horizon, len(state.targets)
    ).with_covariates(regressors_of(panel, state.covariates))
    floor = Floor(weight=model.floor.weight, common=model.floor.weight, **run.facts["selection"]["ridge"])
    low, known = lowest_before(panel, row, state.low), dict(model.candidates.items())
    sizes = sizes_of(config, state, low)
    return model.by(fit_all(sizes, list(known), windows.of_targets(), known, floor)), low
