"""A forecasting run: started, continued, stored and taken up again."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from multiway import compress, files
from multiway.data import Borders, Panel, ReadOptions, Scaler, match_panel, read_panel
from multiway.errors import DataError, RunError
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.evaluation import Errors
from multiway.tasks.forecasting.explanation import explain, save_explanation
from multiway.tasks.forecasting.fitting import Fitted, fit, sentence
from multiway.tasks.forecasting.future import at_frequency, future_frame
from multiway.tasks.forecasting.model import RidgeAndNetwork
from multiway.tasks.forecasting.prepared import Prepared, locate, prepare
from multiway.tasks.processes import is_main
from multiway.tasks.run_folders import continued, open_finished, readable, started
from multiway.training import RunFolder

NAME = "forecast"
SCORES, SELECTION, PREPROCESSING, RADII = "scores.json", "selection.json", "preprocessing.json", "intervals.safetensors"
ERRORS, PREDICTIONS, EXPLANATION = "errors.parquet", "predictions.parquet", "explanation"


@dataclasses.dataclass(kw_only=True)
class ForecastRun:
    """A fitted forecaster with all that is needed to use it on other data."""

    config: ForecastConfig
    model: RidgeAndNetwork
    scaler: Scaler
    names: tuple[str, ...]
    frequency: str | None
    season: int
    mase_scale: np.ndarray[Any, np.dtype[np.float64]]
    radii: Tensor
    selection: dict[str, Any]
    scores: list[dict[str, Any]]
    coverage: list[dict[str, Any]]
    facts: dict[str, Any]
    folder: RunFolder | None = None

    def read(self, source: Any) -> Panel:
        """Read a file or frame under the run's policies and bring its columns into the run's order by name.

        Raises:
            DataError: It lacks a series, or its rows are not as far apart as those of the training.
        """
        options = self.config.read.replace(variates=self.names)
        panel = match_panel(_read(locate(source) if isinstance(source, str) else source, options), self.names)
        return at_frequency(panel, self.frequency, strict=self.config.read.gaps != "ignore")

    def predict(self, source: Any, levels: tuple[float, ...] | None = None, layout: str = "long") -> pd.DataFrame:
        """Forecast the steps after the end of a file or frame, with intervals."""
        return future_frame(self, self.read(source), levels, layout)


def _read(source: Any, options: ReadOptions) -> Panel:
    """Read under a run's policies; say of a fix that is an option that it is one of training."""
    try:
        return read_panel(source, options)
    except DataError as error:
        if "(--" not in str(error):
            raise
        raise DataError(f"{error} A run keeps the options it was trained with: fix the file, or train anew.") from None


def start(config: ForecastConfig, path: Path, *, progress: bool = False) -> ForecastRun:
    """Read the data, then make the folder, then fit: an error in the data leaves nothing behind."""
    if config.data is None:
        raise RunError("a run on disk needs data: give a file or the name of a known data set.")
    source = locate(config.data)
    prepared = prepare(config, source)
    digest = files.sha256_of(Path(source))
    with started(path, NAME, digest, config) as folder:
        return _fit_into(folder, prepared, config, digest, progress)


def resume(path: Path, *, progress: bool = False) -> ForecastRun:
    """Continue an interrupted run to the same weights; a finished one is only loaded.

    Raises:
        RunError: The data changed since the start, or the folder is no run.
    """
    folder = RunFolder.open(path)
    if folder.is_finished:
        return load(path)
    with continued(folder, NAME, ForecastConfig) as (config, digest):
        source = locate(config.data or "")
        if Path(source).is_file() and files.sha256_of(Path(source)) != digest:
            raise RunError(f"{path}: {source} changed since the run was started. Start a new run, or restore the file.")
        return _fit_into(folder, prepare(config, source), config, digest, progress)


def _fit_into(
    folder: RunFolder, prepared: Prepared, config: ForecastConfig, digest: str, progress: bool
) -> ForecastRun:
    fitted = fit(prepared, config, run=folder, progress=progress)
    run = from_fitted(config, prepared, fitted)
    run.folder = folder
    if is_main():
        store(run, folder, prepared, fitted, digest)
    return run


def from_fitted(config: ForecastConfig, prepared: Prepared, fitted: Fitted) -> ForecastRun:
    """Gather what a run keeps."""
    panel, windows = prepared.panel, prepared.windows
    chosen = {} if fitted.selection is None else dataclasses.asdict(fitted.selection)
    return ForecastRun(
        config=config,
        model=fitted.model,
        scaler=prepared.scaler,
        names=panel.names,
        frequency=panel.frequency,
        season=prepared.season,
        mase_scale=prepared.mase_scale,
        radii=fitted.radii,
        selection={
            "sentence": sentence(fitted.selection),
            **{name: _finite(value) for name, value in chosen.items()},
            "ridge": {
                name: getattr(fitted.floor, name)
                for name in ("shared", "penalty", "validation_mse", "gain_of_own", "gain_deviation")
            },
        },
        scores=fitted.scores,
        coverage=fitted.coverage,
        facts={
            "rows": panel.num_rows,
            "variates": panel.num_variates,
            "layout": panel.layout,
            "source": panel.source,
            "notes": [*panel.notes, *prepared.notes],
            "missing_cells": int(np.isnan(panel.values).sum()),
            "splits": {
                name: {
                    "rows": stop - start,
                    "windows": len(windows[name]),
                    "first": str(panel.times[start]),
                    "last": str(panel.times[stop - 1]),
                    "start": start,
                    "stop": stop,
                }
                for name, (start, stop) in dataclasses.asdict(prepared.borders).items()
            },
            "seconds": {name: round(value, 3) for name, value in fitted.seconds.items()},
            "parameters": _parameters(fitted.model),
        },
    )


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _parameters(model: RidgeAndNetwork) -> dict[str, int]:
    network = 0 if model.network is None else sum(p.numel() for p in model.network.parameters())
    return {"ridge": model.floor.weight.numel(), "network": network}


def store(run: ForecastRun, folder: RunFolder, prepared: Prepared, fitted: Fitted, digest: str | None) -> None:
    """Write every file of a finished run, then seal it."""
    from safetensors.torch import save_file

    folder.save_weights(run.model)
    files.write_with(folder.path / RADII, lambda path: save_file({"radii": run.radii.contiguous()}, path))
    folder.write_json(
        PREPROCESSING,
        {
            "names": run.names,
            "frequency": run.frequency,
            "season": run.season,
            "scaler": run.scaler.to_dict(),
            "mase_scale": run.mase_scale.tolist(),
            "facts": run.facts,
        },
    )
    folder.write_json(SELECTION, {**run.selection, "candidates": fitted.floor.candidates})
    folder.write_json(SCORES, {"scores": run.scores, "coverage": run.coverage})
    errors = error_frame(fitted.errors, run.names)
    files.write_with(folder.path / ERRORS, lambda path: errors.to_parquet(path, index=False))
    predictions = future_frame(run, prepared.panel, None, "long")
    files.write_with(folder.path / PREDICTIONS, lambda path: predictions.to_parquet(path, index=False))
    if run.model.network is not None and run.model.network.config.attention == "kronecker":
        save_explanation(folder.path / EXPLANATION, explain(run, prepared.panel, prepared.windows["test"]))
    folder.finish({"task": NAME, "data_sha256": digest, "seed": run.config.training.seed})


def error_frame(errors: dict[str, dict[str, Errors]], names: tuple[str, ...]) -> pd.DataFrame:
    """Scaled errors by split, model, variate and step, as a tidy table."""
    frames = []
    for split, models in errors.items():
        for model, error in models.items():
            count = error.count.clamp_min(1)
            steps, variates = error.count.shape
            frames.append(
                pd.DataFrame(
                    {
                        "split": split,
                        "model": model,
                        "variate": np.tile(np.array(names, dtype=object), steps),
                        "step": np.repeat(np.arange(1, steps + 1), variates),
                        "mse": (error.squared / count).flatten().numpy(),
                        "mae": (error.absolute / count).flatten().numpy(),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def load(path: Path) -> ForecastRun:
    """Take up a finished run; every file is checked against its hash first.

    Raises:
        RunError: It is unfinished, damaged, or no run of this task.
    """
    from safetensors.torch import load_file

    folder, config = open_finished(path, NAME, ForecastConfig)
    state, selection, scores = (folder.read_json(name) for name in (PREPROCESSING, SELECTION, SCORES))
    with readable(path, "forecasting run"):
        names = tuple(state["names"])
        matrices = 1 if selection["ridge"]["shared"] else len(names)
        network = config.network_config(len(names)) if config.network else None
        model = RidgeAndNetwork(config.lookback, config.horizon, state["season"], matrices, network)
        if model.network is not None and compress.has_swaps(folder.path):
            compress.restore(model.network, folder.path)
        folder.load_weights(model)
        radii = load_file(folder.path / RADII)["radii"]
        return ForecastRun(
            config=config,
            model=model.eval(),
            scaler=Scaler.from_dict(state["scaler"]),
            names=names,
            frequency=state["frequency"],
            season=state["season"],
            mase_scale=np.array(state["mase_scale"]),
            radii=radii,
            selection=selection,
            scores=scores["scores"],
            coverage=scores["coverage"],
            facts=state["facts"],
            folder=folder,
        )


def borders_of_run(run: ForecastRun) -> Borders:
    """Rows of the splits that the run was fitted with."""
    splits = run.facts["splits"]
    return Borders(**{name: (splits[name]["start"], splits[name]["stop"]) for name in ("train", "validation", "test")})
