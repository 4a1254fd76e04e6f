"""Scores of runs of stocks as tables: one row per model, and the row of a published cell."""

import math
from collections.abc import Sequence

from multiway.tasks.protocol import Cell, Row
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.evaluation import metrics_of
from multiway.tasks.stocks.fitting import OURS
from multiway.tasks.stocks.over_seeds import intervals_of_means
from multiway.tasks.stocks.run import StockRun
from multiway.tasks.tables import cell_head, cell_tail, deviation, mean, models_of, score_of, score_rows


def metric_names(config: StockConfig) -> tuple[str, ...]:
    """Metrics of a run, in the order of its tables."""
    return (*metrics_of(config), "count")


def spread_of(config: StockConfig) -> tuple[str, ...]:
    """Metrics whose interval, or deviation over seeds, is shown."""
    return ("acc", "mcc") if config.target == "movement" else ("pinball",)


def score_table(runs: Sequence[StockRun], split: str) -> list[Row]:
    """One row per model: 95 % intervals of ACC and MCC for one run, means and deviations over several.

    What is undefined is None.
    """
    config = runs[0].config
    return score_rows(runs, split, metric_names(config), spread_of(config))


def cell_row(name: str, cell: Cell, runs: Sequence[StockRun], seeds: int) -> Row:
    """One row of results: published, measured with its deviation over seeds, and the baselines beside it."""
    first = runs[0]
    models, metrics = models_of(first), metrics_of(first.config)
    values = {
        (model, metric): [score_of(run, model, metric)["value"] for run in runs]
        for model in models
        for metric in metrics
    }
    return {
        **cell_head(name, cell, seeds),
        **{metric: mean(values[OURS, metric]) for metric in metrics},
        **{f"{metric}_sd": deviation(values[OURS, metric]) for metric in metrics},
        **{f"{model}_{metric}": mean(values[model, metric]) for model in models if model != OURS for metric in metrics},
        **_intervals_of_means(runs),
        **_intervals(first, models),
        "parameters": first.facts["parameters"],
        "best_epochs": [run.facts["best"][OURS]["epoch"] for run in runs],
        "encoder": first.encoder,
        "counts": {split: facts["count"] for split, facts in first.facts["splits"].items()},
        "test_rises": first.facts["splits"]["test"]["rises"],
        "seconds": round(math.fsum(value for run in runs for value in run.facts["seconds"].values()), 1),
        "each": [{metric: score_of(run, OURS, metric)["value"] for metric in metrics} for run in runs],
        **cell_tail(runs),
    }


def _intervals_of_means(runs: Sequence[StockRun]) -> Row:
    """95 % intervals of the means over seeds; none for quantiles, whose scores are not of rises and falls."""
    if runs[0].config.target == "quantiles" or not runs[0].config.draws:
        return {}
    found = intervals_of_means(runs)
    return {
        f"{name}_{side}": None if interval is None else interval[place]
        for name, interval in found.items()
        for place, side in enumerate(("low", "high"))
    }


def _intervals(run: StockRun, models: Sequence[str]) -> Row:
    """95 % intervals over blocks of days, of the first seed."""
    rows = {(model, metric): score_of(run, model, metric) for model in models for metric in spread_of(run.config)}
    return {
        "intervals": {
            model: {metric: [rows[model, metric][side] for side in ("low", "high")] for metric in spread_of(run.config)}
            for model in models
        }
    }
