"""Later data under what training learnt: the same names, classes and sizes; what is new or missing is said once."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, list_some, quote
from multiway.data.scaling import Level, Scaler
from multiway.errors import DataError, Fix, Message

FAR, REFUSED = 10.0, 100.0
"""Deviations beyond which a value is far outside the training, and those at which a column is refused."""
NOTED, MOST = 0.01, 0.5
"""Shares of a column that are far: from the first on it is told, from the second on it may be refused."""
UNUSUAL, STRANGE, ENOUGH = 0.5, 0.9, 20
"""Shares of what training did not know that are told, and that are refused where there is enough of it."""


def match_names(names: Sequence[str], known: Sequence[str], findings: Findings) -> None:
    """Hold columns to those of the training; others are not used."""
    absent = [name for name in known if name not in names]
    if absent:
        rule = f"columns are matched by name, and {list_some(absent, 5)} {'is' if len(absent) == 1 else 'are'} lacking"
        raise findings.fatal("columns", rule, f"It has {list_some(names)}. Add or rename.")
    extra = [name for name in names if name not in known]
    if extra:
        findings.add("columns", "note", f"columns {list_some(extra)} are not used")


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
        names = list_some(sorted({labels[row] for row in unknown.tolist()}))
        first = "" if place is None else f", the first in {place(int(unknown[0]))}"
        raise DataError(
            f"{source}: classes are those of the training, {list_some(classes)}. Got {names} in {len(unknown)} {word}"
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
    distances = np.abs(values - scaler.mean) / scaler.std
    columns = ((name, distances[:, place]) for place, name in enumerate(names) if place not in scaler.constant)
    return [
        far
        for name, column in columns
        for far in _far(column[~np.isnan(column)], f"'{quote(name)}' lies", "deviations from training", word)
    ]


def far_levels(samples: Iterable[NDArray[Any]], level: Level | None, word: str) -> list[Far]:
    """Samples of many values each, some of which are brighter, darker, weaker or stronger than those of the training.

    word: What the samples are called.
    """
    if level is None or not level.spread:
        return []
    levels = np.array([Level.measure(sample) for sample in samples])
    offsets, ratios = np.abs(levels[:, 0] - level.mean) / level.spread, levels[:, 1] / level.spread
    ratios = np.where(ratios > 0, ratios, 1.0)  # a constant is a matter of checks
    return [
        *_far(offsets, "values lie", "deviations from training", word),
        *_far(ratios, "values spread", "times as much as in training", word),
        *_far(1 / ratios, "values spread", "times less than in training", word),
    ]


def _far(distances: NDArray[np.float64], lie: str, off: str, word: str) -> list[Far]:
    """What to say of distances, some of which are far: their middle, and how many they are."""
    far = distances[distances > FAR]
    if len(far) < max(1, NOTED * len(distances)):
        return []
    share, middle = len(far) / len(distances), float(np.median(far))
    where = f" in {100 * share:.0f} % of {word}" if len(distances) > 1 else ""
    return [Far(f"{lie} {middle:,.0f} {off}{where}", middle > REFUSED and share >= MOST)]


def far_share(unknown: int, count: int, word: str) -> list[Far]:
    """Parts of texts that training did not know, where most are; a few parts tell nothing."""
    share = unknown / max(1, count)
    words = f"{100 * share:.0f} % of the {word} are unknown to the training"
    return [Far(words, share > STRANGE)] if share > UNUSUAL and count >= ENOUGH else []


def hold_to_training(far: Sequence[Far], source: str, *, is_allowed: bool) -> tuple[str, ...]:
    """What to say of later data; what lies so far outside that its unit must be another is refused, unless allowed."""
    refused = [each.words for each in far if each.is_refused]
    if refused and not is_allowed:
        fix = Fix("far", value=True)
        raise DataError(f"{source}: {'; '.join(refused)}. Mind the unit, or have it answered all the same (", fix, ").")
    return tuple(each.words for each in far)
