"""Scores of segmentation runs as tables: one row per model, and the row of a cell."""

import math
from collections.abc import Sequence
from typing import Any

from multiway.tasks.protocol import Cell, Row
from multiway.tasks.segmentation.evaluation import ALL, MEAN, headline, score_of
from multiway.tasks.segmentation.fitting import OURS, PLAIN
from multiway.tasks.segmentation.run import SegmentRun
from multiway.tasks.tables import cell_head, cell_tail, deviation, mean, not_earned

SHOWN = {"dice": MEAN, "dice_pooled": MEAN, "cl_dice": MEAN, "hd95": MEAN, "acc": ALL}
"""Columns of a table, and which class each is of."""


def sentence(run: SegmentRun) -> str:
    """The network's test Dice beside those of the baselines, and whether one of them is as good."""
    metric = headline(run.num_modes)
    dice = {model: score_of(run.scores, model, "test", metric) for model in run.predictors}
    shown = {model: "undefined" if value is None else f"{value:.3f}" for model, value in dice.items()}
    others = ", ".join(f"{model} {value}" for model, value in shown.items() if model != OURS)
    kind = "mean over test cases" if metric == "dice" else "over all test pixels, mean of classes"
    remark = not_earned(dice[OURS], {model: value for model, value in dice.items() if model != OURS})
    return f"Dice {shown[OURS]}, {kind}" + (f" ({others})." if others else ".") + remark


def score_table(runs: Sequence[SegmentRun], split: str) -> list[Row]:
    """One row per model: means over the runs, the deviation of Dice where there are several, and its interval.

    The interval is that of the first run, over its cases; a figure that is undefined in every run is None.
    """
    scores = runs[0].scores
    models = list(dict.fromkeys(row["model"] for row in scores if row["split"] == split))
    return [{"model": model, **_figures(runs, model, split)} for model in models]


def _figures(runs: Sequence[SegmentRun], model: str, split: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for metric, name in SHOWN.items():
        values = [score_of(run.scores, model, split, metric, name) for run in runs]
        if metric in ("cl_dice", "hd95") and runs[0].num_modes != 3:
            continue
        found[metric] = mean(values)
        if metric == "dice":
            found |= {"low": _end(runs[0], model, split, "low"), "high": _end(runs[0], model, split, "high")}
            if len(runs) > 1:
                found["dice sd"] = deviation(values)
    return found


def _end(run: SegmentRun, model: str, split: str, side: str) -> float | None:
    row = next(
        (
            row
            for row in run.scores
            if (row["model"], row["split"], row["metric"], row["class"]) == (model, split, "dice", MEAN)
        ),
        None,
    )
    return None if row is None or row[side] is None else float(row[side])


def cell_row(name: str, cell: Cell, runs: Sequence[SegmentRun], seeds: int) -> Row:
    """One row of results: measured with its spread, the plain network and the other baselines beside it."""
    models = list(runs[0].predictors)
    figures = {model: _figures(runs, model, "test") for model in models}
    ours = figures[OURS]
    parameters = runs[0].facts["parameters"]
    return {
        **cell_head(name, cell, seeds),
        **{metric: value for metric, value in ours.items() if metric not in ("low", "high", "dice sd")},
        "dice_low": ours["low"],
        "dice_high": ours["high"],
        "dice_sd": ours.get("dice sd"),
        **{f"{model}_dice": figures[model]["dice"] for model in models if model != OURS},
        **{f"{model}_dice_pooled": figures[model]["dice_pooled"] for model in models if model != OURS},
        **{f"{model}_acc": figures[model]["acc"] for model in models if model != OURS},
        "parameters": parameters[OURS],
        "unet_parameters": parameters.get(PLAIN),
        "test_cases": runs[0].facts["splits"]["test"],
        "seconds": round(math.fsum(value for run in runs for value in run.facts["seconds"].values()), 1),
        "each": [{model: score_of(run.scores, model, "test", "dice") for model in models} for run in runs],
        **cell_tail(runs),
    }
