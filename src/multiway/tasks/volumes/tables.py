"""Scores of runs that classify volumes as tables: one row per model, and the row of a published cell."""

import math
from collections.abc import Sequence

from multiway.tasks.protocol import Cell, Row
from multiway.tasks.tables import cell_head, cell_tail, deviation, mean, score_of, score_rows
from multiway.tasks.volumes.evaluation import METRICS
from multiway.tasks.volumes.fitting import OURS
from multiway.tasks.volumes.run import VolumeRun

SPREAD = ("auc", "acc")
"""Metrics whose interval, or deviation over seeds, is shown."""


def score_table(runs: Sequence[VolumeRun], split: str) -> list[Row]:
    """One row per model: the 95 % interval of AUC and ACC for one run, mean and deviation over several.

    What is undefined is None.
    """
    return score_rows(runs, split, METRICS, SPREAD)


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
