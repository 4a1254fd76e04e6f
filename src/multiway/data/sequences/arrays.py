"""Series in arrays: `.npz` files with an official split or without one, and arrays in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.cells import as_text
from multiway.data.findings import Findings, Place, listed
from multiway.data.sequences.options import SequenceOptions
from multiway.data.sequences.sequences import PARTS, Sequences, check_observed, joined, numbered_variates, padded
from multiway.data.volumes.arrays import Archive
from multiway.errors import DataError

OFFICIAL = ("X_train", "y_train", "X_test", "y_test")
PLAIN = (("X", "y"), ("x", "y"))


def holds_series(path: Path) -> bool:
    """Whether a .npz has the arrays of labelled series.

    Raises:
        DataError: It is no sound archive.
    """
    names = set(Archive(path, 0, path.name).names)
    return names >= set(OFFICIAL) or any(names >= set(pair) for pair in PLAIN)


def read_npz(path: Path, options: SequenceOptions, findings: Findings) -> Sequences:
    """Read X and y, or X_train, y_train, X_test and y_test; X is `(series, steps)` or `(series, steps, variates)`.

    Raises:
        DataError: The archive or an array is not sound.
        Unreadable: A series holds no value; it is noted.
    """
    archive = Archive(path, options.max_bytes, findings.source)
    if set(archive.names) >= set(OFFICIAL):
        train, test = (_pair(archive, f"X_{part}", f"y_{part}", findings) for part in PARTS)
        return joined(train, test, findings.source)
    for pair in PLAIN:
        if set(archive.names) >= set(pair):
            return _pair(archive, *pair, findings)
    x = next((name for name in ("X", "x") if name in archive.names), None)
    if x is None:
        raise DataError(
            f"{findings.source}: series are arrays X and y, or {', '.join(OFFICIAL)}. It holds {listed(archive.names)}."
        )
    return of_arrays(archive.read(x), None, findings)


def _pair(archive: Archive, x: str, y: str, findings: Findings) -> Sequences:
    return of_arrays(archive.read(x), archive.read(y, words=True), findings, (x, y))


def of_arrays(x: Any, y: Any, findings: Findings, names: tuple[str, str] = ("X", "y")) -> Sequences:
    """Take arrays as series.

    Args:
        x: `(series, steps)`, `(series, steps, variates)`, or a list of `(steps,)` or `(steps, variates)`.
        y: A class per series; None where they have none.
        findings: Takes up what is wrong with single series.
        names: What the two are called.

    Raises:
        DataError: A shape or a type is wrong.
    """
    series = [_series(each, f"{names[0]}[{row}]") for row, each in enumerate(_rows(x, names[0]))]
    check_observed(series, [Place(row=row, unit="row") for row in range(len(series))], findings)
    labels = None if y is None else _labels(y, len(series), names[1])
    return Sequences(
        values=padded(series), names=tuple(map(str, range(len(series)))), labels=labels, source=findings.source,
        variates=numbered_variates(series[0].shape[1]),
    )  # fmt: skip


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
