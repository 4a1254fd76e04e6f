"""What the answer to a table went by: how much worse it is with each column shuffled (Breiman 2001)."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from multiway.data.samples import Cells, Samples
from multiway.data.scaling import evenly
from multiway.metrics.classes import accuracy, average_precision
from multiway.metrics.regression import mae
from multiway.tasks.answers import Answer, in_folder
from multiway.tasks.misses import wrong_answers
from multiway.tasks.run import Run
from multiway.tasks.sample_task import SampleFacts
from multiway.tasks.target_task import answer_samples

SHUFFLES = 5
EVERY = "all"
ROWS, COLUMNS = 500, 100
"""Test rows that a report shuffles, evenly spread, and columns up to which it does."""
Score = Callable[[Cells], float]


class Measure(NamedTuple):
    """What falls, or rises, where a column is shuffled.

    words: How that is said.
    of: Truth, outputs and `weights` to the score.
    sign: 1 where higher is better, else -1.
    """

    words: str
    of: Callable[..., float | None]
    sign: float


class TableFacts(SampleFacts):
    """What a report says of a table besides its splits."""

    importance: dict[str, float] | None = None
    """By column; None where there are too many."""
    importance_of: str | None = None
    """What falls or rises; None in runs of numbers that stored how far the squared error rises."""


def measure_of(run: Run) -> Measure:
    """Accuracy of classes, average precision of a rare one, mean absolute error of numbers, in their own units."""
    if run.state.classes is None:
        return Measure(f"mean absolute error of {run.state.target_name} rises", mae, -1.0)
    if run.state.rare is None:
        return Measure("accuracy falls", accuracy, 1.0)
    return Measure("average precision falls", partial(average_precision, position=run.state.rare), 1.0)


def measure_in_words(run: Run) -> str:
    """What the stored importance of a run says falls, or rises."""
    usual = "MSE rises" if run.state.classes is None else measure_of(run).words
    return str(run.facts.get("importance_of") or usual)


def permutation_importance(cells: Cells, score: Score, seed: int = 0) -> pd.DataFrame:
    """Columns `column`, `importance` (how much the score falls, in the mean of 5 shuffles) and `sd`, largest first.

    The last row is that of all columns shuffled at once, which leaves nothing to go by. Of columns that say the same,
    each looks unimportant.

    `cells` are rows that the model has not seen; a higher `score` is better.
    """
    chance, whole = np.random.default_rng(seed), score(cells)

    def fall(name: str, columns: tuple[str, ...]) -> tuple[str, float, float]:
        falls = [whole - score(cells.shuffle(columns, chance)) for _ in range(SHUFFLES)]
        return name, float(np.mean(falls)), float(np.std(falls, ddof=1))

    rows = sorted((fall(name, (name,)) for name in cells.names), key=lambda row: -row[1])
    return pd.DataFrame([*rows, fall(EVERY, cells.names)], columns=["column", "importance", "sd"])


def importance(run: Run, rows: Samples[Cells]) -> pd.DataFrame:
    """How much worse the answer is on labelled rows with each column shuffled."""
    measure = measure_of(run)

    def score(cells: Cells) -> float:
        inputs = torch.from_numpy(run.state.inputs(cells))
        outputs = answer_samples(run, Samples(inputs=inputs, source=rows.source))
        return measure.sign * (measure.of(rows.truth, outputs, weights=rows.weights) or 0.0)

    return permutation_importance(rows.inputs, score)


def importance_of_some(run: Run, rows: Samples[Cells]) -> dict[str, float] | None:
    """The importance of each column on some of the rows; None where there are too many columns to be quick."""
    if len(rows.columns) > COLUMNS or not len(rows):
        return None
    frame = importance(run, rows.take(evenly(len(rows), ROWS))).iloc[:-1]
    return dict(zip(frame["column"], frame["importance"].tolist(), strict=True))


def write_importance(run: Run, rows: Samples[Cells], out: Path | None) -> Answer:
    """The importance of every column on the test rows, with how it is read, and the rows it is most wrong about."""
    shuffled = "where the column is shuffled over the rows; shuffling `all` leaves chance."
    notes = [
        f"test {measure_of(run).words} by `importance` {shuffled}",
        "Of columns that say the same, each looks unimportant. It is what the model uses, not what causes.",
    ]
    return in_folder(importance(run, rows), out, "importance.csv", notes, {"errors.csv": wrong_answers(run)})
