"""What a maker of a data set is, and how one is listed."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Draw = np.random.Generator
Maker = Callable[[Path, Draw], dict[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class LeakSet:
    """One data set.

    name: What is in it.
    make: Writes it and gives the settings of its audit.
    kind: Kind of the finding that must say the leak; None for a sound set.
    """

    name: str
    make: Maker
    kind: str | None = None
