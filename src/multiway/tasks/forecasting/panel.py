"""A panel: several series observed at the same times."""

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from multiway.config import Config
from multiway.data.findings import list_some
from multiway.errors import DataError, Fix, Message
from multiway.tasks.forecasting.calendar import integer_step, step_times, time_like
from multiway.tasks.forecasting.covariates import Covariates

if TYPE_CHECKING:  # panels are read without torch
    from multiway.models.windows import Others


class Columns(Config):
    """Columns of the table that a panel was read from, so that a later table is read likewise."""

    time: str | None = None
    """None where rows are counted."""
    ids: tuple[str, ...] = ()
    """Of series names; none in a wide table."""
    value: str | None = None
    """Of values, in a long table."""
    day_first: bool | None = None
    """Whether dates of numbers were read day before month; None where they are not written so."""
    zone: str | None = None
    """Of the times, where it has a name and is not UTC: hours of the day are those of its clocks."""
    made: tuple[str, ...] = ()
    """Those of them that the table itself has no name for, as where an index or a header holds the times."""
    signs: dict[str, str] = Field(default_factory=dict)
    """The currency or percent sign without which numbers of a column are read."""

    def sign_of(self, series: str) -> str:
        """That of a series: of its column, or of the column of values."""
        return self.signs.get(series if self.value is None else self.value, "")

    def rename(self, frame: pd.DataFrame) -> pd.DataFrame:
        """An answer by the names of the table: of the columns that name series, of times, and of values.

        `unique_id`, `ds` and `y` stay where the table has no name for them, or two columns would have one. So do names
        of series whose parts cannot be told apart, as a slash stands in one.
        """
        own = {"unique_id": self.ids, "ds": (self.time,), "y": (self.value,)}
        columns = list[tuple[str, object]]()
        for ours in frame.columns:
            names = [name for name in own.get(ours, ()) if name is not None and name not in self.made]
            parts = split_names(frame[ours], len(names)) if len(names) > 1 else [frame[ours]]
            is_known = len(parts) == len(names) == len(own.get(ours, ()))
            columns += zip(names, parts, strict=True) if is_known else [(ours, frame[ours])]
        unique = dict(columns)
        return pd.DataFrame(unique) if len(unique) == len(columns) else frame


def split_names(cells: pd.Series, count: int) -> list[NDArray[np.object_]]:
    """The parts of names of series, a column each; none where a name has not so many."""
    codes, labels = pd.factorize(cells)
    parts = [str(label).split("/") for label in labels]
    if any(len(each) != count for each in parts):
        return []
    return [np.array(part, object)[codes] for part in zip(*parts, strict=True)]


class Share(NamedTuple):
    """Series that this process holds of all, where several processes hold them between them."""

    first: int
    stop: int
    of: int


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """Values of every variate at every time, in the units of the file.

    values: float64 `(time, variates)`; NaN where missing.
    times: DatetimeIndex, or an index of integers.
    names: One per variate.
    frequency: Step between times as a pandas alias, or its sessions (`Sessions`); None for integer times.
    layout: How the file was laid out.
    source: File name, or "the table" of data in memory.
    notes: What was detected and done on the way in, one line each.
    warned: Those of the notes that nobody should miss.
    columns: Of the table.
    covariates: Other columns, at these times and beyond.
    files: Names and hashes of the files of a folder.
    share: Which series these are, where other processes hold the others.
    others: What someone else forecast of the targets at past times.
    """

    values: NDArray[np.float64]
    times: pd.Index
    names: tuple[str, ...]
    frequency: str | None
    layout: Literal["wide", "long"]
    source: str
    notes: tuple[str, ...] = ()
    warned: tuple[Message, ...] = ()
    columns: Columns = dataclasses.field(default_factory=Columns)
    covariates: Covariates | None = None
    files: tuple[tuple[str, str], ...] = ()
    share: Share | None = None
    others: "Others | None" = None

    @property
    def num_rows(self) -> int:
        """Number of times."""
        return len(self.values)

    @property
    def num_variates(self) -> int:
        """Number of series."""
        return len(self.names)

    def slice(self, start: int, stop: int) -> Self:
        """Rows from `start` up to `stop`; covariates are known ahead of them too."""
        first = start if start >= 0 else max(self.num_rows + start, 0)
        covariates = None if self.covariates is None else self.covariates.since(first)
        values, times = self.values[start:stop], self.times[start:stop]
        return dataclasses.replace(self, values=values, times=times, covariates=covariates)

    def row_of(self, moment: object) -> int:
        """The last row of a time.

        Raises:
            DataError: It is none of the panel's times.
        """
        with contextlib.suppress(TypeError, ValueError, IndexError):
            return int(np.flatnonzero(self.times == time_like(self.times, moment))[-1])
        raise DataError(
            f"{self.source}: the cutoff {moment} is none of its times, {self.times[0]} to {self.times[-1]}."
        )

    def future_times(self, count: int) -> pd.Index:
        """The next `count` times after the last, those of the next sessions where there are sessions.

        Steps of days and more keep their hour when clocks change.

        Raises:
            DataError: The times have no regular step and none was given.
        """
        last = self.times[-1]
        if not isinstance(self.times, pd.DatetimeIndex):
            return pd.Index(np.arange(1, count + 1) * integer_step(self.times) + int(last))
        if self.frequency is None:
            raise DataError(
                f"{self.source}: the step between times is unknown, so none can follow. "
                "Set frequency, such as h or D (",
                Fix("read.frequency", "D"),
                ").",
            )
        ahead = step_times(last, self.frequency, count + 2).as_unit(self.times.unit)
        return pd.DatetimeIndex(ahead[ahead > last][:count])


def lacking(panel: Panel) -> NDArray[np.int64]:
    """Rows after the last value of each series; 0 for one without any."""
    seen = ~np.isnan(panel.values)
    return np.where(seen.any(0), seen[::-1].argmax(0), 0)


def words_on_ended(panel: Panel, names: Sequence[str], steps: int, lookback: int) -> tuple[str, ...]:
    """Lines on series that have values, and none in the last steps: they may have ended, or lack their last values."""
    rows = dict(zip(panel.names, lacking(panel).tolist(), strict=True))
    ended = [name for name in names if rows[name] >= steps]
    late = [name for name in names if 0 < rows[name] < steps]
    short = [name for name in late if panel.num_rows - rows[name] < lookback]
    lines = []
    if ended:
        are, went = ("is", "it") if len(ended) == 1 else ("are", "they")
        lines.append(
            f"{list_some(ended)}: no value in the last {steps:,} steps, and {are} forecast as if {went} went on"
        )
    if late:
        most, ends = max(rows[name] for name in late), "ends" if len(late) == 1 else "end"
        last = f"{'' if len(late) == 1 else 'up to '}{most:,} step{'' if most == 1 else 's'}"
        but = f", but for {list_some(short)}: fewer than {lookback:,} rows come before" if short else ""
        lines.append(f"{list_some(late)} {ends} {last} before the last row, and these steps are forecast first{but}")
    return tuple(lines)


def targets_last(panel: Panel, targets: Sequence[str]) -> Panel:
    """Put the series that are forecast behind those that are seen alone; without any, leave the panel as it is."""
    if not targets:
        return panel
    seen = [name for name in panel.names if name not in targets]
    if not seen:
        raise DataError(
            f"{panel.source}: targets {list_some(targets)} leave no series to forecast them from. It has "
            f"{list_some(panel.names)}. Leave targets out to forecast every series from its own past."
        )
    return match_panel(panel, [*seen, *targets])


def with_absent(panel: Panel, names: Sequence[str]) -> Panel:
    """Bring the variates into the order of `names`; one that is absent has no value at any time."""
    absent = [name for name in names if name not in panel.names]
    empty = np.full((panel.num_rows, len(absent)), np.nan)
    there = [*range(panel.num_variates), *[-1] * len(absent)]
    whole = dataclasses.replace(
        panel,
        values=np.hstack([panel.values, empty]),
        names=(*panel.names, *absent),
        covariates=None if panel.covariates is None else panel.covariates.of(there),
    )
    return match_panel(whole, names)


def match_panel(panel: Panel, names: Sequence[str]) -> Panel:
    """Bring the variates into the order of `names`; others are dropped with a note."""
    positions = {name: position for position, name in enumerate(panel.names)}
    absent = [name for name in names if name not in positions]
    if absent:
        verb = "is" if len(absent) == 1 else "are"
        raise DataError(
            f"{panel.source}: columns are matched by name, and {list_some(absent, 5)} {verb} lacking. "
            f"It has {list_some(panel.names)}. Add or rename."
        )
    chosen = set(names)
    extra = [name for name in panel.names if name not in chosen]
    notes = (*panel.notes, f"columns {list_some(extra)} are not used.") if extra else panel.notes
    order = [positions[name] for name in names]
    covariates = None if panel.covariates is None else panel.covariates.of(order)
    values = panel.values[:, order]
    return dataclasses.replace(panel, values=values, names=tuple(names), notes=notes, covariates=covariates)
