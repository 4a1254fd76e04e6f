"""Whether the rows of a table are steps of labelled recordings: a counter that restarts, a name and a class of each."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.sources.cells import parse_cells
from multiway.errors import Fix

FEWEST, SHORTEST = 4, 4
"""Recordings, and rows of one on average, from which on a counter that restarts says so."""


class Recordings(NamedTuple):
    """Columns of a table of recordings."""

    id: str
    time: str
    target: str

    def settings(self) -> tuple[Fix, ...]:
        """Those of the task `series` that read it."""
        return tuple(Fix(f"read.{role}", name) for role, name in self._asdict().items())


def find_recordings(frame: pd.DataFrame, kinds: Mapping[str, str]) -> Recordings | None:
    """The columns by which rows are recordings one after another; None where they are not.

    A counter of steps begins at 0 or 1 and restarts with each recording. The name and the class do not change within
    one; names differ between all, and a class has several. Some other column of numbers is measured.
    """
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    for time in numbers:
        starts = _starts(parse_cells(frame[time])[0])
        if len(starts) >= FEWEST and len(frame) >= SHORTEST * len(starts):
            found = _roles(frame, time, [name for name in kinds if name != time], numbers, starts)
            if found is not None:
                return found
    return None


def _starts(steps: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows at which a counter begins; none where the column is no counter."""
    starts = np.flatnonzero(np.append(True, ~(np.diff(steps) > 0)))
    is_counter = steps[0] in (0, 1) and bool((steps[starts] == steps[0]).all())
    return starts if is_counter else starts[:0]


def _roles(
    frame: pd.DataFrame, time: str, others: list[str], numbers: list[str], starts: NDArray[np.int64]
) -> Recordings | None:
    lengths = np.diff(np.append(starts, len(frame)))
    kept = {name: frame[name].iloc[starts] for name in others}
    kept = {
        name: firsts for name, firsts in kept.items()
        if (frame[name].to_numpy() == np.repeat(firsts.to_numpy(), lengths)).all()
    }  # fmt: skip
    names = [name for name, firsts in kept.items() if firsts.is_unique]
    classes = [name for name, firsts in kept.items() if 2 <= firsts.nunique() <= len(starts) / 2]
    is_measured = any(name not in kept and name != time for name in numbers)
    return Recordings(names[0], time, classes[-1]) if names and classes and is_measured else None
