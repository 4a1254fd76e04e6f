"""What a finished run was made of: its cases, and the rows of its predictions."""

import numpy as np

from multiway.data.volumes import Cases, read_cases
from multiway.errors import ConfigError
from multiway.metrics.classes import predicted_classes
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

ERRORS, RIGHT = "Most confident errors", "Classified correctly, most confident of each class"
SHOWN_CASES, SHOWN_RIGHT = 8, 4
SWIFT_VOXELS = 32**3
"""Of volumes larger than this a report explains fewer cases, at fewer points: nobody waits an hour for a page."""


def reload_cases(run: Run) -> Cases:
    """The cases that the run was trained on, their labels counted in the run's classes.

    Raises:
        ConfigError: It was fitted on arrays in memory.
        DataError: The data is no longer there, or no longer sound.
    """
    if run.config.data is None:
        raise ConfigError(
            "this run was fitted on arrays in memory, which are gone. Train on a file to explain its cases."
        )
    cases = read_cases(run.task.locate(run.config.data), run.config.read, run.config.split)
    return cases.with_classes(run.state.classes)


class Rows:
    """One model's predictions of one split: case names, labels and probabilities `(cases, classes)`."""

    def __init__(self, run: Run, model: str = OURS, split: str = "test") -> None:
        frame, classes = run.tables["predictions"], run.state.classes
        frame = frame[(frame["model"] == model) & (frame["split"] == split)]
        places = {name: index for index, name in enumerate(classes)}
        self.cases = [str(name) for name in frame["case"]]
        self.labels = np.array([places[str(name)] for name in frame["label"]], np.int64)
        self.probabilities = frame[[f"p_{name}" for name in classes]].to_numpy(np.float64)
        self.predicted = predicted_classes(self.probabilities)

    def __len__(self) -> int:
        return len(self.cases)


def is_large(run: Run) -> bool:
    """Whether explaining a volume takes so long that a report does with less."""
    return int(np.prod(run.state.sizes)) > SWIFT_VOXELS


def affordable(run: Run, most: int, least: int = 1) -> int:
    """How many cases a report explains: the fewer the larger the volumes are, but so many at least."""
    return max(least, round(min(SWIFT_VOXELS / int(np.prod(run.state.sizes)), 1) * most))


def interesting(run: Run, cases: Cases, wrongs: int = SHOWN_CASES, rights: int = SHOWN_RIGHT) -> list[tuple[str, int]]:
    """The most confident errors, then the most confident right case of each class: headings and places in `cases`."""
    rows, places = Rows(run), {name: index for index, name in enumerate(cases.names)}
    confidence = rows.probabilities[np.arange(len(rows)), rows.predicted]
    order = [int(row) for row in np.argsort(-confidence, kind="stable") if rows.cases[row] in places]
    wrong = [row for row in order if rows.predicted[row] != rows.labels[row]]
    right = [row for row in order if rows.predicted[row] == rows.labels[row]]
    best = [next((row for row in right if rows.labels[row] == place), None) for place in range(len(run.state.classes))]
    chosen = [(ERRORS, row) for row in wrong[:wrongs]]
    chosen += [(RIGHT, row) for row in best if row is not None][:rights]
    return [(heading, places[rows.cases[row]]) for heading, row in chosen]
