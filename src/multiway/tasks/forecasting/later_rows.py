"""Rows that came after others: joined to them by the names of columns, without what the others have or lack."""

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Unreadable, list_some, soundly
from multiway.data.options import ReadOptions
from multiway.data.sources.cells import EMPTY_CELLS
from multiway.data.sources.columns import RawTable, sound_times
from multiway.data.sources.frames import SOURCE, source_name
from multiway.errors import DataError
from multiway.tasks.forecasting.config import Roles
from multiway.tasks.forecasting.panel import Columns
from multiway.tasks.forecasting.read import frame_of, labels_of, options_of_training

PLACE = "place of the row"
"""A column that says where a row stood before those without a sound time went."""


class Joined(NamedTuple):
    """Rows of all sources, and what is left out of the later ones, a line each."""

    rows: pd.DataFrame
    notes: tuple[str, ...]


def join_rows(sources: Sequence[object], options: ReadOptions, columns: Columns, roles: Roles) -> Joined:
    """Rows of several files or frames, one after another, as they are written.

    Of a later one these are left out and named: series that the first lacks, and rows up to the last value of their
    series before it. Other rows take the place of those without a value, unless rows are issues of their time. Where it
    lacks a column that says what a series is, the first fills it.

    Raises:
        DataError: A later one lacks another column that is used, has none of the series, or no later row.
    """
    options, names = options_of_training(sources[0], options, columns), [source_name(each) for each in sources]
    tables = [soundly(name, partial(frame_of, each, options)) for name, each in zip(names, sources, strict=True)]
    aligned = [
        _align_columns(table, tables[0], name, columns, roles) for table, name in zip(tables, names, strict=True)
    ]
    rows, part = pd.concat(aligned, ignore_index=True), np.repeat(np.arange(len(tables)), list(map(len, tables)))
    notes, series = list[str](), None
    for table, name in zip(tables[1:], names[1:], strict=True):
        new = [each for each in table.columns if each not in tables[0].columns]
        if new and not columns.ids:  # a column of a wide table is a series
            notes.append(_words_on_new(new, name))
    with contextlib.suppress(Unreadable):  # reading will say what is wrong
        series = labels_of(RawTable.whole(rows), columns.ids, Findings("")) if columns.ids else None
    if series is not None:
        rows, part, series = _keep_known(rows, part, series, names, notes)
        rows = _fill_static(rows, part, series[1], [name for name in roles.static if name in rows])
    codes = np.zeros(len(rows), np.int32) if series is None else series[1]
    others = {columns.time, *columns.ids, *roles.columns, roles.issued}
    cells = rows[[columns.value] if columns.value else [name for name in rows if name not in others]]
    valued = np.asarray((cells.notna() & ~cells.isin([*EMPTY_CELLS, *options.missing_marks])).any(axis=1))
    rows = _after(rows, Parts(part, codes, valued), names, options, columns, notes, has_issues=roles.issued is not None)
    rows.attrs[SOURCE] = " and ".join(dict.fromkeys(names))
    return Joined(rows, tuple(notes))


def _align_columns(table: pd.DataFrame, first: pd.DataFrame, name: str, columns: Columns, roles: Roles) -> pd.DataFrame:
    """The columns of the first in its order; those that are not there are missing, where they may be."""
    used = [columns.time, *columns.ids, columns.value, *roles.future, *roles.past, roles.issued]
    needed = [each for each in first.columns if each in used or not columns.ids]
    if lacking := [each for each in needed if each not in table.columns]:
        raise DataError(
            f"{name}: later rows have the columns of the others. It lacks {list_some(lacking)}; "
            f"there are {list_some(table.columns)}."
        )
    return table.reindex(columns=first.columns)


def _words_on_new(new: Sequence[str], name: str) -> str:
    return f"{list_some(new)} {'is' if len(new) == 1 else 'are'} new to the run and left out of {name}"


def _keep_known(
    rows: pd.DataFrame,
    part: NDArray[np.int64],
    series: tuple[list[str], NDArray[np.int32]],
    names: Sequence[str],
    notes: list[str],
) -> tuple[pd.DataFrame, NDArray[np.int64], tuple[list[str], NDArray[np.int32]]]:
    """The rows of series that the first part has."""
    labels, codes = series
    known = np.isin(np.arange(len(labels)), codes[part == 0])
    for place in range(1, len(names)):
        own = np.unique(codes[part == place])
        new = [labels[code] for code in own if not known[code]]
        if len(own) and len(new) == len(own):
            first = list_some(name for name, is_known in zip(labels, known, strict=True) if is_known)
            raise DataError(f"{names[place]}: none of the run's series {first} are in it; there are {list_some(new)}.")
        if new:
            notes.append(_words_on_new(new, names[place]))
    kept = known[codes]
    return rows[kept].reset_index(drop=True), part[kept], (labels, codes[kept])


def _fill_static(
    rows: pd.DataFrame, part: NDArray[np.int64], codes: NDArray[np.int32], static: list[str]
) -> pd.DataFrame:
    """What the first part says of each series, where a later one does not say it."""
    first = rows[part == 0].groupby(codes[part == 0], sort=False)[static].first()
    filled = {
        name: rows[name].where(rows[name].notna() | (part == 0), first[name].reindex(codes).array)
        for name in static
        if rows[name][part > 0].isna().any()
    }
    return rows.assign(**filled)


class Parts(NamedTuple):
    """Of each row: the source that it is from, its series, and whether it has a value."""

    source: NDArray[np.int64]
    series: NDArray[np.int32]
    valued: NDArray[np.bool_]


def _after(
    rows: pd.DataFrame,
    parts: Parts,
    names: Sequence[str],
    options: ReadOptions,
    columns: Columns,
    notes: list[str],
    *,
    has_issues: bool,
) -> pd.DataFrame:
    """Without rows of a later part up to the last value of their series, and those without a value that it replaces.

    Where rows are issues of their time all stay.
    """
    kept = np.ones(len(rows), bool)
    with contextlib.suppress(Unreadable):
        places, times = _times_of(rows, columns.time, options)
        source, series, valued = parts.source[places], parts.series[places], parts.valued[places]
        keys = pd.MultiIndex.from_arrays([series, times])
        for later in range(1, len(names)) if len(places) else ():
            own, before = source == later, (source < later) & kept[places]
            last = pd.Series(times).where(before & valued).groupby(series).transform("max")
            early = own & np.asarray(times <= pd.Index(last))
            until = times[before & valued].max()
            if early.any() and early.sum() == own.sum():
                raise DataError(f"{names[later]}: no row of it is after {until}, the last of the run. Give later rows.")
            if has_issues:
                continue
            if early.any():
                notes.append(
                    f"{early.sum():,} rows of {names[later]} up to {until} are in the run already and left out"
                )
            kept[places[early | (before & ~valued & keys.isin(keys[own & ~early]))]] = False
    return rows[kept].reset_index(drop=True)


def _times_of(rows: pd.DataFrame, time: str | None, options: ReadOptions) -> tuple[NDArray[np.int64], pd.Index]:
    """Rows with a sound time, and the times."""
    if time is None:
        return np.empty(0, np.int64), pd.Index([])
    table = RawTable.whole(rows[[time]].assign(**{PLACE: np.arange(len(rows))}))
    table, times = sound_times(table, time, options, Findings(""))
    return table.frame[PLACE].to_numpy(), times
