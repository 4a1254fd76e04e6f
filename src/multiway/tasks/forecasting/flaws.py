"""What the options do with order, repeated times, gaps, missing cells; each step says what it met."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.checking import judge_marks
from multiway.data.findings import KEPT_PER_KIND, Findings, Place, Severity, list_some, refuse_huge
from multiway.data.options import ReadOptions
from multiway.data.sources.cells import LARGEST
from multiway.data.sources.columns import RawTable
from multiway.errors import Fix, Message
from multiway.tasks.forecasting.calendar import (
    MIN_SHARE,
    GridTooLong,
    has_sessions,
    in_step,
    infer_frequency,
    is_end,
    season_of,
    steps_over,
    time_grid,
)
from multiway.tasks.forecasting.covariates import Covariates
from multiway.tasks.forecasting.steps import Regular, step_of

MASK = Fix("read.missing", "mask")
FIXES: dict[str, Message] = {
    "unsorted": ("Sort the rows, or set unsorted to sort (", Fix("read.unsorted", "sort"), ")."),
    "duplicates": ("Set duplicates to first, last, mean or keep (", Fix("read.duplicates", "last"), ")."),
    "gaps": ("Set gaps to fill or ignore (", Fix("read.gaps", "fill"), ")."),
    "missing": ("Set missing to mask or ffill (", MASK, ")."),
    "sentinel": (
        "Set missing to mask or ffill (",
        MASK,
        "); if it is a number like any other, set sentinels to an empty list (",
        Fix("read.sentinels", []),
        ").",
    ),
}
HUGE: Message = (
    "Correct or empty them, or name them in sentinels if they mark what is missing (",
    Fix("read.sentinels", like="[9.97e36]"),
    ").",
)
FREQUENCY: Message = ("set frequency to the step (", Fix("read.frequency", "D"), ").")
IRREGULAR: Message = (
    " Or set frequency to the step, and say what a step has of its rows (",
    Fix("read.frequency", "D"),
    " ",
    Fix("read.resample", "sum"),
    ").",
)
CHOOSE = Fix("read.variates", like="NAME,NAME")
SEVERAL = 0.05
"""Share of repeated times from which on a table may be of several series."""
SEVERAL_SERIES: Message = (
    " If they are of several series, name their column (",
    Fix("read.id_column", like="NAME"),
    ").",
)
FINER = 1.5
"""Values of a series for each step, on average, from which on its step is finer."""
SPARSEST, FEWEST_STEPS = 20, 3
"""Steps for each that has a row at most, and steps with a row at least, of a frequency that makes sense."""
MOST_SPARSE, EDGE, UNMIXED = 200, 12, 0.95
"""Series whose own step is looked for; rows at either end that show it; and the share of steps that are as there."""
HOLIDAYS: Message = (
    " If these are holidays, ignore them: rows then follow each other (",
    Fix("read.gaps", "ignore"),
    ").",
)
SHIFT_HINT = " If clocks changed there, write times with a UTC offset."


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A panel in the making, where each of its cells came from, and what is noted of it.

    origin: `(time, variates)` or `(time, 1)`: position in the table's rows; -1 where no row was.
    """

    values: NDArray[np.float64]
    times: pd.Index
    names: tuple[str, ...]
    origin: NDArray[np.int64]
    table: RawTable
    options: ReadOptions
    findings: Findings

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

    def note(self, kind: str, rows: NDArray[np.intp], rule: str, *hint: str | Fix, policy: str = "") -> None:
        """Note rows with a flaw; `policy` where it is not the one of the options."""
        places = [self.place(int(row)) for row in rows[:KEPT_PER_KIND]]
        self.note_places(kind, places, len(rows), rule, *hint, policy=policy)

    def note_places(
        self, kind: str, places: list[Place], count: int, rule: str, *hint: str | Fix, policy: str = ""
    ) -> None:
        """An error that names the option, or a warning of what the option did."""
        option = "missing" if kind == "sentinel" else kind
        policy = policy or getattr(self.options, option)
        if policy == "error":
            self.findings.add(kind, "error", rule, (*FIXES[kind], *hint), places, count)
        else:
            self.findings.add(kind, "warning", f"{rule} ({option}={policy})", "", places, count)


def apply_policies(draft: Draft, usual: str | None, *, has_plan: bool) -> tuple[Draft, str | None, Draft]:
    """The draft under its options, the step of its times, and the rows after it that are known ahead alone.

    usual: The step of a run.
    has_plan: Whether covariates are known ahead: the last rows, where no series has a value, are a plan of them.
    """
    options, findings = draft.options, draft.findings
    draft = once_each(in_time_order(draft))
    frequency = infer_frequency(draft.times, usual)
    if options.frequency is not None and isinstance(draft.times, pd.DatetimeIndex):
        frequency = options.frequency
    if has_sessions(frequency):
        season = season_of(frequency)
        rule = f"times are those of sessions, {frequency}: a step leads to the next of them, and a season has {season}"
        findings.add("sessions", "note", rule)
    slower = _note_series_steps(draft) if usual is None and options.resample is None else []
    is_split = not slower and usual is None and options.resample is None and _note_change(draft, frequency)
    try:
        draft = on_step(draft)
        if not (slower and options.missing == "error") and not (is_split and options.gaps == "error"):
            draft = without_gaps(draft, frequency)
        there, count = np.flatnonzero(~np.isnan(draft.values).all(1)), len(draft.values)
        is_left_out = has_plan or draft.options.missing != "error"
        stop = int(there[-1]) + 1 if len(there) and is_left_out else count
        if stop < count and not has_plan:
            rule = f"no value in the last {count - stop} rows, which are left out"
            findings.add("span", "warning", f"{rule}: a forecast begins after {draft.times[stop - 1]}")
        ahead = draft.take(np.arange(stop, count))
        draft = with_missing(draft.take(np.arange(stop)), slower)
    except GridTooLong as error:
        raise findings.fatal("gaps", str(error), ("Correct the first or last time, or ", *FREQUENCY)) from None
    low = np.nanmin(draft.values, axis=0, initial=np.inf)
    high = np.nanmax(draft.values, axis=0, initial=-np.inf)
    constant = np.flatnonzero((low == high) & np.isfinite(low))
    if len(constant) and len(draft.times) > 1:
        places = [Place(column=draft.names[column]) for column in constant]
        fix = ("Their forecast is that number; leave them out with variates (", CHOOSE, ") if that is no use.")
        findings.add("constant", "warning", "columns never change", fix, places)
    return draft, frequency, ahead


def _note_series_steps(draft: Draft) -> list[int]:
    """Name the steps of series, where some have a longer one than others; which these are."""
    times, there = draft.times, ~np.isnan(draft.values)
    if not isinstance(times, pd.DatetimeIndex) or times.has_duplicates or there.shape[1] < 2:
        return []
    counts, span = there.sum(0), len(there) - there.argmax(0) - there[::-1].argmax(0)
    is_sparse = (counts >= 3) & (2 * counts <= span + 1)
    slower: dict[str, list[int]] = {}
    for column in np.flatnonzero(is_sparse)[:MOST_SPARSE]:
        step = infer_frequency(times[there[:, column]])
        if step is not None:
            slower.setdefault(step, []).append(int(column))
    columns = [column for own in slower.values() for column in own]
    if not columns:
        return []
    others = np.setdiff1d(np.arange(len(counts)), columns)
    usual = infer_frequency(times[np.flatnonzero(there[:, others].any(1))]) if len(others) else None
    steps = {**slower, **({usual: others.tolist()} if usual is not None and usual not in slower else {})}
    if len(steps) < 2:
        return []
    listed = "; ".join(f"{step} of {list_some([draft.names[each] for each in own], 3)}" for step, own in steps.items())
    longest = max(steps, key=lambda step: step_of(step).length)
    fix = (*_fix_steps(longest), ", or choose series of one step (", CHOOSE, ").")
    severity: Severity = "error" if draft.options.missing == "error" else "warning"
    draft.findings.add("steps", severity, f"series have different steps: {listed}", fix)
    return columns


def _note_change(draft: Draft, frequency: str | None) -> bool:
    """Name the time from which rows have another step than before; whether there is one."""
    times = draft.times.unique()
    edge = min(EDGE, len(times) // 2)
    if not isinstance(times, pd.DatetimeIndex) or edge < FEWEST_STEPS or has_sessions(frequency):
        return False
    before, after = infer_frequency(times[:edge]), infer_frequency(times[-edge:])
    if before is None or after is None:
        return False
    first, last = (step_of(step).length / pd.Timedelta(seconds=1) for step in (before, after))
    steps = np.log(np.asarray((times[1:] - times[:-1]) / pd.Timedelta(seconds=1)))
    is_first = np.abs(steps - np.log(first)) < np.abs(steps - np.log(last))
    right = np.append(0, is_first.cumsum()) + np.append((~is_first)[::-1].cumsum()[::-1], 0)
    row = int(right.argmax())
    if max(first, last) < 1.5 * min(first, last) or right[row] < UNMIXED * len(steps):
        return False
    rule = f"the step changes from {before} to {after} at {times[row]}"
    fix = (*_fix_steps(before if first > last else after), ", or give the rows of one step alone.")
    severity: Severity = "error" if draft.options.gaps == "error" else "warning"
    draft.findings.add("steps", severity, rule, fix)
    return True


def _fix_steps(longest: str) -> Message:
    return "Bring all to the longest (", Fix("read.frequency", longest), " ", Fix("read.resample", "sum"), ")"


def in_time_order(draft: Draft) -> Draft:
    """Sort by time, keeping the order of rows with one time."""
    backwards = np.flatnonzero(draft.times[1:] < draft.times[:-1]) + 1
    if not len(backwards):
        return draft
    if len(backwards) == len(draft.times) - 1 > 1:
        draft.findings.add("unsorted", "note", "rows stand from the newest to the oldest, and are turned round")
        return draft.take(np.arange(len(draft.times))[::-1])
    draft.note("unsorted", backwards, f"times run backwards at {_count_words(len(backwards), 'row')}")
    return draft.take(np.argsort(draft.times.to_numpy(), kind="stable"))


def once_each(draft: Draft) -> Draft:
    """One row per time, unless repeats are kept."""
    repeated, policy = np.flatnonzero(draft.times.duplicated()), draft.options.duplicates
    if not len(repeated) or (policy == "error" and draft.options.resample is not None):
        return draft
    rule = f"{_count_words(len(repeated), 'row')} repeat{'s' if len(repeated) == 1 else ''} a time"
    hint = _shift_hint(draft.times[repeated[:KEPT_PER_KIND]])
    several = () if len(repeated) < SEVERAL * len(draft.times) else SEVERAL_SERIES
    draft.note("duplicates", repeated, rule, *hint, *several)
    if policy in ("keep", "error"):
        return draft
    if policy == "mean":
        groups = np.asarray(draft.times.factorize()[0])
        means = pd.DataFrame(draft.values).groupby(groups).mean().to_numpy()
        draft = dataclasses.replace(draft, values=means[groups])
    return draft.take(np.flatnonzero(~draft.times.duplicated(keep="last" if policy == "last" else "first")))


def on_step(draft: Draft) -> Draft:
    """Resample rows onto the step that was given, if gaps are to be filled or it is said how.

    The last value goes to the next time on the step, never to an earlier one; mean and sum are of the rows from a time
    to before the next. The end of a month, quarter or year has all rows of it.
    """
    options = draft.options
    by = options.resample or ("last" if options.gaps == "fill" else None)
    if options.frequency is None or by is None or not isinstance(draft.times, pd.DatetimeIndex):
        return draft
    grid = steps_over(draft.times, options.frequency)
    ends, is_last = is_end(options.frequency), by == "last"

    def place(times: pd.DatetimeIndex) -> NDArray[np.int64]:
        if ends:
            return grid.searchsorted(times.normalize())
        return grid.searchsorted(times) if is_last else grid.searchsorted(times, side="right") - 1

    step = place(draft.times)
    moved = np.flatnonzero(grid[step] != draft.times)
    if not len(moved):
        return draft
    _refuse_absurd(draft, len(np.unique(step)), grid)
    rule = f"{_count_words(len(moved), 'row')} moved to the step of {options.frequency}, which has the {by} of its rows"
    draft.note("gaps", moved, rule, policy="fill")
    draft = draft if is_last else _without_parts(draft, step, place)
    cells = pd.DataFrame(draft.values).groupby(step)
    values = cells.sum(min_count=1) if by == "sum" else cells.mean() if by == "mean" else cells.last()
    rows = pd.DataFrame(np.where(draft.origin < 0, np.nan, draft.origin)).groupby(step).last()
    origin = rows.fillna(-1).to_numpy(np.int64)
    if options.resample is not None:
        masked = "mask" if options.missing == "error" else options.missing
        draft = dataclasses.replace(draft, options=options.replace(gaps="fill", missing=masked))
    whole = dataclasses.replace(draft, values=values.to_numpy(), times=grid[values.index], origin=origin)
    has_started = is_last or not np.isnan(whole.values[0]).all()
    return whole if has_started else whole.take(np.arange(1, len(whole.times)))


def _without_parts(
    draft: Draft, step: NDArray[np.int64], place: Callable[[pd.DatetimeIndex], NDArray[np.int64]]
) -> Draft:
    """Without the values of the first and last step where rows cover a part of it alone: a row more would be in it too.

    Series with a value a step are whole.
    """
    there = np.flatnonzero(~np.isnan(draft.values).all(1))
    times = pd.DatetimeIndex(draft.times[there].unique())
    base = None if len(times) < FEWEST_STEPS else infer_frequency(times)
    own = None if base is None or min(in_step(times, base)) < MIN_SHARE else step_of(base)
    if not isinstance(own, Regular) or own.length >= step_of(str(draft.options.frequency)).length:
        return draft
    finer = np.flatnonzero((~np.isnan(draft.values)).sum(0) > FINER * len(np.unique(step)))
    values, frequency = draft.values.copy(), draft.options.frequency
    ends = {"first": (int(there[0]), -own.offset), "last": (int(there[-1]), own.offset)}
    for which, (row, offset) in ends.items():
        if place(pd.DatetimeIndex([draft.times[row] + offset]))[0] == step[row]:
            rows = np.flatnonzero(step == step[row])
            values[np.ix_(rows, finer)] = np.nan
            span = f"{draft.times[rows[0]]} to {draft.times[there[there <= rows[-1]][-1]]}"
            rule = f"the {which} step of {frequency} has rows from {span} alone, and is left out"
            draft.findings.add("span", "warning", rule)
    return dataclasses.replace(draft, values=values)


def _refuse_absurd(draft: Draft, used: int, grid: pd.DatetimeIndex) -> None:
    """Refuse a step that hardly any row or every row falls into."""
    sparse = len(grid) > SPARSEST * used
    if not sparse and used >= min(FEWEST_STEPS, len(draft.times) // 2):
        return
    frequency, rows = draft.options.frequency, _count_words(len(draft.times), "row")
    rule = (
        f"{rows} on the step of {frequency} leave {len(grid) - used:,} of {len(grid):,} steps without one, as between "
        f"{draft.times[0]} and {draft.times[1]}"
        if sparse
        else f"{rows} make {_count_words(used, 'step')} of {frequency}"
    )
    fix = ("Choose another step (", Fix("read.frequency", "D"), ").")
    raise draft.findings.fatal("gaps", rule, fix, [draft.place(0)])


def without_gaps(draft: Draft, frequency: str | None) -> Draft:
    """Compare with the times that the step leads to; absent ones become rows of NaN if the policy is to fill."""
    if len(draft.times) < 2:
        return draft
    unique, fills = draft.times.unique(), draft.options.gaps == "fill"
    strict = "error" if fills else ""  # filling cannot fix times off the step
    grid = time_grid(unique, frequency)
    if grid is None:
        draft.note_places("gaps", [], 1, "times follow no regular step", *IRREGULAR, policy=strict)
        return draft
    absent, off = grid.difference(unique), unique.difference(grid)
    if len(off) and has_sessions(frequency):
        rule = f"{_count_words(len(off), 'row')} outside of the sessions {frequency}, kept as steps between them"
        draft.note("gaps", draft.times.get_indexer_for(off), rule, policy="keep")
    elif len(off):
        rule = f"{_count_words(len(off), 'row')} off the step of {frequency or 'the others'}"
        step = Fix("read.frequency", frequency or "D")
        resample = Fix("read.resample", "mean" if frequency == "MS" else "last")  # else a month would move to the next
        move = (" Round these times to the step, or have it done (", step, " ", resample, ").")
        draft.note("gaps", draft.times.get_indexer_for(off), rule, *move, policy=strict)
    if len(absent):
        _note_absent(draft, grid, absent, has_sessions(frequency))
    is_whole = not len(off) or has_sessions(frequency)
    return _fill_times(draft, absent) if fills and len(absent) and is_whole else draft


def _note_absent(draft: Draft, grid: pd.Index, absent: pd.Index, has_holidays: bool) -> None:
    """One place for each stretch of successive absent times, which sessions have on holidays."""
    rows = grid.get_indexer(absent)
    stretches = [grid[part] for part in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)]
    shown = stretches[:KEPT_PER_KIND]
    places = [
        Place(detail=str(part[0]) if len(part) == 1 else f"{part[0]} to {part[-1]} ({len(part)} steps)")
        for part in shown
    ]
    times = f"{_count_words(len(absent), 'time')} {'is' if len(absent) == 1 else 'are'}"
    rule = f"{times} absent in {_count_words(len(stretches), 'gap')}"
    hint = HOLIDAYS if has_holidays else _shift_hint(part[0] for part in shown)
    draft.note_places("gaps", places, len(stretches), rule, *hint)


def _fill_times(draft: Draft, absent: pd.Index) -> Draft:
    """Put a row of NaN at every absent time; rows that keep one time stay side by side."""
    times = draft.times.append(absent)
    values = np.pad(draft.values, ((0, len(absent)), (0, 0)), constant_values=np.nan)
    origin = np.pad(draft.origin, ((0, len(absent)), (0, 0)), constant_values=-1)
    longer = dataclasses.replace(draft, values=values, times=times, origin=origin)
    return longer.take(np.argsort(times.to_numpy(), kind="stable"))


def _shift_hint(times: Iterable[object]) -> tuple[str, ...]:
    return (SHIFT_HINT,) if any(map(_near_shift, times)) else ()


def _near_shift(time: object) -> bool:
    """Whether clocks usually change at such a time: early on a Sunday in spring or autumn, in naive stamps."""
    return (
        isinstance(time, pd.Timestamp)
        and time.tz is None
        and time.month in (3, 4, 10, 11)
        and time.weekday() == 6
        and time.hour in (0, 1, 2, 3)
        and time != time.normalize()
    )


def outside(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Cells before the first and after the last value of a series, at times at which another series has one."""
    seen = ~np.isnan(values)
    started = np.logical_or.accumulate(seen, axis=0)
    lasting = np.logical_or.accumulate(seen[::-1], axis=0)[::-1]
    return np.asarray(~(started & lasting) & seen.any(1, keepdims=True) & seen.any(0))


def with_missing(draft: Draft, slower: Sequence[int]) -> Draft:
    """Turn sentinels into NaN, then apply the policy for missing cells.

    slower: Series that are refused for their own step, and not for each cell without a value.
    """
    values, sentinels, findings = draft.values, draft.options.missing_marks, draft.findings
    sentinel = np.isin(values, sentinels) if sentinels else np.zeros(values.shape, bool)
    if count := int(sentinel.sum()):
        numbers = ", ".join(f"{value:g}" for value in np.unique(values[sentinel]))
        rule = (
            f"{_count_words(count, 'cell')} {'hold' if count > 1 else 'holds'} {numbers}, which usually means missing"
        )
        draft.note_places("sentinel", _places_of(draft, sentinel), count, rule)
    beyond = outside(values)
    _note_spans(draft, beyond)
    missing = np.isnan(values) & ~beyond
    if draft.options.missing == "error":
        missing[:, slower] = False
    if count := int(missing.sum()):
        rule = f"{_count_words(count, 'cell')} {'are' if count > 1 else 'is'} missing"
        draft.note_places("missing", [draft.place(*cell) for cell in _first(missing)], count, rule)
    if -9999.0 not in sentinels and (count := int((values == -9999.0).sum())):
        findings.add("sentinel", "warning", f"{count} cells hold -9999 and are taken as numbers", count=count)
    huge = np.isfinite(values) & (np.abs(values) > LARGEST) & ~sentinel
    if count := int(huge.sum()):
        refuse_huge(count, _places_of(draft, huge), findings, HUGE, LARGEST)
    draft = dataclasses.replace(draft, values=np.where(sentinel, np.nan, values))
    judge_marks(zip(draft.names, draft.values.T, strict=True), draft.options.sentinels, findings)
    empty = np.flatnonzero(np.isnan(draft.values).all(0))
    if len(empty):
        severity: Severity = "warning" if draft.options.missing == "mask" else "error"
        places = [Place(column=draft.names[column]) for column in empty]
        fix = ("Leave them out with variates (", CHOOSE, ").")
        findings.add("missing", severity, "columns hold no value at all", fix, places)
    if draft.options.missing != "ffill":
        return draft
    # the last value is repeated; before the first one a series has not begun
    return dataclasses.replace(draft, values=pd.DataFrame(draft.values).ffill().to_numpy())


def _places_of(draft: Draft, cells: NDArray[np.bool_]) -> list[Place]:
    """Where the first cells that are marked stand, with their numbers."""
    return [draft.place(row, column, f"{draft.values[row, column]:g}") for row, column in _first(cells)]


def _note_spans(draft: Draft, beyond: NDArray[np.bool_]) -> None:
    """Name series that start late or end early: they are masked there, whatever becomes of missing cells."""
    columns = np.flatnonzero(beyond.any(0))
    if len(columns):
        seen = ~np.isnan(draft.values)
        spans = [draft.times[seen[:, column]] for column in columns[:KEPT_PER_KIND]]
        places = [
            Place(column=draft.names[column], detail=f"{span.min()} to {span.max()}")
            for column, span in zip(columns, spans, strict=False)
        ]
        verbs = "starts later or ends earlier" if len(columns) == 1 else "start later or end earlier"
        severity: Severity = "warning" if beyond[-1].any() else "note"
        draft.findings.add("span", severity, f"{len(columns)} series {verbs} than the others", "", places, len(columns))


def _first(cells: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Row and column of the first cells that are marked."""
    rows = np.flatnonzero(cells.any(1))[:KEPT_PER_KIND]
    return [(int(rows[row]), int(column)) for row, column in np.argwhere(cells[rows])[:KEPT_PER_KIND]]


def whole_covariates(covariates: Covariates, draft: Draft) -> Covariates:
    """Empty cells of covariates, in rows that the file has, under the policy for missing cells.

    Where a column has vintages an empty cell is no flaw: nothing was issued then.
    """
    values, options = covariates.values, draft.options
    values = np.where(np.isin(values, options.missing_marks), np.nan, values)
    empty = np.isnan(values[: len(draft.values)]) & (draft.origin >= 0)[..., None]
    has_issues = covariates.vintages is not None
    for place, (name, role) in enumerate(zip(covariates.names, covariates.roles, strict=True)):
        cells = np.argwhere(empty[..., place] & (not has_issues or role == "static"))
        if len(cells):
            rows = [int(draft.origin[row, series]) for row, series in cells[:KEPT_PER_KIND]]
            rule = f"{_count_words(len(cells), 'cell')} of a covariate {'are' if len(cells) > 1 else 'is'} missing"
            draft.note_places("missing", [draft.table.place(row, name) for row in rows], len(cells), rule)
    if options.missing == "ffill" and not has_issues:
        flat = pd.DataFrame(values.reshape(len(values), -1)).ffill().to_numpy()
        values = flat.reshape(values.shape)
    return dataclasses.replace(covariates, values=values)


def _count_words(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
