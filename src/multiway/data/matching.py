"""Later data under what training learnt: the same names, classes and sizes; what is new or missing is said once."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, listed
from multiway.errors import DataError, Message


def match_names(names: Sequence[str], known: Sequence[str], findings: Findings) -> None:
    """Hold columns to those of the training; others are not used."""
    absent = [name for name in known if name not in names]
    if absent:
        rule = f"columns are matched by name, and {listed(absent, 5)} {'is' if len(absent) == 1 else 'are'} lacking"
        raise findings.fatal("columns", rule, f"It has {listed(names)}. Add or rename.")
    extra = [name for name in names if name not in known]
    if extra:
        findings.add("columns", "note", f"columns {listed(extra)} are not used")


def positions(labels: Sequence[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """Position of each label among the classes, -1 where it is none of them."""
    return np.asarray(pd.Index(list(classes)).get_indexer(pd.Index(list(labels))), dtype=np.int64)


def match_classes(
    labels: Sequence[str], classes: Sequence[str], source: str, word: str, place: Callable[[int], str] | None = None
) -> NDArray[np.int64]:
    """Positions of labels among the classes of the training; `place` says where a label stands."""
    result = positions(labels, classes)
    unknown = np.flatnonzero(result < 0)
    if len(unknown):
        names = listed(sorted({labels[row] for row in unknown.tolist()}))
        first = "" if place is None else f", the first in {place(int(unknown[0]))}"
        raise DataError(
            f"{source}: classes are those of the training, {listed(classes)}. Got {names} in {len(unknown)} {word}"
            f"{first}. Correct them, or leave these out."
        )
    return result


def match_sizes(sizes: Sequence[int], known: Sequence[int], axes: str, source: str, fix: Message) -> None:
    """Hold the sizes of inputs to those of the training."""
    if tuple(sizes) != tuple(known):
        expected, got = (f"({', '.join(map(str, shape))})" for shape in (known, sizes))
        raise DataError(f"{source}: the run was trained on {axes} {expected}. Got {got}. ", *fix)
