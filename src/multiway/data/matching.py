"""Later data under what training learnt: the same names, classes and sizes; what is new or missing is said once."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, listed, quoted
from multiway.data.scaling import Scaler
from multiway.errors import DataError, Fix, Message

FAR, REFUSED = 10.0, 100.0
"""Deviations beyond which a value is far outside the training, and those at which a column is refused."""
TOLD, MOST = 0.01, 0.5
"""Shares of a column that are far: from the first on it is told, from the second on it may be refused."""


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


class Far(NamedTuple):
    """What lies far outside the training, in words, and whether so far that no answer is worth having."""

    words: str
    is_refused: bool


def far_columns(values: NDArray[np.float64], names: Sequence[str], scaler: Scaler, word: str) -> list[Far]:
    """Columns of numbers, some of which are far from the training: how far in the middle, and how many.

    values: `(rows, columns)`, NaN where missing.
    word: What the rows are called.
    """
    result = []
    distances = np.abs(values - scaler.mean) / scaler.std
    for place, name in enumerate(names):
        known = distances[~np.isnan(distances[:, place]), place]
        far = known[known > FAR]
        if place in scaler.constant or len(far) < max(1, TOLD * len(known)):
            continue
        share, middle = len(far) / len(known), float(np.median(far))
        words = f"'{quoted(name)}' lies {middle:,.0f} deviations from training in {share:.0%} of {word}"
        result.append(Far(words.replace("%", " %"), middle > REFUSED and share >= MOST))
    return result


def refuse_far(far: Sequence[Far], source: str) -> None:
    """Give no answer to what lies so far outside the training: most often another unit, or another column."""
    refused = [each.words for each in far if each.is_refused]
    if refused:
        fix = Fix("far", value=True)
        raise DataError(f"{source}: {'; '.join(refused)}. Mind the unit, or have it answered all the same (", fix, ").")
