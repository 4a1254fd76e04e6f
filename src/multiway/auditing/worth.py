"""What a leak is worth: the score of it alone beside that of all other columns, each with its interval."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.near import thin_rows
from multiway.auditing.probes import (
    Floats,
    Ints,
    Parts,
    ProbeErrors,
    mean_near,
    questions_of,
    r2_of_column,
    ridge,
    share_explained,
)
from multiway.data.samples import Cells

FEW, MOST_LEARNT, MOST_JUDGED = 12_000, 6000, 3000
"""Rows up to which all are looked at; and of more those that are learnt from and judged."""
BINS, MOST_LEVELS, MOST_COLUMNS = 10, 20, 100
PULL = 1e-2
"""Of the ridge, as a share of the mean square."""
DRAWS = 200
NEAR = 5


class Question(NamedTuple):
    """A target, the rows by which it is judged, and all inputs: classes have labels, numbers have none."""

    target: Floats
    labels: Ints | None
    parts: Parts
    cells: Cells

    def thin(self) -> "Question":
        """Fewer rows, evenly chosen."""
        if len(self.target) <= FEW:
            return self
        parts = [(thin_rows(learnt, MOST_LEARNT), thin_rows(judged, MOST_JUDGED)) for learnt, judged in self.parts]
        rows = np.unique(np.concatenate([each for part in parts for each in part]))
        places = [(np.searchsorted(rows, learnt), np.searchsorted(rows, judged)) for learnt, judged in parts]
        labels = None if self.labels is None else self.labels[rows]
        return Question(self.target[rows], labels, places, self.cells[rows])

    @property
    def targets(self) -> Floats:
        """`(rows, 1 or classes)`: numbers, or which class a row is of."""
        if self.labels is None:
            return self.target[:, None]
        return np.asarray(self.labels[:, None] == np.arange(self.labels.max() + 1), np.float64)

    def gains(self, codes: Floats) -> tuple[float, float]:
        """What a table of codes surely tells, and what it tells."""
        if self.labels is not None:
            errors = (ProbeErrors.of_codes(codes, labels, self.parts) for labels in questions_of(self.labels))
            return max((each.sure_gain, each.gain) for each in errors)
        share = r2_of_column(codes, self.target, self.parts)
        return share, share

    def gain_near(self, column: Floats, neighbours: int) -> float:
        """What so many rows of the nearest cells tell."""
        if self.labels is not None:
            return ProbeErrors.of_column(column, self.labels, self.parts, neighbours).sure_gain
        said = [mean_near(column[one], self.targets[one], column[other], neighbours)[:, 0] for one, other in self.parts]
        return share_explained(np.concatenate(said), np.concatenate([self.target[other] for _, other in self.parts]))

    def worth(self, column: Floats, leave: Collection[str], *, is_code: bool = False) -> str:
        """What a column, or codes made of one, says alone on rows held out, and what all columns but some say.

        The others are weighted by least squares, numbers in ten steps.
        """
        learnt, judged = self.parts[-1]
        if len(learnt) < 3 * BINS or len(judged) < 3 * BINS:
            return ""
        column, wanted = np.where(np.isfinite(column), column, -1e300), self.targets
        alone = _mean_of_codes if is_code else mean_near
        name, with_it = _score(self, alone(column[learnt], wanted[learnt], column[judged], NEAR))
        design = _design(self.cells, leave, learnt)
        if not design.shape[1]:
            return f"; {name} {with_it} by it alone, and there are no other columns"
        level = wanted[learnt].mean(0)
        _, without = _score(self, design[judged] @ ridge(design[learnt], wanted[learnt] - level, PULL) + level)
        return f"; it is worth {name} {with_it} alone -> {without} by the other columns"


def _mean_of_codes(known: Floats, wanted: Floats, queries: Floats, neighbours: int) -> Floats:
    """Mean of the rows of the same code; of all rows where there are none."""
    means = pd.DataFrame(wanted).groupby(known).mean().reindex(queries)
    return means.fillna(dict(enumerate(wanted.mean(0)))).to_numpy()


def _design(cells: Cells, leave: Collection[str], learnt: Ints) -> NDArray[np.float64]:
    """Columns as steps of as many rows and as levels, about their means in training."""
    parts = []
    for name, column in list(zip(cells.of_numbers, cells.numbers.T, strict=True))[:MOST_COLUMNS]:
        if name not in leave:
            borders = np.unique(np.nanquantile(column[learnt], np.linspace(0, 1, BINS + 1)[1:-1]))
            parts.append(np.searchsorted(borders, column, "right")[:, None] == np.arange(len(borders) + 1))
            spread = np.nanstd(column[learnt])
            parts.append(np.nan_to_num((column - np.nanmean(column[learnt])) / (spread if spread > 0 else 1))[:, None])
    for name, column in list(zip(cells.of_words, cells.words.T, strict=True))[:MOST_COLUMNS]:
        if name not in leave:
            levels = pd.Series(column[learnt]).value_counts().index[:MOST_LEVELS]
            parts.append(column[:, None] == levels.to_numpy(object))
    design = np.hstack([np.empty((len(cells), 0)), *parts]).astype(np.float64)
    return np.asarray(design - design[learnt].mean(0)) if design.shape[1] else design


def _score(question: Question, said: Floats) -> tuple[str, str]:
    """Name of the score, and the score with its 95 % interval over rows drawn again."""
    judged, every = question.parts[-1][1], np.arange(len(said))
    draw, name = np.random.default_rng(0), "R²" if question.labels is None else "AUC" if said.shape[1] == 2 else "ACC"

    def measure(rows: Ints) -> float:
        if question.labels is None:
            return max(share_explained(said[rows, 0], question.target[judged[rows]]), 0.0)
        labels = question.labels[judged[rows]]
        return (
            _auc(said[rows, 1] - said[rows, 0], labels == 1)
            if name == "AUC"
            else float((said[rows].argmax(1) == labels).mean())
        )

    low, high = np.nanquantile([measure(draw.choice(every, len(every))) for _ in range(DRAWS)], [0.025, 0.975])
    return name, f"{measure(every):.3f} ({low:.3f} to {high:.3f})"


def _auc(said: Floats, positive: NDArray[np.bool_]) -> float:
    """Area under the curve, by ranks; NaN where there is one class."""
    count = int(positive.sum())
    if not 0 < count < len(positive):
        return float("nan")
    _, code, size = np.unique(said, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(size) - (size - 1) / 2)[code]
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(positive) - count)))
