"""Tables in which a time has several rows, one for each issue of its covariates: their targets, and their vintages."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import KEPT_PER_KIND, Findings, list_some, quote
from multiway.data.options import ReadOptions
from multiway.data.sources.columns import RawTable, parse_times
from multiway.data.sources.times import is_day_first
from multiway.tasks.forecasting.config import Roles
from multiway.tasks.forecasting.covariates import Covariates, Vintages, read_covariates


class Rows(NamedTuple):
    """Rows of a table, the cells of a panel that they are for, -1 where it is none, and when they were issued.

    moment: Of the rows that are `there`, on the clock of the panel.
    """

    row: NDArray[np.int64]
    series: NDArray[np.int64]
    moment: pd.Index
    there: NDArray[np.bool_]


def distinct_rows(table: RawTable) -> NDArray[np.int64]:
    """Rows of a table without covariates that tell its layout: of those that lack nothing, each once."""
    whole = np.logical_and.reduce([table.columns[name].is_present for name in table.names])
    rows = np.flatnonzero(whole) if whole.any() else np.arange(len(whole))
    is_new = ~np.asarray(table.frame.iloc[rows].duplicated())
    return np.asarray(rows[is_new])


def join_targets(
    numbers: NDArray[np.float64], cell: NDArray[np.int64], names: Sequence[str], table: RawTable, findings: Findings
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Targets `(cells, columns)` of rows `(rows, columns)` of these cells, and the first row of each that has one.

    A target stands in one row of its cell and is empty in the others, or is the same in several.
    """
    rows, is_empty = pd.DataFrame(numbers), np.isnan(numbers).all(1)
    groups = rows.groupby(cell)
    differ = np.asarray((groups.transform("max") != rows) & rows.notna())
    if differ.any():
        places = [
            table.place(int(row), names[column], f"{numbers[row, column]:g}")
            for row, column in np.argwhere(differ)[:KEPT_PER_KIND]
        ]
        rule = "rows of one time have different targets"
        fix = "A time has one target, whenever its covariates were issued: write it once, or alike in all its rows."
        raise findings.fatal("issued", rule, fix, places, count=int(differ.any(1).sum()))
    order = np.lexsort((is_empty, cell))
    return groups.first().to_numpy(), order[np.flatnonzero(np.diff(cell[order], prepend=-1))]


def read_moments(
    table: RawTable, name: str, time: str, times: pd.Index, options: ReadOptions, findings: Findings
) -> tuple[pd.Index, NDArray[np.bool_]]:
    """When rows were issued, on the clock of their times, and which rows say so."""
    there = table.columns[name].is_present.copy()
    day_first = options.day_first if options.day_first is not None else is_day_first(table.columns[time].cells, times)
    own = options.replace(day_first=day_first)
    moments, sound = parse_times(table.take(there), name, own, findings, field="issued")
    there[there] = sound
    if not isinstance(times, pd.DatetimeIndex) or not isinstance(moments, pd.DatetimeIndex):
        if isinstance(times, pd.DatetimeIndex) or isinstance(moments, pd.DatetimeIndex):
            rule = f"'{quote(name)}' and '{quote(time)}' are not written alike: {moments[0]} and {times[0]}"
            raise findings.fatal("issued", rule, "Write both as dates, or both as whole numbers.")
    elif times.tz is None and moments.tz is not None:
        rule = f"'{quote(name)}' has an offset from UTC, {moments[0]}, and '{quote(time)}' has none, {times[0]}"
        raise findings.fatal("issued", rule, "Write both with an offset, or both without.")
    elif times.tz is not None and moments.tz is None:
        # of an hour that comes twice the later one: nothing is known too early
        later = np.zeros(len(moments), bool)
        moments = moments.tz_localize(times.tz, ambiguous=later, nonexistent="shift_forward")
    return moments, there


def read_issued(
    table: RawTable, roles: Roles, rows: Rows, cutoffs: pd.Index, options: ReadOptions, findings: Findings
) -> Covariates:
    """Covariates of every row of a table, `(rows of the table, 1, columns)`, and what was known when.

    cutoffs: Times of a panel; what was issued after the last is left out, with a word.
    """
    every = read_covariates(table, roles, np.arange(len(table.rows))[:, None], findings)
    assert every is not None
    values, names = (
        np.where(np.isin(every.values, options.missing_marks), np.nan, every.values),
        [*roles.future, *roles.past],
    )
    is_own = [name in names for name in every.names]
    _need_moments(table, np.asarray((~np.isnan(values[:, 0, is_own])).any(1)), roles, rows, findings)
    places, since = np.flatnonzero(rows.there), cutoffs.searchsorted(rows.moment, side="left").astype(np.int64)
    own = (rows.row[places] >= 0) & (rows.series[places] >= 0)
    late = own & (since == len(cutoffs))
    if late.any():
        rule = f"{late.sum()} rows were issued after {cutoffs[-1]}, the last time with a value, and are left out"
        is_plan = bool((rows.row[places[late]] >= len(cutoffs)).any())
        findings.add("issued", "warning" if is_plan else "note", rule, count=int(late.sum()))
    own &= ~late
    places, since, moment = places[own], since[own], pd.factorize(rows.moment[own], sort=True)[0]
    written = -places if options.duplicates == "first" else places  # the last of several rows of one issue stays
    order = np.lexsort((written, moment, rows.series[places], rows.row[places]))
    places, since = places[order], since[order]
    vintages = Vintages(row=rows.row[places], series=rows.series[places], since=since, values=values[places, 0])
    if options.duplicates == "error":
        keys = np.column_stack([vintages.row, vintages.series, moment[order]])
        repeated = 1 + np.flatnonzero((keys[1:] == keys[:-1]).all(1))
        refuse_contradictions(table, names, places[repeated], places[repeated - 1], findings, "time, series and issue")
    count = len(places) / max(len(np.unique(np.column_stack([vintages.row, vintages.series]), axis=0)), 1)
    said = (
        f"'{quote(str(roles.issued))}' says when covariates were issued: each time has {count:.1f} of them on average"
    )
    findings.add("issued", "note", said)
    return dataclasses.replace(every, values=values, vintages=vintages.fill())


def _need_moments(table: RawTable, has_values: NDArray[np.bool_], roles: Roles, rows: Rows, findings: Findings) -> None:
    """Refuse rows that have values of covariates and do not say when these were issued."""
    undated = np.flatnonzero(has_values & ~rows.there)
    if len(undated):
        name = str(roles.issued)
        rule = f"{len(undated)} rows have {list_some([*roles.future, *roles.past])}, and no time in '{quote(name)}'"
        places = [table.place(int(row), name) for row in undated[:KEPT_PER_KIND]]
        raise findings.fatal("issued", rule, "Say when they were issued.", places, count=len(undated))


def refuse_contradictions(
    table: RawTable,
    names: Sequence[str],
    rows: NDArray[np.int64],
    kept: NDArray[np.int64],
    findings: Findings,
    alike: str = "time and series",
) -> None:
    """Refuse rows that say something else than others that are alike."""
    one, other = (table.frame[[*names]].iloc[each].reset_index(drop=True) for each in (rows, kept))
    different = (one != other) & ~(one.isna() & other.isna())
    if different.any(axis=None):
        places = [table.place(int(row)) for row in rows[different.any(axis=1)]]
        rule = f"rows of one {alike} differ in {list_some(different.columns[different.any()])}"
        raise findings.fatal("duplicates", rule, "Leave one of them.", places, count=len(places))
