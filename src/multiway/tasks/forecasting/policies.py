"""What the options do with order, repeated times, gaps, missing cells; each step says what it met."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, Severity
from multiway.data.sources.cells import RawTable
from multiway.data.sources.options import ReadOptions
from multiway.errors import Fix, Message
from multiway.tasks.forecasting.frequency import GridTooLong, steps_over, time_grid

MASK = Fix("read.missing", "mask")
FIXES: dict[str, Message] = {
    "unsorted": ("Sort the rows, or set unsorted to sort (", Fix("read.unsorted", "sort"), ")."),
    "duplicates": ("Set duplicates to first, last, mean or keep (", Fix("read.duplicates", "last"), ")."),
    "gaps": ("Set gaps to fill or ignore (", Fix("read.gaps", "fill"), ")."),
    "missing": ("Set missing to mask or ffill (", MASK, ")."),
    "sentinel": (
        "Set missing to mask or ffill (", MASK, "); if it is a number like any other, set sentinels to an empty list (",
        Fix("read.sentinels", []), ").",
    ),
}  # fmt: skip
FREQUENCY: Message = ("set frequency to the step (", Fix("read.frequency", "D"), ").")
TOO_LONG: Message = ("Correct the first or last time, or ", *FREQUENCY)
CHOOSE = Fix("read.variates", like="NAME,NAME")
SHIFT_HINT = " If clocks changed there, write times with a UTC offset."


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A panel in the making, and where each of its cells came from.

    origin: `(time, variates)` or `(time, 1)`: position in the table's rows; -1 where no row was.
    """

    values: NDArray[np.float64]
    times: pd.Index
    names: tuple[str, ...]
    origin: NDArray[np.int64]
    table: RawTable

    def take(self, rows: NDArray[np.int64]) -> "Draft":
        """Choose rows."""
        return dataclasses.replace(self, values=self.values[rows], times=self.times[rows], origin=self.origin[rows])

    def place(self, row: int, column: int | None = None, value: object = None) -> Place:
        """Name a row or cell by its row in the file and its time."""
        name = None if column is None else self.names[column]
        source = int(self.origin[row, min(column or 0, self.origin.shape[1] - 1)])
        detail = f"time {self.times[row]}"
        if source < 0:
            return Place(column=name, value=None if value is None else str(value), detail=detail)
        return self.table.place(source, name, value, detail)


def note_flaw(
    kind: str, policy: str, rule: str, places: list[Place], count: int, findings: Findings, *hint: str | Fix
) -> None:
    """An error that names the option, or a warning of what the option did."""
    if policy == "error":
        findings.add(kind, "error", rule, (*FIXES[kind], *hint), places, count)
    else:
        option = "missing" if kind == "sentinel" else kind
        findings.add(kind, "warning", f"{rule} ({option}={policy})", "", places, count)


def in_time_order(draft: Draft, options: ReadOptions, findings: Findings) -> Draft:
    """Sort by time, keeping the order of rows with one time."""
    backwards = np.flatnonzero(draft.times[1:] < draft.times[:-1]) + 1
    if not len(backwards):
        return draft
    places = [draft.place(int(row)) for row in backwards[:20]]
    rule = f"times run backwards at {_rows(len(backwards))}"
    note_flaw("unsorted", options.unsorted, rule, places, len(backwards), findings)
    return draft.take(np.argsort(draft.times.to_numpy(), kind="stable"))


def once_each(draft: Draft, options: ReadOptions, findings: Findings) -> Draft:
    """One row per time, unless repeats are kept."""
    repeated = np.flatnonzero(draft.times.duplicated())
    if not len(repeated):
        return draft
    places = [draft.place(int(row)) for row in repeated[:20]]
    hint = _shift_hint(draft.times[repeated[:20]])
    rule = f"{_rows(len(repeated))} repeat{'s' if len(repeated) == 1 else ''} a time"
    note_flaw("duplicates", options.duplicates, rule, places, len(repeated), findings, *hint)
    if options.duplicates in ("keep", "error"):
        return draft
    if options.duplicates == "mean":
        groups = np.asarray(draft.times.factorize()[0])
        means = pd.DataFrame(draft.values).groupby(groups).mean().to_numpy()
        draft = dataclasses.replace(draft, values=means[groups])
    last = options.duplicates == "last"
    return draft.take(np.flatnonzero(~draft.times.duplicated(keep="last" if last else "first")))


def on_step(draft: Draft, options: ReadOptions, findings: Findings) -> Draft:
    """Move times to the step that was given, if gaps are to be filled: to the next time on it, never to an earlier one.

    Each time on the step takes the last value of every series since the one before.
    """
    if options.frequency is None or options.gaps != "fill" or not isinstance(draft.times, pd.DatetimeIndex):
        return draft
    try:
        grid = steps_over(draft.times, options.frequency)
    except GridTooLong as error:
        raise findings.fatal("gaps", str(error), TOO_LONG) from None
    step = grid.searchsorted(draft.times)
    moved = np.flatnonzero(grid[step] != draft.times)
    if not len(moved):
        return draft
    places = [draft.place(int(row)) for row in moved[:20]]
    rule = f"{_rows(len(moved))} moved to the next time on the step of {options.frequency}"
    note_flaw("gaps", options.gaps, rule, places, len(moved), findings)
    values = pd.DataFrame(draft.values).groupby(step).last()
    origin = pd.DataFrame(draft.origin).groupby(step).last().to_numpy()
    return dataclasses.replace(draft, values=values.to_numpy(), times=grid[values.index], origin=origin)


def without_gaps(draft: Draft, frequency: str | None, options: ReadOptions, findings: Findings) -> Draft:
    """Compare with the times that the step leads to; absent ones become rows of NaN if the policy is to fill."""
    if len(draft.times) < 2:
        return draft
    unique = draft.times.unique()
    try:
        grid = time_grid(unique, frequency)
    except GridTooLong as error:
        raise findings.fatal("gaps", str(error), TOO_LONG) from None
    if grid is None:
        note_flaw("gaps", _not_filled(options), "times follow no regular step", [], 1, findings, " Or ", *FREQUENCY)
        return draft
    absent, off = grid.difference(unique), unique.difference(grid)
    if len(off):
        places = [draft.place(int(row)) for row in draft.times.get_indexer_for(off)[:20]]
        rule = f"{_rows(len(off))} off the step of {frequency or 'the others'}"
        step = Fix("read.frequency", frequency or "D")
        move = (" Round these times to the step, or set frequency to have it done (", step, ").")
        note_flaw(
            "gaps", _not_filled(options), rule, places, len(off), findings, *(move if options.gaps == "fill" else ())
        )
    if len(absent):
        runs = _runs(grid, absent)
        places = [Place(detail=_stretch(*run)) for run in runs[:20]]
        hint = _shift_hint(first for first, _, _ in runs[:20])
        times = "1 time is" if len(absent) == 1 else f"{len(absent)} times are"
        rule = f"{times} absent in {len(runs)} gap{'' if len(runs) == 1 else 's'}"
        note_flaw("gaps", options.gaps, rule, places, len(runs), findings, *hint)
    if options.gaps != "fill" or not len(absent) or len(off):
        return draft
    return _filled(draft, grid)


def _not_filled(options: ReadOptions) -> str:
    """Filling cannot fix times off the step, so that policy refuses them too."""
    return "ignore" if options.gaps == "ignore" else "error"


def _filled(draft: Draft, grid: pd.Index) -> Draft:
    """Put a row of NaN at every absent time; rows that keep one time stay side by side."""
    absent = grid.difference(draft.times)
    times = draft.times.append(absent)
    rows = np.full((len(absent), draft.values.shape[1]), np.nan)
    origin = np.full((len(absent), draft.origin.shape[1]), -1, dtype=np.int64)
    longer = dataclasses.replace(
        draft, values=np.concatenate([draft.values, rows]), times=times, origin=np.concatenate([draft.origin, origin])
    )
    return longer.take(np.argsort(times.to_numpy(), kind="stable"))


def _shift_hint(times: Iterable[Any]) -> tuple[str, ...]:
    return (SHIFT_HINT,) if any(map(_near_shift, times)) else ()


def _near_shift(time: Any) -> bool:
    """Whether clocks usually change at such a time: early on a Sunday in spring or autumn, in naive stamps."""
    return (
        isinstance(time, pd.Timestamp)
        and time.tz is None
        and time.month in (3, 4, 10, 11)
        and time.weekday() == 6
        and time.hour in (0, 1, 2, 3)
        and time != time.normalize()
    )


def _runs(grid: pd.Index, absent: pd.Index) -> list[tuple[Any, Any, int]]:
    """Stretches of successive absent times: first, last, and how many."""
    rows = grid.get_indexer(absent)
    parts = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    return [(grid[part[0]], grid[part[-1]], len(part)) for part in parts]


def _stretch(first: Any, last: Any, count: int) -> str:
    return str(first) if count == 1 else f"{first} to {last} ({count} steps)"


def with_missing(draft: Draft, options: ReadOptions, findings: Findings) -> Draft:
    """Turn sentinels into NaN, then apply the policy for missing cells."""
    sentinel = np.isin(draft.values, options.sentinels) if options.sentinels else np.zeros(draft.values.shape, bool)
    empty = np.isnan(draft.values)
    _note_cells("sentinel", sentinel, draft, options, findings)
    _note_cells("missing", empty, draft, options, findings)
    if -9999.0 not in options.sentinels and (count := int((draft.values == -9999.0).sum())):
        findings.add("sentinel", "warning", f"{count} cells hold -9999 and are taken as numbers", count=count)
    draft = dataclasses.replace(draft, values=np.where(sentinel, np.nan, draft.values))
    _report_absent(draft, options, findings)
    return _forward_filled(draft, findings) if options.missing == "ffill" else draft


def _note_cells(kind: str, cells: NDArray[np.bool_], draft: Draft, options: ReadOptions, findings: Findings) -> None:
    count = int(cells.sum())
    if not count:
        return
    places: list[Place] = []
    for row in np.flatnonzero(cells.any(1))[:20]:
        for column in np.flatnonzero(cells[row])[: 20 - len(places)]:
            value = f"{draft.values[row, column]:g}" if kind == "sentinel" else None
            places.append(draft.place(int(row), int(column), value))
    number = ", ".join(f"{value:g}" for value in np.unique(draft.values[cells])) if kind == "sentinel" else ""
    rule = f"{_cells(count)} {'hold' if count > 1 else 'holds'} {number}, which usually means missing"
    if kind == "missing":
        rule = f"{_cells(count)} {'are' if count > 1 else 'is'} missing"
    note_flaw(kind, options.missing, rule, places, count, findings)


def _report_absent(draft: Draft, options: ReadOptions, findings: Findings) -> None:
    absent = [draft.names[column] for column in np.flatnonzero(np.isnan(draft.values).all(0))]
    if absent:
        severity: Severity = "warning" if options.missing == "mask" else "error"
        places = [Place(column=name) for name in absent]
        fix = ("Leave them out with variates (", CHOOSE, ").")
        findings.add("missing", severity, "columns hold no value at all", fix, places)


def _forward_filled(draft: Draft, findings: Findings) -> Draft:
    leading = np.flatnonzero(np.isnan(draft.values[0]) & ~np.isnan(draft.values).all(0))
    if len(leading):
        places = [draft.place(0, int(column)) for column in leading]
        fix = ("Set missing to mask (", MASK, "), or start the file later.")
        findings.add("missing", "error", "nothing stands before these missing cells to repeat", fix, places)
    return dataclasses.replace(draft, values=pd.DataFrame(draft.values).ffill().to_numpy())


def report_constant(draft: Draft, findings: Findings) -> list[str]:
    """Warn of columns that never change; they are kept."""
    low = np.nanmin(draft.values, axis=0, initial=np.inf)
    high = np.nanmax(draft.values, axis=0, initial=-np.inf)
    names = [draft.names[column] for column in np.flatnonzero((low == high) & np.isfinite(low))]
    if names and len(draft.times) > 1:
        fix = ("Their forecast is that number; leave them out with variates (", CHOOSE, ") if that is no use.")
        findings.add("constant", "warning", "columns never change", fix, [Place(column=name) for name in names])
    return names


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
