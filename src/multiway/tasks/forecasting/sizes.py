"""Look-back, horizon and shares of the splits that fit the rows that there are."""

import dataclasses
import math
from typing import Self

from multiway.errors import Fix

LONGEST = 96
"""Look-back where the rows allow it."""
TRAIN, TEST = 0.7, 0.2
"""Shares of the splits where the rows allow them."""
USUAL = 14
"""Horizon of a file without a long season."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Borders:
    """Half-open ranges of target rows; validation and test windows reach back `lookback` rows for their past."""

    train: tuple[int, int]
    validation: tuple[int, int]
    test: tuple[int, int]

    @classmethod
    def at(cls, validation: int, test: int, stop: int) -> Self:
        """Split rows at the first of validation, the first of test, and the one after the last."""
        return cls(train=(0, validation), validation=(validation, test), test=(test, stop))

    def by_name(self) -> dict[str, tuple[int, int]]:
        """Range of each split, in the order of time."""
        return {"train": self.train, "validation": self.validation, "test": self.test}


def usual_horizon(rows: int, season: int) -> int:
    """A season or two of it, for a fifth of the rows at most."""
    return max(1, min(season * max(1, USUAL // season), LONGEST, rows // 5))


def fitting(rows: int, horizon: int, lookback: int | None = None, season: int = 1) -> tuple[Fix, ...] | None:
    """Settings with which windows of a horizon fit into every split, those that are usual left out; None if none do.

    A `lookback` that is given is kept where it fits; else it is a whole number of seasons where it can be.
    """
    test = max(int(TEST * rows), horizon)
    validation = max(rows - int(TRAIN * rows) - int(TEST * rows), horizon)
    train = rows - test - validation
    if train <= horizon:
        return None
    given = lookback or LONGEST
    is_short = lookback is None or lookback + horizon > train
    sizes: list[tuple[str, float, float]] = [
        ("lookback", usual_lookback(train, horizon, season) if is_short else given, given)
    ]
    if (train, test) != (int(TRAIN * rows), int(TEST * rows)):
        sizes += [("split.train", _share(train, rows), TRAIN), ("split.test", _share(test, rows), TEST)]
    return tuple(Fix(field, value) for field, value, usual in sizes if value != usual)


def largest(rows: int, lookback: int | None = None, season: int = 1) -> tuple[Fix, ...]:
    """A fifth of the rows as the horizon, and the settings with which its windows fit, all of which are needed."""
    horizon = max(1, rows // 5)
    return Fix("horizon", horizon), *(fitting(rows, horizon, lookback, season) or ())


def smaller(train: int, others: int, rows: int, horizon: int, lookback: int, *, is_usual: bool) -> tuple[Fix, ...]:
    """Settings with which windows fit: a look-back if that is enough, else shares or a horizon too.

    Args:
        train: Training rows.
        others: Rows of the shorter of the two other splits.
        rows: Rows of all splits.
        horizon: Steps to forecast, as set.
        lookback: Steps that are seen, as set.
        is_usual: The splits have the usual shares of the rows; others stay as they are.
    """
    if train > horizon and others >= horizon:
        return (Fix("lookback", usual_lookback(train, horizon, 1)),)
    if is_usual:
        return fitting(rows, horizon, lookback) or largest(rows, lookback)
    shorter = max(1, min(others, train // 2))
    return Fix("horizon", shorter), Fix("lookback", usual_lookback(train, shorter, 1))


def usual_borders(rows: int) -> tuple[int, int]:
    """The first rows of validation and test by the usual shares."""
    return int(TRAIN * rows), rows - int(TEST * rows)


def usual_lookback(train: int, horizon: int, season: int) -> int:
    """Half of the rows that windows can start from, in whole seasons or patches."""
    most = max(1, (train - horizon) // 2)
    if most >= LONGEST:
        return LONGEST
    step = next((size for size in (season, 4) if 1 < size <= most), 1)
    return most // step * step


def _share(part: int, rows: int) -> float:
    """The shortest share that is this many rows, rounded down."""
    shares = (math.ceil(part / rows * 10**digits) / 10**digits for digits in range(1, 9))
    return next((share for share in shares if int(share * rows) == part), part / rows)
