"""Scores of a segmentation: one row per case and class, and their means with intervals over cases."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.samples import Array, Samples
from multiway.metrics.overlap import cl_dice, dice, hd95, overlap
from multiway.metrics.resampling import percentiles, resamples
from multiway.tasks.choice import Evidence
from multiway.tasks.protocol import NETWORK, Row
from multiway.tasks.scans.encode import Examples
from multiway.training.losses import IGNORED

Predictor = Callable[[Array], NDArray[np.int64]]
"""From `(channels, *sizes)` to a class per voxel, `(*sizes)`."""
OverlapMetric = Callable[[Tensor, Tensor], float | None]
MEAN = "mean"
ALL = "all"
OVERLAP: dict[str, OverlapMetric] = {"dice": dice}
OF_CASES = ("dice", "dice_on_file", "cl_dice", "hd95")
COUNTS = ("both", "predicted", "missed")
Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CasePredictions:
    """Counts and metrics of every case and class, by model; the masks themselves are not kept."""

    frames: dict[str, pd.DataFrame]

    def scores(self, split: str, draws: int) -> list[Row]:
        """Means over cases, with intervals over patients."""
        return [row for name, frame in self.frames.items() for row in overlap_rows(frame, name, split, draws)]

    def evidence(self, decides: str) -> Evidence:
        """Losses of cases: one less the mean Dice of their classes, which is 1 where it is undefined; else of voxels.

        `decides` is `dice`, or another metric: then it is the share of wrong voxels, in blocks of unequal sizes.
        """
        first, *_ = self.frames.values()
        patients = first.groupby("case", sort=False)["patient"].first().to_numpy(dtype=str)
        losses: dict[str, Floats] = {}
        for name, frame in self.frames.items():
            if decides == "dice":
                scored = frame[frame["scored"]].fillna({"dice": 1.0})
                losses[name] = 1.0 - scored.groupby("case", sort=False)["dice"].mean().to_numpy(np.float64)
            else:
                counts = frame.groupby("case", sort=False)[["both", "missed"]].sum()
                losses[name] = (counts["missed"] / counts.sum(axis=1).mean()).to_numpy(np.float64)
        word, unit = ("1 - Dice", "cases") if decides == "dice" else ("share of wrong pixels", "blocks")
        return Evidence(losses=losses, units=patients, loss=word, unit=unit)

    def frame(self, split: str) -> pd.DataFrame:
        """Metrics case by case."""
        frames = [frame.assign(split=split, model=name) for name, frame in self.frames.items()]
        return pd.concat(frames, ignore_index=True)


def measure(predict: Predictor, cases: Samples[Examples], *, surfaces: bool = True) -> pd.DataFrame:
    """Predict each case; one row per case and class with its counts and metrics, NaN where one is undefined.

    Voxels that do not count are taken out of prediction and target alike. Unless `surfaces` is false, surface distances
    and clDice are measured on volumes, and Dice on the grid of the files, where that is another. Of a scene's blocks,
    which cut through its fields, only overlaps mean anything.
    """
    table: list[Row] = []
    names, images = cases.names["case"], cases.inputs
    for row, example in enumerate(images):
        metrics = dict(OVERLAP)
        if surfaces and images.num_modes == 3:
            metrics |= {"cl_dice": cl_dice, "hd95": functools.partial(hd95, spacing=example.spacing)}
        case = {"case": names[row], "patient": (cases.groups or names)[row]}
        classes = predict(example.values)
        by_class = list(_by_class(classes, example.target, cases, metrics))
        there = images.on_file(row, classes) if surfaces else None
        if there is not None:
            for scores, on_file in zip(by_class, _by_class(*there, cases, OVERLAP), strict=True):
                scores["dice_on_file"] = on_file["dice"]
        table += [{**case, **scores} for scores in by_class]
    return pd.DataFrame(table)


def _by_class(
    classes: NDArray[np.int64],
    known: NDArray[np.int16],
    cases: Samples[Examples],
    metrics: dict[str, OverlapMetric],
) -> Iterator[Row]:
    """Counts of every class of a case, and the metrics of those that are scored."""
    target = torch.from_numpy(known.astype(np.int64))
    given = torch.where(target == IGNORED, IGNORED, torch.from_numpy(classes))
    for label, name in enumerate(cases.classes or ()):
        predicted, expected, is_scored = given == label, target == label, label in cases.inputs.dice_classes
        values = {metric: of(predicted, expected) if is_scored else None for metric, of in metrics.items()}
        defined = {metric: np.nan if value is None else value for metric, value in values.items()}
        yield {"class": name, "scored": is_scored, **overlap(predicted, expected)._asdict(), **defined}


def overlap_rows(frame: pd.DataFrame, model: str, split: str, draws: int) -> list[Row]:
    """Means over cases of one model on one split, each with a bootstrap interval over patients.

    `dice`, `cl_dice` and `hd95` are means over the cases where they are defined, of each class and over classes
    ("mean"). `dice_pooled` counts all voxels of the split together, and `acc` is the share of all counted voxels
    that have their class. `cases` says how many cases a figure rests on; a figure that is undefined is None.
    """
    classes = list(dict.fromkeys(frame["class"][frame["scored"]]))
    weights = case_weights(frame.drop_duplicates("case")["patient"].to_numpy(), draws)
    tables = {name: _table(frame, name, classes) for name in (*OF_CASES, *COUNTS) if name in frame}
    both, predicted, missed = (weights @ tables.pop(name) for name in COUNTS)
    rows = []
    for metric, values in tables.items():
        known = np.isfinite(values)
        means = _ratio(weights @ np.where(known, values, 0), weights @ known.astype(np.float64))
        rows += _rows(metric, classes, means, known.sum(0))
    pooled = _ratio(2 * both, 2 * both + predicted + missed)
    rows += _rows("dice_pooled", classes, pooled, np.isfinite(tables["dice"]).sum(0))
    every = list(dict.fromkeys(frame["class"]))
    hits, missing = (weights @ _table(frame, name, every).sum(1) for name in ("both", "missed"))
    right = hits / np.maximum(hits + missing, 1)
    rows.append({"metric": "acc", "class": ALL, **_interval(right), "cases": weights.shape[1]})
    return [{"model": model, "split": split, **row} for row in rows]


def _table(frame: pd.DataFrame, name: str, classes: list[str]) -> Floats:
    """`(cases, classes)`, cases in the order of the frame."""
    wide = frame.pivot(index="case", columns="class", values=name)
    return np.asarray(wide.loc[list(dict.fromkeys(frame["case"])), classes], np.float64)


def case_weights(patients: Array, draws: int, seed: int = 0) -> Floats:
    """How often each case is in a sample: first once each, then patients drawn with replacement, all cases of each."""
    drawn = [np.bincount(rows, minlength=len(patients)) for rows in resamples(patients, draws, seed)]
    return np.stack([np.ones(len(patients)), *drawn])


def _ratio(above: Floats, below: Floats) -> Floats:
    """Quotients, NaN where nothing is below."""
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0))


def _rows(metric: str, classes: list[str], values: Floats, cases: Array) -> list[Row]:
    """One row per class and one for their mean; the first draw is the data themselves."""
    known = np.isfinite(values)
    mean = _ratio(np.where(known, values, 0).sum(1), known.sum(1))
    columns = [*zip(classes, values.T, cases.tolist(), strict=True), (MEAN, mean, int(cases.max(initial=0)))]
    return [
        {"metric": metric, "class": name, **_interval(column), "cases": int(count)} for name, column, count in columns
    ]


def _interval(column: Floats) -> Row:
    if not np.isfinite(column[0]):
        return {"value": None, "low": None, "high": None}
    drawn = column[1:]
    low, high = percentiles(drawn[np.isfinite(drawn)].tolist(), len(drawn)) or (None, None)
    return {"value": float(column[0]), "low": low, "high": high}


def headline(num_modes: int) -> str:
    """The metric that speaks for a run: Dice by case of volumes; of a scene, whose blocks hold few classes, pooled."""
    return "dice" if num_modes == 3 else "dice_pooled"


def mean_dice(predict: Predictor, cases: Samples[Examples]) -> float:
    """Mean Dice, by cases of volumes and over all pixels of a scene; 0 where nothing is defined."""
    rows = overlap_rows(measure(predict, cases, surfaces=False), NETWORK, "", 0)
    deciding = (headline(cases.inputs.num_modes), MEAN)
    return next((row["value"] for row in rows if (row["metric"], row["class"]) == deciding), None) or 0.0
