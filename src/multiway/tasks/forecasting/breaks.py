"""Series that change their level or unit for good: a forecast of the future joins rows before to those after."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multiway.config import Config
from multiway.errors import Fix, Message
from multiway.tasks.forecasting.calendar import time_kept
from multiway.tasks.forecasting.panel import Panel

Values = NDArray[np.float64]
FEWEST = 10
"""Rows on either side of a break at least, and a whole number of seasons."""
CLEAR, LARGEST = 6.0, 2.0
"""Deviations that a level changes by at least, and times its step is as large as any other."""

KEEP: Message = ("To keep them as they are, set breaks to keep (", Fix("breaks", "keep"), ").")


class Break(Config):
    """Where a series changed: earlier rows are multiplied by `times` and `plus` is added; 0 where they stand still.

    series: Its name.
    first: The time of the first row after, in words.
    """

    series: str
    first: str
    times: float = 1.0
    plus: float = 0.0

    @property
    def is_still(self) -> bool:
        """Whether all rows before hold one value."""
        return self.times == 0

    def rule(self) -> str:
        """What is done of it."""
        if self.is_still:
            return f"{self.series} stands still until {self.first}, and rows before are left out of a forecast"
        how = f"{self.times:.4g} times what it was" if self.times != 1 else f"{self.plus:+.4g} from where it was"
        return f"from {self.first} on, {self.series} is {how}. A forecast joins rows before to it"


class Change(NamedTuple):
    """The first row after a break, and what it multiplies or adds."""

    row: int
    times: float
    plus: float


def find_breaks(panel: Panel, season: int) -> tuple[Break, ...]:
    """The break of each series that has one.

    Its step is twice any other, all later values lie beyond all earlier ones, and a season apart values differ across
    it by six deviations. A series that stands still after it has none, since nothing is known of how it goes on.
    """
    lag, found = -(-FEWEST // season) * season, []
    for name, values in zip(panel.names, panel.values.T, strict=True):
        rows = np.flatnonzero(~np.isnan(values))
        change = _change_in(values[rows], lag)
        if change is not None:
            first = str(panel.times[rows[change.row]])
            found.append(Break(series=name, first=first, times=change.times, plus=change.plus))
    return tuple(found)


def _change_in(values: Values, lag: int) -> Change | None:
    """The clearer one of a change of level and one in proportion."""
    if len(values) < 2 * lag:
        return None
    found = list(_changes(values, lag))
    if (values > 0).all():
        found += _changes(np.log(values), lag, is_log=True)
    clear = [(clarity, change) for clarity, change in found if clarity >= CLEAR]
    if (values > 0).all():  # a positive series stays one
        clear = [(clarity, each) for clarity, each in clear if (each.times * values[: each.row] + each.plus > 0).all()]
    return max(clear, default=(0.0, None))[1]


def _changes(values: Values, lag: int, *, is_log: bool = False) -> Iterator[tuple[float, Change]]:
    """How clear the largest step is as a break, and what it changes; none where it is no break."""
    steps = np.abs(np.diff(values))
    row = int(steps.argmax()) + 1
    before, after = values[:row], values[row:]
    if min(len(before), len(after)) < lag or steps[row - 1] < LARGEST * np.partition(steps, -2)[-2]:
        return
    if max(after.min() - before.max(), before.min() - after.max()) <= 0 or np.ptp(after) == 0:
        return
    if np.ptp(before) == 0:
        yield np.inf, Change(row, 0.0, 0.0)
        return
    usual = np.concatenate([(before[lag:] - before[:-lag])[-lag:], (after[lag:] - after[:-lag])[:lag]])
    across = after[:lag] - before[-lag:]
    change = float(np.median(across) - (np.median(usual) if len(usual) else 0.0))
    spread = max(float(across.std()), float(np.finfo(np.float32).tiny))
    yield abs(change) / spread, Change(row, np.exp(change), 0.0) if is_log else Change(row, 1.0, change)


def join_breaks(panel: Panel, breaks: Sequence[Break]) -> Panel:
    """A panel whose rows before breaks are as those after them, or missing where a series stood still."""
    if not breaks:
        return panel
    values = panel.values.copy()
    for each in breaks:
        place, before = panel.names.index(each.series), panel.times < time_kept(panel.times, each.first)
        values[before, place] = np.nan if each.is_still else each.times * values[before, place] + each.plus
    return dataclasses.replace(panel, values=values)
