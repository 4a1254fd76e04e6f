"""A category of many levels as the mean of the target in each, smoothed by the overall one (Micci-Barreca 2001)."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import model_validator

from multiway.config import Config
from multiway.data.samples import Rows, Samples
from multiway.data.scaling import Floats, Scaler

SMOOTHING = 10.0
"""Rows with the overall mean that stand behind each level."""
PARTS = 5
"""Parts of the training rows, each of which is encoded by the targets of the others."""
Words = NDArray[np.object_]


class TargetMeans(Config):
    """What training says of a category of many levels."""

    column: str
    outputs: tuple[str, ...]
    """What there is a mean of: the target, or each of its classes but the first."""
    levels: tuple[str, ...]
    means: Floats
    """Smoothed, `(levels, outputs)`."""
    overall: Floats
    """Of a level that training had not, `(outputs,)`."""
    scaler: Scaler
    """Mean and deviation of what the training rows have."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        outputs = (len(self.outputs),)
        if self.means.shape != (len(self.levels), *outputs) or self.overall.shape != outputs:
            raise ValueError(f"means of {self.column} that are not {len(self.levels)} by {len(self.outputs)}")
        return self

    @classmethod
    def fit(cls, column: str, words: Words, rows: Samples[Any]) -> Self:
        """Learn from the words and the targets of the training rows."""
        codes, levels = pd.factorize(words, sort=True)
        targets = indicators(rows)
        overall = targets.mean(0)
        return cls(
            column=column,
            outputs=(rows.target_name or "target",) if rows.classes is None else rows.classes[1:],
            levels=tuple(map(str, levels)),
            means=level_means(codes, len(levels), targets, overall),
            overall=overall,
            scaler=Scaler.fit(means_of_other_folds(codes, len(levels), targets, overall, split_into_folds(rows))),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What each input is."""
        return tuple(f"{self.column}: mean of {output}" for output in self.outputs)

    def is_known(self, words: Words) -> NDArray[np.bool_]:
        """Which cells have a level that training had."""
        return self._positions(words) >= 0

    def inputs(self, words: Words) -> NDArray[np.float64]:
        """Scaled means `(rows, outputs)` of later rows, the overall one where training had no such level."""
        return self.scaler.transform(np.vstack([self.means, self.overall])[self._positions(words)])

    def leave_out(self, words: Words, rows: Samples[Any]) -> NDArray[np.float64]:
        """The same of the training rows, each by the targets of other parts."""
        codes, count = self._positions(words), len(self.levels)
        return self.scaler.transform(
            means_of_other_folds(codes, count, indicators(rows), self.overall, split_into_folds(rows))
        )

    def _positions(self, words: Words) -> NDArray[np.intp]:
        return pd.Index(self.levels, dtype=object).get_indexer(pd.Index(words, dtype=object))


def level_means(codes: NDArray[Any], count: int, targets: Floats, overall: Floats) -> Floats:
    """(sum of the targets of a level + s * overall mean) / (rows of it + s), `(count, outputs)`."""
    sums = np.zeros((count, targets.shape[1]))
    np.add.at(sums, codes, targets)
    rows = np.bincount(codes, minlength=count)[:, None]
    return np.asarray((sums + SMOOTHING * overall) / (rows + SMOOTHING))


def means_of_other_folds(codes: NDArray[Any], count: int, targets: Floats, overall: Floats, parts: Rows) -> Floats:
    """Mean of each row's level over the rows of other parts, `(rows, outputs)`.

    The overall mean is that of all rows: one number for all cannot tell a row its own target.
    """
    result = np.empty_like(targets)
    for part in np.unique(parts):
        held = parts == part
        result[held] = level_means(codes[~held], count, targets[~held], overall)[codes[held]]
    return result


def split_into_folds(rows: Samples[Any]) -> Rows:
    """Part of each row, at random; those of a group stay together."""
    units = np.arange(len(rows)) if rows.groups is None else pd.factorize(np.array(rows.groups, dtype=object))[0]
    return np.asarray(np.random.default_rng(0).permutation(units.max() + 1)[units] % PARTS)


def indicators(rows: Samples[Any]) -> Floats:
    """Numbers `(rows, 1)`, or 0 and 1 of every class but the first."""
    if rows.classes is None:
        return rows.truth[:, None].astype(np.float64)
    return np.asarray(np.eye(len(rows.classes))[rows.truth][:, 1:])
