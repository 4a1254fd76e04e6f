"""The task `forecast`, as the workflows see it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.config import merge
from multiway.data import CheckReport, ReadOptions, check_file, datasets
from multiway.errors import ConfigError, RunError
from multiway.explain import top_pairs
from multiway.tasks.forecasting.auditing import audit as audit
from multiway.tasks.forecasting.backtest import evaluate_panel
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.explanation import draw_explanation, load_explanation, save_explanation
from multiway.tasks.forecasting.run import NAME as NAME
from multiway.tasks.forecasting.run import ForecastRun
from multiway.tasks.forecasting.run import load as load
from multiway.tasks.forecasting.run import resume as resume
from multiway.tasks.forecasting.run import start as start
from multiway.tasks.forecasting.sections import compare as compare
from multiway.tasks.forecasting.sections import report as report
from multiway.tasks.forecasting.tables import cell_row as cell_row
from multiway.tasks.forecasting.tables import score_table as score_table
from multiway.tasks.protocol import Row
from multiway.tasks.tables import write_frame


def make_config(settings: dict[str, Any], overrides: dict[str, Any]) -> ForecastConfig:
    """Settings over what a known data set brings, overrides over both.

    A known data set brings its published split and reading policy, and its season.
    """
    name = merge(settings, overrides).get("data")
    if isinstance(name, str) and datasets.is_dataset(name):
        known = datasets.dataset(name)
        brought = {"read": known.read.plain(), "split": known.split.plain(), "season": known.season}
        settings = merge(brought, settings)
    return ForecastConfig.parse(merge(settings, overrides), "settings")


def sentence(run: ForecastRun) -> str:
    """What forecasts, and why."""
    return str(run.selection["sentence"])


def evaluate(runs: Sequence[ForecastRun], data: str | None, split: str) -> list[Row]:
    """Stored scores, or fresh ones on a later file."""
    if data is None:
        return score_table(runs, split)
    panel = runs[0].read(data)
    scored = [dataclasses.replace(run, scores=evaluate_panel(run, panel)) for run in runs]
    return score_table(scored, panel.source)


def predict(run: ForecastRun, data: str | None, out: Path | None, options: dict[str, Any]) -> list[str]:
    """Forecast the steps after the end of a file; the rows themselves are returned where no path is given."""
    frame = run.predict(source_of(run, data), options.get("levels"), options.get("layout", "long"))
    if out is None:
        return [frame.to_csv(index=False).rstrip()]
    write_frame(frame, out)
    return [f"{len(frame)} rows written to {out}"]


def source_of(run: ForecastRun, data: str | None) -> str:
    """The file that was given, or the one that the run was trained on.

    Raises:
        ConfigError: There is neither.
    """
    source = data or run.config.data
    if source is None:
        raise ConfigError("this run was fitted on a frame in memory. Give a file with --data.")
    return source


def explain(run: ForecastRun, out: Path | None, options: dict[str, Any]) -> list[str]:
    """Write attention maps as arrays and PNG files; return what is strongest and where the files are."""
    folder = run.folder
    assert folder is not None
    if run.model.network is None:
        raise RunError(
            f"{folder.path}: the run has no network, and ridge attends to nothing. "
            "Set network to true in training (--set network=true)."
        )
    explanation = load_explanation(folder.path / "explanation")
    target = out or folder.path / "explanation"
    target.mkdir(parents=True, exist_ok=True)
    if out is not None:
        save_explanation(target, explanation)
    paths = draw_explanation(target, explanation)
    strongest = [
        f"{item.mode}, block {item.layer}: {pair}" for item in explanation.average for pair in top_pairs(item, 3)
    ]
    return [*strongest, *map(str, paths)]


def check(path: str | Path, options: dict[str, Any]) -> CheckReport:
    """What is in a file of series, under the reading options of `read`."""
    return check_file(path, ReadOptions.parse(options.get("read", {}), "reading options"))
