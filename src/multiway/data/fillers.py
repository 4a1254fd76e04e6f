"""Numbers that stand for missing ones: usual as such, repeated, and far from all others of their column."""

import collections
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import Findings, quoted
from multiway.errors import Message

NINES = tuple(sign * float("9" * digits) for digits in range(2, 8) for sign in (-1, 1))
BOUNDS = (-32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0, -3.4028235e38, 3.4028235e38)
FILLS = (9.969209968386869e36, 1e20, -1e20, 1e30, -1e30, 1e35, 1e36, -1e36, 1e37, -1e37)
USUAL = np.array(sorted((*NINES, *BOUNDS, *FILLS)))
"""Of spreadsheets and loggers, of whole numbers' ends, and of NetCDF and climate models."""
ALIKE = 1e-5
"""What single precision and printing change of one, as a share."""
EMPTY: Message = ("If it means missing, leave these cells empty.",)
FEWEST, DIFFERENT = 2, 3
"""Cells that hold it, and different numbers beside it, without which a number is none of these."""


def fillers_of(values: NDArray[Any]) -> dict[float, NDArray[np.intp]]:
    """Places of each such number: those that lie further from all others than these spread.

    values: `(cells,)`, NaN where missing.
    """
    if not len(values) or not _usual(np.array([np.fmin.reduce(values), np.fmax.reduce(values)], np.float64)).any():
        return {}  # what lies so far out is the least or the greatest, or one of several
    values = values.astype(np.float64)
    usual = _usual(values)
    others = values[~usual & ~np.isnan(values)]
    if not usual.any() or len(np.unique(others)) < DIFFERENT:
        return {}
    low, high = others.min(), others.max()
    places = {float(value): np.flatnonzero(values == value) for value in np.unique(values[usual])}
    return {
        value: rows
        for value, rows in places.items()
        if len(rows) >= FEWEST and max(low - value, value - high) > high - low
    }


def _usual(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values are one of the usual numbers."""
    above = np.searchsorted(USUAL, values).clip(0, len(USUAL) - 1)
    near = np.stack([USUAL[above], USUAL[(above - 1).clip(0)]])
    return np.asarray((np.abs(near - values) <= ALIKE * np.abs(near)).any(0))


def note_fillers(
    columns: Iterable[tuple[str, NDArray[np.float64]]], findings: Findings, fix: Message, known: Collection[float] = ()
) -> None:
    """Warn of such numbers by column, parts of which may come one by one; not of those known to mean missing."""
    counts = collections.Counter[tuple[str, float]]()
    for name, values in columns:
        counts.update({(name, value): len(rows) for value, rows in fillers_of(values).items() if value not in known})
    for (name, value), count in counts.items():
        rule = f"'{quoted(name)}' holds {value:g} in {count:,} cells, far from all its other numbers"
        findings.add("sentinel", "warning", rule, fix, count=count)
