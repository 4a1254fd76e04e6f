"""What the answer to a table went by: how much worse it is with each column shuffled (Breiman 2001)."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from multiway.data.samples import Cells, Samples
from multiway.metrics.classes import accuracy
from multiway.metrics.regression import mse
from multiway.tasks.answers import Answer, in_folder
from multiway.tasks.run import Run
from multiway.tasks.samples import answered

SHUFFLES = 5
EVERY = "all"
Score = Callable[[Cells], float]


def permutation_importance(cells: Cells, score: Score, seed: int = 0) -> pd.DataFrame:
    """Columns `column`, `importance` (how much the score falls, in the mean of 5 shuffles) and `sd`, largest first.

    The last row is that of all columns shuffled at once, which leaves nothing to go by. Of columns that say the same,
    each looks unimportant.

    Args:
        cells: Rows that the model has not seen.
        score: Of the model on rows; higher is better.
        seed: Of the shuffles.
    """
    chance, whole = np.random.default_rng(seed), score(cells)

    def fall(name: str, columns: tuple[str, ...]) -> tuple[str, float, float]:
        falls = [whole - score(cells.shuffled(columns, chance)) for _ in range(SHUFFLES)]
        return name, float(np.mean(falls)), float(np.std(falls, ddof=1))

    rows = sorted((fall(name, (name,)) for name in cells.names), key=lambda row: -row[1])
    return pd.DataFrame([*rows, fall(EVERY, cells.names)], columns=["column", "importance", "sd"])


def importance(run: Run, rows: Samples[Cells]) -> pd.DataFrame:
    """How much worse the answer is on labelled rows with each column shuffled."""
    metric, sign = (accuracy, 1.0) if run.state.target is None else (mse, -1.0)

    def score(cells: Cells) -> float:
        inputs = torch.from_numpy(run.state.inputs(cells))
        outputs = answered(run, Samples(inputs=inputs, source=rows.source))
        return sign * (metric(rows.truth, outputs) or 0.0)

    return permutation_importance(rows.inputs, score)


def explained(run: Run, rows: Samples[Cells], out: Path | None) -> Answer:
    """The importance of every column on the test rows, with how it is read."""
    change = "ACC falls" if run.state.target is None else "MSE rises"
    notes = [
        f"test {change} by `importance` where the column is shuffled over the rows; shuffling `all` leaves chance.",
        "Of columns that say the same, each looks unimportant. It is what the model uses, not what causes.",
    ]
    return in_folder(importance(run, rows), out, "importance.csv", notes)
