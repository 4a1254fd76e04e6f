"""Scores of runs that classify volumes as tables: one row per model, and the row of a published cell."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

from multiway.tasks.protocol import Cell, Row
from multiway.tasks.tables import cell_head, cell_tail
from multiway.tasks.volumes.evaluation import METRICS
from multiway.tasks.volumes.fitting import OURS
from multiway.tasks.volumes.run import VolumeRun

SPREAD = ("auc", "acc")
"""Metrics whose interval, or deviation over seeds, is shown."""


def score_table(runs: Sequence[VolumeRun], split: str) -> list[Row]:
    """One row per model: the 95 % interval of AUC and ACC for one run, mean and deviation over several.

    What is undefined is None.
    """
    models = list(dict.fromkeys(row["model"] for row in runs[0].scores if row["split"] == split))
    return [{"model": model, **_figures(runs, model, split)} for model in models]


def _figures(runs: Sequence[VolumeRun], model: str, split: str) -> Row:
    found: Row = {}
    for metric in METRICS:
        rows = [score_of(run, model, metric, split) for run in runs]
        found[metric] = mean([row["value"] for row in rows])
        if metric in SPREAD and len(runs) > 1:
            found[f"{metric} sd"] = deviation([row["value"] for row in rows])
        elif metric in SPREAD:
            found |= {f"{metric} {side}": rows[0][side] for side in ("low", "high")}
    return found


def score_of(run: VolumeRun, model: str, metric: str, split: str = "test") -> dict[str, Any]:
    """Value and interval of one score of a run; all None if it has none."""
    wanted = (model, split, metric)
    found = (row for row in run.scores if (row["model"], row["split"], row["metric"]) == wanted)
    return next(found, {"value": None, "low": None, "high": None})


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of what is defined."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def deviation(values: Sequence[float | None]) -> float | None:
    """Standard deviation (n - 1) of what is defined, None for fewer than two."""
    known = [value for value in values if value is not None]
    return statistics.stdev(known) if len(known) > 1 else None


def cell_row(name: str, cell: Cell, runs: Sequence[VolumeRun], seeds: int) -> Row:
    """One row of results: published, measured with its deviation over seeds, and the baselines beside it."""
    models = list(dict.fromkeys(row["model"] for row in runs[0].scores))
    values = {
        (model, metric): [score_of(run, model, metric)["value"] for run in runs]
        for model in models
        for metric in METRICS
    }
    return {
        **cell_head(name, cell, seeds),
        **{metric: mean(values[OURS, metric]) for metric in METRICS},
        **{f"{metric}_sd": deviation(values[OURS, metric]) for metric in SPREAD},
        **{f"{model}_{metric}": mean(values[model, metric]) for model in models if model != OURS for metric in SPREAD},
        **{
            f"{model}_{metric}_sd": deviation(values[model, metric])
            for model in runs[0].facts["parameters"]
            if model != OURS
            for metric in SPREAD
        },
        "parameters": runs[0].facts["parameters"],
        "best_epochs": [run.facts["best"][OURS]["epoch"] for run in runs],
        "test_cases": runs[0].facts["splits"]["test"]["cases"],
        "seconds": round(math.fsum(value for run in runs for value in run.facts["seconds"].values()), 1),
        "each": [{metric: score_of(run, OURS, metric)["value"] for metric in SPREAD} for run in runs],
        **cell_tail(runs),
    }
