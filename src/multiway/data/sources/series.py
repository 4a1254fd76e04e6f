"""Labelled series of one number of variates, padded to one length, and how they are read."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, list_some
from multiway.data.options import SequenceOptions
from multiway.data.sources.arrays import Archive
from multiway.data.sources.bytes import SMALL_ARRAYS, free_memory, unfolded
from multiway.data.sources.cells import as_text
from multiway.errors import DataError, Fix

Values = NDArray[np.float64]
PARTS = ("train", "test")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Sequences:
    """Series with what is known of each.

    values: `(series, steps, variates)` float64, NaN where missing and behind the end of a shorter series.
    names: What the user calls each series.
    variates: What each variate is called.
    labels: Class of each series as text; None where the source has none.
    target_name: Column of the classes; None where they have none.
    groups: Group of each series, if a column of groups is named.
    parts: `train` or `test` for each series, where the source names its official split.
    notes: What was done on the way in, one line each.
    """

    values: Values
    names: tuple[str, ...]
    variates: tuple[str, ...]
    source: str
    labels: tuple[str, ...] | None = None
    target_name: str | None = None
    groups: tuple[str, ...] | None = None
    parts: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def resize(self, length: int) -> Self:
        """The same, padded or cut to a length."""
        lengths = lengths_of(self.values)
        longer = np.flatnonzero(lengths > length)
        if len(longer):
            raise DataError(
                f"{self.source}: series may have {length} steps. {list_some([self.names[longer[0]]])} has "
                f"{lengths[longer[0]]}, and {len(longer)} of {len(self)} are longer. Cut them, or train with a "
                "larger length (",
                Fix("read.length", int(lengths.max())),
                ").",
            )
        return dataclasses.replace(self, values=pad_series(list(self.values[:, :length]), length))


def lengths_of(values: Values) -> NDArray[np.int64]:
    """Steps of each series up to its last observed one."""
    observed = np.asarray(np.isfinite(values).any(2))
    return np.where(observed.any(1), observed.shape[1] - observed[:, ::-1].argmax(1), 0)


def missing_of(values: Values) -> NDArray[np.int64]:
    """Missing values of each series before its end, by variate; padding is none."""
    inside = np.arange(values.shape[1])[:, None] < lengths_of(values)[:, None, None]
    return np.asarray((np.isnan(values) & inside).sum(1))


def pad_series(series: Sequence[NDArray[Any]], length: int | None = None) -> Values:
    """Series `(steps, variates)` as one array `(series, length, variates)`, NaN behind their ends."""
    steps = max(map(len, series)) if length is None else length
    shape = (len(series), steps, series[0].shape[1])
    if 2 * 8 * np.prod(shape, dtype=float) > free_memory():
        raise DataError(
            f"series: {shape[0]:,} series of {steps:,} steps and {shape[2]} variates do not fit into memory. Give "
            f"fewer, or cut the longest."
        )
    values = np.full(shape, np.nan)
    for row, each in enumerate(series):
        values[row, : len(each)] = each
    return values


def join_series(train: Sequences, test: Sequences, source: str) -> Sequences:
    """An official split as one set of series."""
    if train.values.shape[2] != test.values.shape[2]:
        counts = " and ".join(str(each.values.shape[2]) for each in (train, test))
        raise DataError(f"{source}: train and test must have the same variates. Got {counts}. Give files of one set.")
    if train.labels is None or test.labels is None:
        raise DataError(f"{source}: both parts of an official split need classes. Give files with a class each.")
    steps = max(train.values.shape[1], test.values.shape[1])
    both = dict(zip(PARTS, (train, test), strict=True))
    return Sequences(
        values=np.concatenate([pad_series(list(each.values), steps) for each in both.values()]),
        names=tuple(f"{part} {name}" for part, each in both.items() for name in each.names),
        parts=tuple(part for part, each in both.items() for _ in each.names),
        variates=train.variates,
        labels=(*train.labels, *test.labels),
        source=source,
        notes=tuple(dict.fromkeys((*train.notes, *test.notes))),
    )


def check_observed(series: Sequence[Values], places: Sequence[Place], findings: Findings) -> None:
    """Refuse series that hold no value, and those of another number of variates."""
    empty = [place for each, place in zip(series, places, strict=True) if not np.isfinite(each).any()]
    if empty:
        raise findings.fatal(
            "empty", f"{len(empty)} series {'holds' if len(empty) == 1 else 'hold'} no value", "Leave them out.", empty
        )
    count = series[0].shape[1]
    wrong = [place for each, place in zip(series, places, strict=True) if each.shape[1] != count]
    if wrong:
        rule = f"every series has as many variates as the first one, {count}"
        raise findings.fatal("dimensions", rule, "Correct these.", wrong)


def class_text(text: str) -> str:
    """A class of a text file: what is written as 1.0000000e+00 is 1."""
    text = text.strip()
    is_number = re.fullmatch(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?", text) is not None
    return str(int(float(text))) if is_number and float(text).is_integer() else text


OFFICIAL = ("X_train", "y_train", "X_test", "y_test")
PLAIN = (("X", "y"), ("x", "y"))


def holds_series(path: Path) -> bool:
    """Whether a .npz has the arrays of labelled series."""
    names = set(Archive(path, 0, path.name).names)
    return names >= set(OFFICIAL) or any(names >= set(pair) for pair in PLAIN)


def read_npz(path: Path, options: SequenceOptions, findings: Findings) -> Sequences:
    """Read X and y, or X_train, y_train, X_test and y_test; X is `(series, steps)` or `(series, steps, variates)`.

    The longer one of the last two axes is time, wherever it stands, unless that is said.
    """
    limit = unfolded(options.max_bytes, path.stat().st_size, SMALL_ARRAYS)
    archive = Archive(path, limit, findings.source)
    if set(archive.names) >= set(OFFICIAL):
        train, test = (_pair(archive, f"X_{part}", f"y_{part}", options, findings) for part in PARTS)
        return join_series(train, test, findings.source)
    for pair in PLAIN:
        if set(archive.names) >= set(pair):
            return _pair(archive, *pair, options, findings)
    x = next((name for name in ("X", "x") if name in archive.names), None)
    if x is None:
        raise DataError(
            f"{findings.source}: series are arrays X and y, or {', '.join(OFFICIAL)}. It holds "
            f"{list_some(archive.names)}."
        )
    return _pair(archive, x, None, options, findings)


def _pair(archive: Archive, x: str, y: str | None, options: SequenceOptions, findings: Findings) -> Sequences:
    values, labels = archive.read(x), None if y is None else archive.read(y, words=True)
    is_wide = values.ndim == 3 and values.shape[1] < values.shape[2]
    if values.ndim == 3 and (options.time_axis == 2 or (options.time_axis is None and is_wide)):
        _, variates, steps = values.shape
        values = values.swapaxes(1, 2)
        if options.time_axis is None and not any(finding.kind == "axes" for finding in findings.found):
            rule = f"the last axis of {x} is longer, so it is time: {steps} steps of {variates} variates"
            fix = ("If it is not, say so (", Fix("read.time_axis", 1), ").")
            findings.add("axes", "note", rule, fix)
    return of_arrays(values, labels, findings, (x, y or "y"))


def of_arrays(x: Any, y: Any, findings: Findings, names: tuple[str, str] = ("X", "y")) -> Sequences:
    """Take arrays as series.

    `x` is `(series, steps)`, `(series, steps, variates)`, or a list of `(steps,)` or `(steps, variates)`.
    """
    series = [_series(each, f"{names[0]}[{row}]") for row, each in enumerate(_rows(x, names[0]))]
    numbered = number_series(series, [Place(row=row, unit="row") for row in range(len(series))], findings)
    return numbered if y is None else dataclasses.replace(numbered, labels=_labels(y, len(series), names[1]))


def number_series(series: Sequence[Values], places: Sequence[Place], findings: Findings) -> Sequences:
    """Series without names, each of which is called by its place among them."""
    check_observed(series, places, findings)
    count = series[0].shape[1]
    return Sequences(
        values=pad_series(series),
        names=tuple(map(str, range(len(series)))),
        source=findings.source,
        variates=("value",) if count == 1 else tuple(f"variate {place}" for place in range(1, count + 1)),
    )


def _rows(x: Any, name: str) -> Sequence[Any]:
    """Each series of an array or of a list."""
    if not isinstance(x, list | tuple):
        x = np.asarray(x)
        if x.dtype != object and x.ndim not in (2, 3):
            raise DataError(f"{name}: series are (series, steps) or (series, steps, variates). Got {x.shape}.")
    if not len(x):
        raise DataError(f"{name}: it holds no series. Give some.")
    return list(x)


def _series(values: Any, name: str) -> NDArray[np.float64]:
    """One series `(steps, variates)`."""
    given = np.asarray(values)
    if given.dtype.kind not in "biuf" or given.ndim not in (1, 2) or 0 in given.shape:
        raise DataError(
            f"{name}: a series holds numbers, (steps,) or (steps, variates), one or more of each. "
            f"Got {given.dtype.name} {given.shape}. Correct it or leave it out."
        )
    if np.isinf(given).any():
        raise DataError(f"{name}: values must be finite, or NaN where missing. Got an infinity. Correct it.")
    return given.astype(np.float64).reshape(len(given), -1)


def _labels(y: Any, count: int, name: str) -> tuple[str, ...]:
    given = np.asarray(y)
    if given.shape != (count,):
        raise DataError(f"{name}: one class is needed per series, ({count},). Got {given.shape}.")
    if given.dtype.kind == "f" and not (given == np.round(given)).all():
        raise DataError(f"{name}: classes are words or whole numbers. Got {given[given != np.round(given)][0]:g}.")
    return tuple(as_text(pd.Series(given)))
