"""Classes of series by name, and their positions."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import listed
from multiway.data.tabular.target import in_order
from multiway.errors import DataError

MAX_CLASSES = 1000


def checked_classes(labels: Sequence[str], source: str) -> tuple[str, ...]:
    """Every class once: numbers in their order, words by the alphabet.

    Raises:
        DataError: A series has none, all have one, or there are nearly as many as series.
    """
    absent = [row for row, label in enumerate(labels) if not label]
    if absent:
        raise DataError(f"{source}: every series needs a class. Series {absent[0]} has none. Fill it in.")
    classes = in_order(np.array(sorted(set(labels)), dtype=object))
    if not 2 <= len(classes) <= min(MAX_CLASSES, len(labels) / 2):
        raise DataError(
            f"{source}: two classes or more are needed, with two series or more each. Got {len(classes)} "
            f"({listed(classes, 4)}) in {len(labels)} series. Name another column (--target NAME)."
        )
    return classes


def positions(labels: Sequence[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """Position of each label among the classes, -1 where it is none of them."""
    return np.asarray(pd.Index(list(classes)).get_indexer(pd.Index(list(labels))), dtype=np.int64)
