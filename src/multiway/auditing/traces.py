"""What gives an image away: its finest detail, its border, and the step between its intensities."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.marks import Faces
from multiway.auditing.near import thinned
from multiway.auditing.near_images import Details
from multiway.auditing.probes import class_numbers, held_out
from multiway.auditing.report import Verdict

Ints = NDArray[np.int64]
MOST_TRAIN, MOST_REST = 2000, 1000
"""Images whose borders are compared."""
MOST_VALUES, FINEST = 5000, 1e-3
"""Intensities that are looked at, and the share of their range from which on a step says something."""


class Traces:
    """What is kept of each image.

    steps: Smallest difference between two intensities of an image; 0 where it is too fine to say something.
    """

    def __init__(self) -> None:
        self.details, self.faces = Details(), Faces()
        self.steps: list[float] = []

    def add(self, image: NDArray[Any]) -> None:
        """Take in one image `(channels, *sizes)`."""
        self.details.add(image)
        self.faces.add(image)
        self.steps.append(_step(image))

    def check(
        self, splits: dict[str, Ints], names: Sequence[str], groups: Sequence[str], digests: Sequence[bytes | None],
        labels: Sequence[str], target: str = "the class",
    ) -> Iterator[Verdict | None]:  # fmt: skip
        """Whether images are near copies of each other, and whether the border tells the label."""
        if "train" not in splits:
            return
        yield self.details.check(splits, names, groups, digests)
        classes, own = class_numbers(labels), class_numbers(groups)
        train, rest = splits["train"], [rows for name, rows in splits.items() if name != "train"]
        if rest:
            chosen = thinned(train, MOST_TRAIN), thinned(np.concatenate(rest), MOST_REST)
            yield self.faces.check(classes, held_out(*chosen, classes, own), target)


def _step(image: NDArray[Any]) -> float:
    values = np.unique(thinned(image.ravel(), MOST_VALUES)).astype(np.float64)
    gap = float(np.diff(values).min(initial=np.inf))
    return round(gap, 9) if gap > FINEST * np.ptp(values) and np.isfinite(gap) else 0.0
