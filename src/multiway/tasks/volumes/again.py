"""What a finished run was made of, taken up again: its cases, and the rows of its predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multiway.data.volumes import Cases, read_cases
from multiway.errors import ConfigError
from multiway.tasks.volumes.fitting import OURS
from multiway.tasks.volumes.prepared import locate
from multiway.training import classification

if TYPE_CHECKING:
    from multiway.tasks.volumes.run import VolumeRun

ERRORS, RIGHT = "Most confident errors", "Classified correctly, most confident of each class"
SHOWN_CASES, SHOWN_RIGHT = 8, 4
COSTLY_VOXELS = 64**3
"""Of volumes larger than this fewer cases are explained unasked: nobody waits an hour for a page."""


def source_of(run: VolumeRun) -> str:
    """Path of the data that the run was trained on.

    Raises:
        ConfigError: It was fitted on arrays in memory.
    """
    data = run.config.data
    if data is None:
        raise ConfigError(
            "this run was fitted on arrays in memory, which are gone. Train on a file to explain its cases."
        )
    return locate(data)


def read_again(run: VolumeRun) -> Cases:
    """The cases that the run was trained on, their labels counted in the run's classes.

    Raises:
        ConfigError: It was fitted on arrays in memory.
        DataError: The data is no longer there, or no longer sound.
    """
    return read_cases(source_of(run), run.config.read, run.config.split).with_classes(run.classes)


class Rows:
    """One model's predictions of one split: case names, labels and probabilities `(cases, classes)`."""

    def __init__(self, run: VolumeRun, model: str = OURS, split: str = "test") -> None:
        frame = run.predictions
        frame = frame[(frame["model"] == model) & (frame["split"] == split)]
        places = {name: index for index, name in enumerate(run.classes)}
        self.cases = [str(name) for name in frame["case"]]
        self.labels = np.array([places[str(name)] for name in frame["label"]], np.int64)
        self.probabilities = frame[[f"p_{name}" for name in run.classes]].to_numpy(np.float64)
        self.predicted = classification.predicted_classes(self.probabilities)

    def __len__(self) -> int:
        return len(self.cases)


def interesting(run: VolumeRun, cases: Cases) -> list[tuple[str, int]]:
    """The most confident errors, then the most confident right case of each class: headings and places in `cases`."""
    rows, places = Rows(run), {name: index for index, name in enumerate(cases.names)}
    share = 2 if int(np.prod(run.sizes)) > COSTLY_VOXELS else 1
    confidence = rows.probabilities[np.arange(len(rows)), rows.predicted]
    order = [int(row) for row in np.argsort(-confidence, kind="stable") if rows.cases[row] in places]
    wrong = [row for row in order if rows.predicted[row] != rows.labels[row]]
    right = [row for row in order if rows.predicted[row] == rows.labels[row]]
    best = [next((row for row in right if rows.labels[row] == place), None) for place in range(len(run.classes))]
    found = [(ERRORS, row) for row in wrong[: SHOWN_CASES // share]]
    found += [(RIGHT, row) for row in best if row is not None][: SHOWN_RIGHT // share]
    return [(heading, places[rows.cases[row]]) for heading, row in found]
