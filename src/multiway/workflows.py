"""What the command line does, as functions: check, train, evaluate, predict, backtest, explain, report, compare."""

import dataclasses
import gzip
import json
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from multiway import files
from multiway.compress import Plan, Rule, compress_pretrained, parse_rule
from multiway.data import CheckReport, ReadOptions, check_file, datasets
from multiway.errors import ConfigError, RunError
from multiway.explain import top_pairs
from multiway.recipes import Recipe, load_recipe, recipe_names, recipes_of
from multiway.report import render_comparison, render_forecast_report
from multiway.tasks import forecasting
from multiway.tasks.forecasting import ForecastConfig, ForecastRun

SHOWN = ("mse", "mae", "smape", "mase")


def check(file: str | Path, read: dict[str, Any] | None = None) -> CheckReport:
    """Say what is in a file and what is wrong with it, all at once."""
    return check_file(file, ReadOptions.parse(read or {}, "reading options"))


def list_datasets() -> list[dict[str, object]]:
    """One row per known data set: name, size, licence, and where it lies on this machine."""
    return datasets.describe()


def fetch_dataset(name: str) -> Path:
    """Download a known data set, check its hash, and return its path."""
    return datasets.fetch_dataset(name)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trained:
    """Finished runs that differ in their seed only."""

    runs: list[ForecastRun]

    def lines(self) -> list[str]:
        """What was chosen and where it lies."""
        return [f"{run.folder.path if run.folder else 'run'}: {run.selection['sentence']}" for run in self.runs]

    def table(self) -> list[dict[str, object]]:
        """Test scores of every model beside its baselines, averaged over seeds."""
        return score_table(_mean_scores(self.runs), "test")


def train(
    given: dict[str, Any],
    *,
    recipe: str | None = None,
    overrides: dict[str, Any] | None = None,
    out: Path | None = None,
    seeds: int = 1,
    progress: bool = True,
) -> Trained:
    """Train one run, or one per seed in sub-folders, from a file, a known data set or a recipe."""
    settings = given
    if recipe is not None:
        cell = load_recipe(recipe)
        settings = merge(merge({"data": cell.data, "horizon": cell.horizons[0]}, cell.settings), given)
    config = make_config(settings, overrides or {})
    if config.data is None:
        raise ConfigError("train: there is no data. Give --data FILE, a known data set's name, or a --recipe.")
    folder = out or Path("runs") / (recipe or Path(config.data).name.split(".")[0])
    if seeds == 1:
        return Trained(runs=[forecasting.start(config, folder, progress=progress)])
    return Trained(
        runs=[
            forecasting.start(with_seed(config, seed), folder / f"seed-{seed}", progress=progress)
            for seed in range(config.training.seed, config.training.seed + seeds)
        ]
    )


def resume(path: Path, *, progress: bool = True) -> Trained:
    """Continue an interrupted run."""
    return Trained(runs=[forecasting.resume(path, progress=progress)])


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


def with_seed(config: ForecastConfig, seed: int) -> ForecastConfig:
    """The same config with another seed."""
    return config.replace(training=config.training.replace(seed=seed).plain())


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Nested mappings, the second winning."""
    result = dict(below)
    for name, value in above.items():
        old = result.get(name)
        result[name] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def run_folders(path: Path) -> list[Path]:
    """The folder of a run, or those of every seed below it, in the order of their seeds."""
    if (path / "config.yaml").is_file():
        return [path]
    below = [folder for folder in path.glob("seed-*") if folder.name[5:].isdecimal()]
    return sorted(below, key=lambda folder: int(folder.name[5:])) or [path]


def load_runs(path: Path) -> list[ForecastRun]:
    """The run in a folder, or the runs of every seed below it."""
    return [forecasting.load(folder) for folder in run_folders(path)]


def load_first(path: Path) -> ForecastRun:
    """The run in a folder, or that of the first seed below it: one network forecasts and explains."""
    return forecasting.load(run_folders(path)[0])


def score_table(scores: Sequence[dict[str, Any]], split: str) -> list[dict[str, object]]:
    """One row per model: scaled scores, then the original scale's MSE and MAE."""
    models = list(dict.fromkeys(row["model"] for row in scores if row["split"] == split))
    cell = {(row["model"], row["scale"], row["metric"]): row["value"] for row in scores if row["split"] == split}
    return [
        {
            "model": model,
            **{metric: cell[model, "scaled", metric] for metric in SHOWN},
            **{f"{metric} (original)": cell[model, "original", metric] for metric in ("mse", "mae")},
        }
        for model in models
    ]


def _mean_scores(runs: Sequence[ForecastRun]) -> list[dict[str, Any]]:
    """Mean over runs of every score."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for run in runs:
        for row in run.scores:
            key = (row["model"], row["split"], row["scale"], row["metric"])
            groups.setdefault(key, []).append(row["value"])
    return [
        {"model": model, "split": split, "scale": scale, "metric": metric, "value": statistics.fmean(values)}
        for (model, split, scale, metric), values in groups.items()
    ]


def evaluate(run: Path, *, data: str | None = None, split: str = "test") -> list[dict[str, object]]:
    """A run's stored scores, or fresh ones on a later file."""
    runs = load_runs(run)
    if data is None:
        return score_table(_mean_scores(runs), split)
    panel = runs[0].read(data)
    scored = [dataclasses.replace(each, scores=forecasting.evaluate_panel(each, panel)) for each in runs]
    return score_table(_mean_scores(scored), panel.source)


def predict(
    run: Path,
    *,
    data: str | None = None,
    out: Path | None = None,
    layout: str = "long",
    levels: tuple[float, ...] | None = None,
) -> pd.DataFrame:
    """Forecast the steps after the end of a file, and write them if a path is given."""
    loaded = load_first(run)
    frame = loaded.predict(_source(loaded, data), levels, layout)
    if out is not None:
        write_frame(frame, out)
    return frame


def _source(run: ForecastRun, data: str | None) -> str:
    source = data or run.config.data
    if source is None:
        raise ConfigError("this run was fitted on a frame in memory. Give a file with --data.")
    return source


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write CSV, CSV.gz or Parquet atomically.

    Raises:
        ConfigError: The ending is none of these.
        RunError: The folder does not exist, or the disk is full.
    """
    if not path.parent.is_dir():
        raise RunError(f"{path} could not be written: there is no folder {path.parent}. Make it first.")
    if path.suffix == ".parquet":
        files.write_with(path, lambda temporary: frame.to_parquet(temporary, index=False))
    elif path.name.endswith((".csv", ".csv.gz")):
        text = frame.to_csv(index=False).encode()
        files.write_bytes(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    else:
        raise ConfigError(f"{path} must end in .csv, .csv.gz or .parquet.")


def backtest(
    run: Path, *, data: str | None = None, out: Path | None = None, cutoffs: int = 10, step: int | None = None
) -> list[dict[str, Any]]:
    """Score forecasts from past moments of a file; with a path, also write the forecasts."""
    loaded = load_first(run)
    frame = forecasting.backtest_frame(loaded, loaded.read(_source(loaded, data)), cutoffs, step)
    if out is not None:
        write_frame(frame, out)
    return forecasting.score_backtest(frame)


def explain(run: Path, *, out: Path | None = None) -> list[str]:
    """Write attention maps as arrays and PNG files; return what is strongest and where the files are."""
    loaded = load_first(run)
    folder = loaded.folder
    assert folder is not None
    if loaded.model.network is None:
        raise RunError(
            f"{run}: the run has no network, and ridge attends to nothing. "
            "Set network to true in training (--set network=true)."
        )
    explanation = forecasting.load_explanation(folder.path / "explanation")
    target = out or folder.path / "explanation"
    target.mkdir(parents=True, exist_ok=True)
    if out is not None:
        forecasting.save_explanation(target, explanation)
    paths = forecasting.draw_explanation(target, explanation)
    strongest = [
        f"{item.mode}, block {item.layer}: {pair}" for item in explanation.average for pair in top_pairs(item, 3)
    ]
    return [*strongest, *map(str, paths)]


def report(run: Path, *, out: Path | None = None) -> Path:
    """Write the one-file HTML report of a run, or of its seeds together."""
    target = out or run / "report.html"
    files.write_text(target, render_forecast_report(forecasting.report_content(load_runs(run))))
    return target


def compare(runs: Sequence[Path], *, out: Path | None = None) -> list[dict[str, object]]:
    """Test scores of several runs side by side."""
    if len(runs) < 2:
        raise ConfigError(f"compare: give at least two runs, got {len(runs)}.")
    loaded = {str(path): load_runs(path) for path in runs}
    if out is not None:
        files.write_text(out, render_comparison([forecasting.report_content(each) for each in loaded.values()]))
    rows = ((path, row) for path, each in loaded.items() for row in score_table(_mean_scores(each), "test"))
    return [{"run": path, **row} for path, row in rows]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compressed:
    """The plan of a compression, and the smaller run if a run was compressed and written."""

    plan: Plan
    run: ForecastRun | None

    def lines(self) -> list[str]:
        """What the smaller run forecasts with."""
        return [] if self.run is None else [self.run.selection["sentence"]]

    def table(self) -> list[dict[str, object]]:
        """Its test scores, made anew."""
        return [] if self.run is None else score_table(self.run.scores, "test")


def compress(
    folder: Path,
    rules: Sequence[str],
    *,
    max_parameters: float | None = None,
    max_error: float | None = None,
    data: Path | None = None,
    out: Path | None = None,
    report: Path | None = None,
) -> Compressed:
    """Compress a run's network or a Hugging Face model by rules such as ".*fc1=tt:rank=8"; without `out` only plan."""
    if out is not None and out.exists():
        raise RunError(f"{out} exists already. Set out to another folder (--out FOLDER).")
    parsed = _parse_rules(rules)
    budget = {"max_parameters": max_parameters, "max_error": max_error}
    if (folder / "config.yaml").is_file():
        if data is not None:
            raise ConfigError("compress: a run is measured on its own validation windows. Leave out --data.")
        plan, run = forecasting.compress_run(folder, parsed, **budget, out=out)
    else:
        plan, run = compress_pretrained(folder, parsed, **budget, data=data, out=out), None
    if report is not None:
        files.write_text(report, plan.html(folder.resolve().name))
    return Compressed(plan=plan, run=run)


def _parse_rules(texts: Sequence[str]) -> dict[str, Rule]:
    parsed: dict[str, Rule] = {}
    for text in texts:
        pattern, rule = parse_rule(text)
        if pattern in parsed:
            raise ConfigError(f"compress: the pattern {pattern!r} has two rules. Give it one.")
        parsed[pattern] = rule
    return parsed


def list_recipes(pattern: str = "*") -> list[dict[str, object]]:
    """One row per recipe: its cell and the published figures."""
    return [_recipe_row(name, load_recipe(name)) for name in recipe_names(pattern)]


def _recipe_row(name: str, recipe: Recipe) -> dict[str, object]:
    published = recipe.published
    return {
        "recipe": name,
        "table": recipe.table,
        "row": recipe.row,
        "variant": recipe.variant or "",
        "horizons": ",".join(map(str, recipe.horizons)),
        "mse": published.mse if published else None,
        "mae": published.mae if published else None,
        "source": published.source if published else "",
    }


def reproduce(
    table: str,
    *,
    rows: Sequence[str] | None = None,
    horizons: Sequence[str] | None = None,
    seeds: int = 1,
    out: Path | None = None,
    runs: Path | None = None,
    overrides: dict[str, Any] | None = None,
) -> Iterator[dict[str, object]]:
    """Run the recipes of a table, cell by cell, and yield published beside measured; with a path, append JSON lines."""
    chosen = {
        name: recipe
        for name, recipe in recipes_of(table).items()
        if (rows is None or recipe.row in rows)
        and (horizons is None or any(str(horizon) in horizons for horizon in recipe.horizons))
    }
    if not chosen:
        raise ConfigError(f"reproduce: no cell of {table} has one of the rows {rows} and horizons {horizons}.")
    for name, recipe in chosen.items():
        with tempfile.TemporaryDirectory() as scratch:
            measured = _measure_cell(name, recipe, seeds, runs or Path(scratch), overrides or {})
        if out is not None:
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(measured) + "\n")
        yield {key: value for key, value in measured.items() if not isinstance(value, dict | list)}


def _measure_cell(name: str, recipe: Recipe, seeds: int, folder: Path, overrides: dict[str, Any]) -> dict[str, Any]:
    runs: list[ForecastRun] = []
    for horizon in recipe.horizons:
        settings = merge({"data": recipe.data, "horizon": horizon}, recipe.settings)
        config = make_config(settings, overrides)
        for seed in range(seeds):
            seeded = with_seed(config, config.training.seed + seed)
            runs.append(forecasting.start(seeded, folder / f"{name}-{horizon}-seed-{seed}", progress=True))
    return cell_row(name, recipe, runs, seeds)


def cell_row(name: str, recipe: Recipe, runs: Sequence[ForecastRun], seeds: int) -> dict[str, Any]:
    """One row of results: published, measured with its spread, ridge beside it, and how it was measured."""
    chosen = [scores_of(run, "multiway") for run in runs]
    ridge, naive = ([scores_of(run, model) for run in runs] for model in ("ridge", "naive"))
    network = [scores_of(run, "network") for run in runs if run.model.network is not None]
    published = recipe.published
    first = runs[0]
    manifest = first.folder.verify() if first.folder else {}
    return {
        "recipe": name,
        "row": recipe.row,
        "horizons": ",".join(map(str, recipe.horizons)),
        "seeds": seeds,
        "published_mse": published.mse if published else None,
        "published_mae": published.mae if published else None,
        "mse": statistics.fmean(mse for mse, _ in chosen),
        "mae": statistics.fmean(mae for _, mae in chosen),
        "mse_sd": statistics.stdev(mse for mse, _ in chosen) if len(chosen) > 1 and len(recipe.horizons) == 1 else None,
        "ridge_mse": statistics.fmean(mse for mse, _ in ridge),
        "ridge_mae": statistics.fmean(mae for _, mae in ridge),
        "naive_mse": statistics.fmean(mse for mse, _ in naive),
        "naive_mae": statistics.fmean(mae for _, mae in naive),
        "network_mse": statistics.fmean(mse for mse, _ in network) if network else None,
        "network_mae": statistics.fmean(mae for _, mae in network) if network else None,
        "seconds": round(sum(sum(run.facts["seconds"].values()) for run in runs), 1),
        "each": [{"mse": mse, "mae": mae} for mse, mae in chosen],
        "selections": [run.selection["sentence"] for run in runs],
        "settings": first.config.plain(),
        "environment": {key: manifest.get(key) for key in ("versions", "device", "threads", "data_sha256")},
        "commit": os.environ.get("MULTIWAY_COMMIT"),
    }


def scores_of(run: ForecastRun, model: str, split: str = "test", scale: str = "scaled") -> tuple[float, float]:
    """MSE and MAE of one model of a run."""
    cell = {
        row["metric"]: row["value"]
        for row in run.scores
        if (row["model"], row["split"], row["scale"]) == (model, split, scale)
    }
    return cell["mse"], cell["mae"]
