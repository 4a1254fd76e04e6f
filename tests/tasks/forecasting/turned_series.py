"""Forty made series whose last rows refute what the first say: sign, units, zeros, whole numbers, range and season."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

ROWS, AHEAD = 240, 12
"""Months that are seen, of which training has the first 168 by default, and that follow them."""
Values = NDArray[np.float64]


class Turned(NamedTuple):
    """A series that turns at a row, what comes after it, and how far noise alone leads from its course."""

    name: str
    kind: str
    row: int
    past: Values
    after: Values
    noise: float

    @property
    def frame(self) -> pd.DataFrame:
        """Of months and values."""
        return pd.DataFrame({"month": pd.date_range("2005-01-01", periods=ROWS, freq="MS"), "y": self.past})


def turned() -> Iterator[Turned]:
    """Every series."""
    for row in (150, 170, 185, 202, 215, 225):
        yield _made(f"falls through zero at {row}", "sign", lambda t, e, r=row: 0.02 * (r - t) + 0.05 * e, 0.05)
        yield _made(f"drops below zero at {row}", "sign", lambda t, e, r=row: np.where(t < r, 8, -1) + 0.1 * e, 0.1)
    for row in (180, 205):
        yield _made(
            f"dips below zero before {row}", "dip", lambda t, e, r=row: np.where(abs(t - r) < 9, -2, 5) + 0.2 * e, 0.2
        )
        yield _made(
            f"grows, and is lost at {row}",
            "sign",
            lambda t, e, r=row: np.where(t < r, 10 * np.exp(0.01 * t), -20 - 0.1 * t) + 0.3 * e,
            0.3,
        )
    yield _made("rises through zero at 200", "rise", lambda t, e: 0.02 * (t - 200) + 0.05 * e, 0.05)
    for row in (120, 190, 215):
        for times in (1000, 0.001):
            yield _made(
                f"is {times} times itself from {row}",
                "units",
                lambda t, e, r=row, k=times: (50 + e + 5 * np.sin(np.pi * t / 6)) * np.where(t < r, 1, k),
                times,
            )
    for row in (120, 168, 200, 222):
        yield _made(f"is zero before {row}", "zeros", lambda t, e, r=row: np.where(t < r, 0, 40 + 4 * e), 4)
    for row in (175, 205, 230):
        yield _made(
            f"has a fraction from {row}",
            "fraction",
            lambda t, e, r=row: np.rint(20 + 3 * e) + np.where(t < r, 0, 0.25),
            3,
        )
    yield _made("is whole from 200", "whole", lambda t, e: np.where(t < 200, 20 + 3 * e, np.rint(20 + 3 * e)), 3)
    for row in (172, 200, 220):
        yield _made(
            f"climbs out of its range from {row}",
            "range",
            lambda t, e, r=row: 10 + 0.2 * e + np.maximum(t - r, 0) * 3.0,
            0.2,
        )
    for row in (170, 210):
        yield _made(f"is constant before {row}", "range", lambda t, e, r=row: 7 + np.where(t < r, 0, 5 + 0.5 * e), 0.5)
    for row in (170, 196):
        yield _made(
            f"has a season from {row}",
            "season",
            lambda t, e, r=row: 30 + e + np.where(t < r, 0, 12 * np.sin(np.pi * t / 6)),
            1,
        )
    for row in (180, 210):
        yield _made(
            f"is mostly zero before {row}",
            "zeros",
            lambda t, e, r=row: np.where((t < r) & (np.abs(e) < 1.2), 0, np.rint(12 + 2 * e)),
            2,
        )


def _made(name: str, kind: str, course: Callable[[Values, Values], Values], noise: float) -> Turned:
    """One series of a seed of its own."""
    rng = np.random.default_rng(sum(map(ord, name)))
    values = np.asarray(course(np.arange(ROWS + AHEAD), rng.standard_normal(ROWS + AHEAD)), float)
    row = int(re.findall(r"\d+", name)[-1])
    return Turned(name, kind, row, values[:ROWS], values[ROWS:], noise)
