"""The task `forecast`."""

import dataclasses
import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.data import CheckReport, Panel, check_file, mase_scales
from multiway.data.series.leaky import NOTE
from multiway.data.series.splits import LEAKY
from multiway.data.series.state import ForecastState
from multiway.data.writing import check_target, write_table
from multiway.errors import ConfigError, DataError
from multiway.explain import save_explanation
from multiway.models.ridge_and_network import RidgeAndNetwork
from multiway.tasks.answers import Answer, written
from multiway.tasks.fitting import announce
from multiway.tasks.forecasting import auditing, explanation, fitting, sections
from multiway.tasks.forecasting.backtest import backtest_frame, score_backtest
from multiway.tasks.forecasting.cautions import cautions
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.evaluation import (
    Errors,
    Units,
    coverage_rows,
    error_frame,
    horizon_rows,
    measure,
    score_rows,
)
from multiway.tasks.forecasting.facts import ForecastFacts
from multiway.tasks.forecasting.future import future_frame
from multiway.tasks.forecasting.model import all_forecasts, model_of
from multiway.tasks.forecasting.options import OPTIONS
from multiway.tasks.forecasting.prepared import Prepared, prepare, prepare_later, read_later, season_in
from multiway.tasks.protocol import OURS, VALIDATION, Context, Metric, Row, Task
from multiway.tasks.run import Run
from multiway.tasks.stored import same_length
from multiway.training import History, RunFolder

SAMPLED = 64
"""Validation windows that a compression is measured on."""
SCALED, ORIGINAL = {"scale": "scaled"}, {"scale": "original"}
METRICS = (
    Metric(name="mse", title="MSE", higher=False, spread=True, where=SCALED),
    Metric(name="mae", title="MAE", higher=False, spread=True, where=SCALED),
    Metric(name="mase", title="MASE", higher=False, spread=True, where=SCALED),
    Metric(name="mse (original)", title="MSE, original scale", of="mse", higher=False, where=ORIGINAL),
    Metric(name="mae (original)", title="MAE, original scale", of="mae", higher=False, where=ORIGINAL),
    Metric(name="rmse", title="RMSE", higher=False, decimals=None, where=ORIGINAL),
    Metric(name="wape", title="WAPE", higher=False, decimals=4, spread=True, where=ORIGINAL),
    Metric(name="smape", title="sMAPE", higher=False, decimals=4, spread=True, where=ORIGINAL),
    Metric(name="pinball", title="Pinball loss", higher=False, decimals=None, where=ORIGINAL),
)


class Forecasting(Task[ForecastConfig, Prepared, ForecastState]):
    """The next steps of a panel of series."""

    name = "forecast"
    page = sections
    config = ForecastConfig
    state = ForecastState
    fields_of_validation = (*VALIDATION, "horizon")
    facts = ForecastFacts
    options = OPTIONS

    def prepare(
        self, config: ForecastConfig, source: Any, state: ForecastState | None = None, *, progress: bool = False
    ) -> Prepared:
        """See `multiway.tasks.forecasting.prepared`; a source is a path or a frame."""
        return prepare(config, source) if state is None else prepare_later(config, state, source)

    def check(self, config: ForecastConfig, source: Any) -> CheckReport:
        """What is in a file or frame of series.

        Raises:
            DataError: A pair is given.
        """
        if isinstance(source, tuple):
            raise DataError("forecast: series are forecast from themselves. Give one frame and no y.")
        return check_file(source, config.read, config.split)

    def audit(self, config: ForecastConfig, run: Run | None = None) -> AuditReport:
        """See `multiway.tasks.forecasting.auditing`."""
        return auditing.audit(config, run)

    def learn(self, config: ForecastConfig, prepared: Prepared) -> ForecastState:
        """Names, season and scaling of the training rows, and the kind of ridge that validation prefers."""
        panel, scaler, season = prepared.panel, prepared.scaler, season_in(config, prepared.panel)
        training = scaler.transform(panel.values[slice(*prepared.borders.train)])
        targets = mase_scales(training, season)[-prepared.windows["train"].num_targets :]
        return ForecastState(
            names=panel.names, frequency=panel.frequency, season=season, scaler=scaler,
            mase_scale=targets, shared=prepared.floor.shared,
        )  # fmt: skip

    def names(self, config: ForecastConfig, state: ForecastState) -> tuple[str, ...]:
        """Ours, which holds ridge and network and makes the naive forecasts too, then the baselines of the config."""
        return (OURS, *config.baselines)

    def build(self, config: ForecastConfig, state: ForecastState, name: str) -> nn.Module:
        """Ridge and network side by side, or a baseline."""
        count = len(state.names)
        if name != OURS:
            return fitting.build_baseline(name, config, count)
        network = fitting.build_network(config, count) if config.network else None
        targets = len(state.targets)
        matrices = 1 if state.shared else targets
        return RidgeAndNetwork(config.lookback, config.horizon, state.season, matrices, network, targets)

    def fit(self, run: Run, name: str, prepared: Prepared, context: Context) -> History | dict[str, Any] | None:
        """Ridge in closed form, then the network; or a baseline."""
        if name != OURS:
            announce(name, context)
            return fitting.fit_baseline(run.models[name], prepared, run.config, context)
        return fitting.fit(model_of(run), prepared, run.config, context)

    def calibrate(self, run: Run, prepared: Prepared) -> dict[str, Tensor]:
        """Radii of the intervals, after the network's weight."""
        radii, facts = fitting.calibrate(model_of(run), prepared, run.config)
        run.facts |= facts
        return {"radii": radii}

    def check_stored(self, run: Run) -> None:
        """Scaling and radii fit the levels, steps and variates.

        Raises:
            ValueError: They do not.
        """
        state = run.state
        same_length({"names": state.names, "mean": state.scaler.mean, "std": state.scaler.std})
        targets = run.config.num_targets or len(state.names)
        same_length({"mase": state.mase_scale, "targets": state.names[-targets:]})
        wanted = (len(run.config.levels), run.config.horizon, targets)
        if run.calibration["radii"].shape != wanted:
            raise ValueError(f"radii of {tuple(run.calibration['radii'].shape)} in place of {wanted}")

    def predict(self, run: Run, prepared: Prepared, split: str) -> dict[str, Errors]:
        """Errors of every forecast, summed over windows: the forecasts themselves are not kept."""
        radii = run.calibration["radii"]
        return measure(prepared.windows[split], partial(all_forecasts, run), run.state.target_scaler, radii)

    def score(self, run: Run, predictions: dict[str, Errors], split: str) -> list[Row]:
        """MSE and MAE on both scales, MASE; RMSE, WAPE, sMAPE, pinball loss and coverage in the units of the file."""
        radii, state = run.calibration["radii"], run.state
        units = Units(state.target_scaler.std, state.mase_scale, radii, run.config.levels)
        return score_rows(predictions, split, units) + horizon_rows(predictions, split, units, run.config.horizons)

    def tables(self, run: Run, predictions: dict[str, Errors], split: str) -> dict[str, pd.DataFrame]:
        """Errors by variate and step; with the last split also the forecast beyond the data."""
        errors = {"errors": error_frame(predictions, split, run.state.targets)}
        if split != "test":
            return errors
        return {**errors, "predictions": future_frame(run, run.prepared.panel, None, "long")}

    def test_facts(self, run: Run, predictions: dict[str, Errors]) -> dict[str, Any]:
        """How many test values the intervals hold."""
        return {"coverage": coverage_rows(predictions[OURS], run.calibration["radii"], run.config.levels)}

    def describe(self, run: Run, prepared: Prepared) -> dict[str, Any]:
        """Sizes and the rows of the splits."""
        panel = prepared.panel
        return {
            "rows": panel.num_rows,
            "variates": panel.num_variates,
            "layout": panel.layout,
            "young": list(prepared.young),
            "missing_cells": int(np.isnan(panel.values).sum()),
            "splits": {name: _split_facts(prepared, name) for name in dataclasses.asdict(prepared.borders)},
        }

    def keep(self, run: Run, prepared: Prepared, folder: RunFolder) -> None:
        """Attention maps."""
        if explanation.mapped(run):
            maps = explanation.explain(run, prepared.panel, prepared.windows["test"])
            save_explanation(folder.path / explanation.FOLDER, maps)

    def metrics(self, config: ForecastConfig) -> tuple[Metric, ...]:
        """MSE on scaled data decides."""
        apart = (_first_steps(*each) for each in itertools.product(config.horizons, ("mse", "mae")))
        return (*METRICS, *apart, *(_coverage_of(level) for level in config.levels))

    def sentence(self, run: Run) -> str:
        """What forecasts, and why."""
        return str(run.facts["selection"]["sentence"])

    def cautions(self, run: Run) -> list[str]:
        """See `multiway.tasks.forecasting.cautions`."""
        leaks = [NOTE] if run.config.split.protocol == LEAKY else []
        return [*leaks, *cautions(run.facts)]

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """What validation chose."""
        return {"selections": [self.sentence(run) for run in runs]}

    def answer(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """The steps after the end of a file."""
        check_target(out)
        panel = self._panel(run, data)
        return written(future_frame(run, panel, options.get("levels"), options.get("layout", "long")), out)

    def backtest(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """Scores of forecasts from past moments; the forecasts are written where a path is given."""
        check_target(out)
        frame = backtest_frame(run, self._panel(run, data), options.get("cutoffs", 10), options.get("step"))
        if out is not None:
            write_table(frame, out)
        return Answer(frame=pd.DataFrame(score_backtest(frame)), files=() if out is None else (out,))

    def _panel(self, run: Run, data: str | None) -> Panel:
        source = data or run.config.data
        if source is None:
            raise ConfigError("this run was fitted on a frame in memory. Give a file with --data.")
        return read_later(run.config, run.state, self.locate(source))

    def explain(self, run: Run, out: Path | None, options: dict[str, Any]) -> Answer:
        """Attention maps as arrays and PNG files, and what is strongest."""
        return explanation.write_explanation(run, out)

    def swappable(self, model: nn.Module) -> nn.Module:
        """The network; ridge stays as it is.

        Raises:
            ConfigError: There is none.
        """
        assert isinstance(model, RidgeAndNetwork)
        if model.network is None:
            raise ConfigError(
                "compress: the run has no network to compress. Set network to true in training (--set network=true)."
            )
        return model.network

    def sample(self, run: Run, prepared: Prepared) -> tuple[Tensor | None, ...]:
        """Validation windows, evenly spread."""
        batch = prepared.windows["validation"].spread(SAMPLED)
        return batch["past"], batch.get("past_observed")


def _first_steps(steps: int, metric: str) -> Metric:
    title = f"{metric.upper()}, {steps} steps"
    return Metric(name=f"{metric}_{steps}", title=title, higher=False, spread=True, where=SCALED)


def _coverage_of(level: float) -> Metric:
    return Metric(name=f"coverage_{level:g}", title=f"Coverage of {level:g} %", higher=None, where=ORIGINAL)


def _split_facts(prepared: Prepared, name: str) -> Row:
    start, stop = getattr(prepared.borders, name)
    times = prepared.panel.times
    return {
        "rows": stop - start, "windows": len(prepared.windows[name]), "first": str(times[start]),
        "last": str(times[stop - 1]), "start": start, "stop": stop,
    }  # fmt: skip


TASK = Forecasting()
