"""Scores of a segmentation: one row per case and class, and their means with intervals over cases."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.metrics.overlap import cl_dice, hd95, overlap
from multiway.metrics.resampling import percentiles, resamples
from multiway.tasks.segmentation.examples import Example, Examples
from multiway.tasks.segmentation.predictors import Predictor
from multiway.training.overlap_losses import IGNORED

MEAN = "mean"
ALL = "all"
COUNTS = ("both", "predicted", "missed")
Floats = NDArray[np.float64]


def measure(predict: Predictor, examples: Examples, rows: Sequence[int], *, surfaces: bool = True) -> pd.DataFrame:
    """Predict each case; one row per case and class with its counts and metrics, NaN where one is undefined.

    Voxels that do not count are taken out of prediction and target alike. Surface distances and clDice are measured
    on volumes, unless `surfaces` is false; of a scene's blocks, which cut through its fields, only overlaps mean
    anything.
    """
    found = []
    has_surface = surfaces and examples.num_modes == 3
    for row in rows:
        example = examples.read(row)
        found += _rows_of_case(predict(example.values), example, examples, row, has_surface)
    return pd.DataFrame(found)


def _rows_of_case(
    classes: NDArray[np.int64], example: Example, examples: Examples, row: int, surfaces: bool
) -> list[dict[str, Any]]:
    target = torch.from_numpy(example.target.astype(np.int64))
    given = torch.where(target == IGNORED, IGNORED, torch.from_numpy(classes))
    patient = examples.names[row] if examples.patients is None else examples.patients[row]
    rows = []
    for label, name in enumerate(examples.classes):
        mine, wanted = given == label, target == label
        counts = overlap(mine, wanted)
        is_scored = label in examples.scored
        rows.append(
            {
                "case": examples.names[row],
                "patient": patient,
                "class": name,
                "scored": is_scored,
                **counts._asdict(),
                "dice": _number(counts.dice() if is_scored else None),
                **(_surface_metrics(mine, wanted, example, is_scored) if surfaces else {}),
            }
        )
    return rows


def _surface_metrics(mine: Tensor, wanted: Tensor, example: Example, is_scored: bool) -> dict[str, float]:
    if not is_scored:
        return {"cl_dice": np.nan, "hd95": np.nan}
    return {"cl_dice": _number(cl_dice(mine, wanted)), "hd95": _number(hd95(mine, wanted, example.spacing))}


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def score_rows(frame: pd.DataFrame, model: str, split: str, draws: int) -> list[dict[str, Any]]:
    """Means over cases of one model on one split, each with a bootstrap interval over patients.

    `dice`, `cl_dice` and `hd95` are means over the cases where they are defined, of each class and over classes
    ("mean"). `dice_pooled` counts all voxels of the split together, and `acc` is the share of all counted voxels
    that have their class. `cases` says how many cases a figure rests on; a figure that is undefined is None.
    """
    classes = list(dict.fromkeys(frame["class"][frame["scored"]]))
    weights = case_weights(frame.drop_duplicates("case")["patient"].to_numpy(), draws)
    means = [name for name in ("dice", "cl_dice", "hd95") if name in frame]
    tables = {name: _table(frame, name, classes) for name in (*means, *COUNTS)}
    rows = []
    for metric in means:
        values = tables[metric]
        rows += _rows(metric, classes, _means(weights, values), np.isfinite(values).sum(0))
    both, predicted, missed = (weights @ tables[name] for name in COUNTS)
    total = 2 * both + predicted + missed
    pooled = np.divide(2 * both, total, out=np.full(total.shape, np.nan), where=total > 0)
    rows += _rows("dice_pooled", classes, pooled, np.isfinite(tables["dice"]).sum(0))
    every = list(dict.fromkeys(frame["class"]))
    hits, missing = (weights @ _table(frame, name, every).sum(1) for name in ("both", "missed"))
    right = (hits / np.maximum(hits + missing, 1))[:, None]
    rows += [row for row in _rows("acc", [ALL], right, np.array([weights.shape[1]])) if row["class"] == ALL]
    return [{"model": model, "split": split, **row} for row in rows]


def _table(frame: pd.DataFrame, name: str, classes: list[str]) -> Floats:
    """`(cases, classes)`, cases in the order of the frame."""
    wide = frame.pivot(index="case", columns="class", values=name)
    return np.asarray(wide.loc[list(dict.fromkeys(frame["case"])), classes], np.float64)


def case_weights(patients: NDArray[Any], draws: int, seed: int = 0) -> Floats:
    """How often each case is in a sample: first once each, then patients drawn with replacement, all cases of each."""
    drawn = [np.bincount(rows, minlength=len(patients)) for rows in resamples(patients, draws, seed)]
    return np.stack([np.ones(len(patients)), *drawn])


def _means(weights: Floats, values: Floats) -> Floats:
    """Weighted mean over cases where values are defined, `(draws, classes)`; NaN where none is."""
    known = np.isfinite(values)
    total, count = weights @ np.where(known, values, 0), weights @ known.astype(np.float64)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def _rows(metric: str, classes: list[str], values: Floats, cases: NDArray[Any]) -> list[dict[str, Any]]:
    """One row per class and one for their mean; the first draw is the data themselves."""
    known = np.isfinite(values)
    mean = np.divide(
        np.where(known, values, 0).sum(1), known.sum(1), out=np.full(len(values), np.nan), where=known.any(1)
    )
    columns = [*zip(classes, values.T, cases.tolist(), strict=True), (MEAN, mean, int(cases.max(initial=0)))]
    return [
        {"metric": metric, "class": name, **_interval(column), "cases": int(count)} for name, column, count in columns
    ]


def _interval(column: Floats) -> dict[str, float | None]:
    if not np.isfinite(column[0]):
        return {"value": None, "low": None, "high": None}
    drawn = column[1:]
    low, high = percentiles(drawn[np.isfinite(drawn)].tolist(), len(drawn)) or (None, None)
    return {"value": float(column[0]), "low": low, "high": high}


def headline(num_modes: int) -> str:
    """The metric that speaks for a run: Dice by case of volumes; of a scene, whose blocks hold few classes, pooled."""
    return "dice" if num_modes == 3 else "dice_pooled"
