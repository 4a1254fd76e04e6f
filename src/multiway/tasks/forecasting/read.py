"""Bytes to a panel: one pass over a file or frame that notes every flaw and applies the chosen policies."""

import collections
import contextlib
import dataclasses
import itertools
from collections.abc import Hashable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data import datasets
from multiway.data.findings import KEPT_PER_KIND, CheckReport, Findings, Unreadable, list_some, once, quote, soundly
from multiway.data.long_tables import SHORTEST, Long, find_issued, find_long
from multiway.data.options import ReadOptions
from multiway.data.sources.cells import as_text, distinct_cells
from multiway.data.sources.columns import RawTable, find_time_column, parse_times, require_columns, sound_times
from multiway.data.sources.frames import SOURCE, source_name
from multiway.data.sources.layouts import RANGES, TIME, VALUE, load_series_table
from multiway.data.sources.tables import column_names
from multiway.data.sources.times import is_day_first
from multiway.data.sources.values import parse_numbers
from multiway.errors import DataError, Fix, MultiwayError, warn
from multiway.tasks.forecasting.breaks import KEEP, find_breaks
from multiway.tasks.forecasting.calendar import in_step, season_of, zone_of
from multiway.tasks.forecasting.config import ROLES, ForecastConfig, Roles, SplitOptions
from multiway.tasks.forecasting.covariates import Covariates, propose_roles, read_covariates
from multiway.tasks.forecasting.flaws import CHOOSE, Draft, apply_policies, outside, whole_covariates
from multiway.tasks.forecasting.issued import Rows, distinct_rows, join_targets, read_issued, read_moments
from multiway.tasks.forecasting.panel import Columns, Panel, with_absent
from multiway.tasks.forecasting.splitting import borders_of, words_on_young, young_series
from multiway.tasks.forecasting.steps import near_step, step_of

MAX_CELLS = 2_000_000_000
"""Of a panel that a long table makes."""
FEW_LATE = 0.02
"""Share of the rows of series that may be out of order, as flaws."""
ALONE = Roles()
"""Series without covariates."""


def read_panel(
    source: object, options: ReadOptions | None = None, roles: Roles = ALONE, usual: str | None = None
) -> Panel:
    """Read a file or frame under the chosen policies.

    Args:
        source: Path of a CSV, CSV.gz or Parquet file, or a pandas or polars frame; wide or long.
        options: What to do with flaws; by default every flaw is refused.
        roles: Columns that are covariates.
        usual: The step of the first rows, where others were added to them.

    Raises:
        DataError: A flaw that no policy covers: one line with the file, the place, the value and the fix.
    """
    given = options or ReadOptions()
    read = partial(_read, source, given, roles, None, usual=usual)
    return soundly(source_name(source), read, _key_of(source, given, roles, usual))


def check_file(
    source: object, options: ReadOptions | None = None, split: SplitOptions | None = None, roles: Roles = ALONE
) -> CheckReport:
    """Say what is in a file and all that is wrong with it under these policies and this split.

    Raises:
        DataError: There is no such file, or the source is no table.
    """
    findings = Findings(source_name(source))
    panel = None
    with contextlib.suppress(Unreadable):
        given = options or ReadOptions()
        read = partial(_read, source, given, roles, None)
        panel = once(_key_of(source, given, roles), findings, read)
    if panel is not None and split is not None and not findings.errors():
        with contextlib.suppress(MultiwayError):  # a split that cannot be made is a matter of training
            names = list(itertools.compress(panel.names, young_series(panel, borders_of(panel, split))))
            if names:
                findings.add("young", "warning", words_on_young(names), count=len(names))
        if not (roles.future or roles.past):
            for each in find_breaks(panel, season_of(panel.frequency)):
                findings.add("break", "warning", each.rule(), KEEP)
    counts = {} if panel is None else dict(zip(panel.names, _missing(panel).sum(0).tolist(), strict=True))
    return CheckReport(
        source=findings.source,
        findings=findings.by_severity(),
        summary={"encoding": findings.encoding} if panel is None else _summary(panel, findings),
        missing={name: count for name, count in counts.items() if count},
    )


def _missing(panel: Panel) -> NDArray[np.bool_]:
    """Cells without a value between the first and the last one of their series."""
    return np.asarray(np.isnan(panel.values) & ~outside(panel.values))


def _summary(panel: Panel, findings: Findings) -> dict[str, object]:
    """Sizes, times, and how many flaws there are of each kind."""
    counts = collections.Counter[str]()
    for finding in findings.found:
        counts[finding.kind] += finding.count
    return {
        "rows": panel.num_rows,
        "variates": panel.num_variates,
        "names": list_some(panel.names, 12),
        "from": str(panel.times[0]),
        "to": str(panel.times[-1]),
        "step": panel.frequency or ("year" if _are_years(panel) else "row"),
        "season": season_of(panel.frequency),
        "layout": panel.layout,
        "encoding": findings.encoding,
        "missing cells": int(_missing(panel).sum()),
        "sentinel cells": counts["sentinel"],
        "repeated times": counts["duplicates"],
        "gaps": counts["gaps"],
        "constant columns": counts["constant"],
    }


def _are_years(panel: Panel) -> bool:
    """Whether whole numbers are years: those of a header, or of a column that is called so."""
    name, times = panel.columns.time, panel.times
    is_called = name is not None and (name in panel.columns.made or "year" in name.lower())
    low, high = RANGES["year"]
    return is_called and not isinstance(times, pd.DatetimeIndex) and bool(low <= times[0] <= times[-1] <= high)


@dataclasses.dataclass
class Later:
    """Series of a run, those of which are read that a later table has, and series that the run does not know.

    zone: Of the run's times, which the times of a later table are brought to where they have one.
    """

    names: Sequence[str]
    zone: str | None = None
    new: list[str] = dataclasses.field(default_factory=list)

    def among(self, names: list[str], findings: Findings) -> list[str]:
        """Names of the run that are there."""
        self.new = [name for name in names if name not in self.names]
        there = [name for name in self.names if name in names]
        if not there:
            rule = f"none of the run's series {list_some(self.names)} are in it; there are {list_some(names)}"
            raise findings.fatal("series", rule, "Give a file with some of them.")
        return there


def _key_of(source: object, options: ReadOptions, roles: Roles, usual: str | None = None) -> Hashable:
    """What names a panel that is read of a file; None for a frame."""
    return (Panel, str(source), options, roles, usual) if isinstance(source, str | Path) else None


def _read(
    source: object,
    options: ReadOptions,
    roles: Roles,
    later: Later | None,
    findings: Findings,
    usual: str | None = None,
) -> Panel:
    """Read as far as the file allows, noting flaws; the panel is sound only where no finding is an error."""
    if options.frequency is not None:
        step_of(options.frequency)
    table = load_series_table(source, options, options.time_column, findings)
    issued = () if roles.issued is None else (roles.issued,)
    time = find_time_column(table.drop([name for name in issued if name in table.names]), options, findings)
    table, times = sound_times(table, time, options, findings)
    if later is not None and later.zone is not None and isinstance(times, pd.DatetimeIndex) and times.tz is not None:
        times = times.tz_convert(later.zone)
    if isinstance(times, pd.DatetimeIndex) and (near := near_step(times)) is not None:
        findings.add("time", "note", f"times lie within {near[1]} s of a step of {near[0]}, and are rounded to it")
        times = times.round(near[0])
    day_first = None if time is None else is_day_first(table.columns[time].cells, times)
    own = table
    if not roles.is_empty:
        for role, names in (*((role, getattr(roles, role)) for role in ROLES), ("issued", issued)):
            require_columns([name for name in table.names if name != time], names, role, findings)
        own = table.drop([*roles.columns, *issued])
    if issued and time is None:
        rule = f"'{quote(issued[0])}' says when rows were issued, and no column the time that they are for"
        raise findings.fatal("issued", rule, ("Name the column of times (", Fix("read.time_column", like="NAME"), ")."))
    if issued:
        places = distinct_rows(own)
        long = find_long(own.take(places), time, times[places], options, findings)
    else:
        _refuse_issues(own, time, times, options, roles, findings)
        long = find_long(own, time, times, options, findings)
    read_own = _read_wide if long is None else partial(_read_long, long=long)
    draft = read_own(own, time, times, options, findings, later, has_issues=bool(issued))
    if long is None and roles.static:
        raise findings.fatal(
            "covariates",
            f"static names {list_some(roles.static)}, and a wide table has no column for each series",
            "Give a long table, or leave static out.",
        )
    draft, frequency, ahead = apply_policies(draft, usual, has_plan=bool(roles.future))
    covariates = _read_covariates(table, roles, time, times, long, draft, ahead)
    seen, ids = column_names(source), () if long is None else long.ids
    value = None if long is None else long.value
    measured = draft.names if value is None else (value,)
    signs = {name: sign for name in measured if name in table.texts and (sign := table.columns[name].sign)}
    return Panel(
        values=draft.values,
        times=draft.times,
        names=draft.names,
        frequency=frequency,
        layout="wide" if long is None else "long",
        source=findings.source,
        notes=findings.remarks(),
        warned=findings.warnings(),
        columns=Columns(
            time=time,
            ids=ids,
            value=value,
            day_first=day_first,
            zone=zone_of(draft.times),
            signs=signs,
            made=tuple(name for name in (time, *ids, value) if name is not None and name not in seen) if seen else (),
        ),
        covariates=covariates,
    )


def _read_covariates(
    table: RawTable, roles: Roles, time: str | None, times: pd.Index, long: Long | None, draft: Draft, ahead: Draft
) -> Covariates | None:
    """Covariates at the rows of a draft and ahead of it, of rows of a table at these times."""
    origin, findings = np.concatenate([draft.origin, ahead.origin]), draft.findings
    if roles.issued is None:
        covariates = read_covariates(table, roles, origin, findings)
        return None if covariates is None else whole_covariates(covariates, draft)
    series = places_of(table, () if long is None else long.ids, draft.names, findings)
    row = draft.times.append(ahead.times).get_indexer(times)
    if (row < 0).any():
        off = np.flatnonzero(row < 0)
        where = [table.place(int(each), detail=f"time {times[each]}") for each in off[:KEPT_PER_KIND]]
        rule = f"{len(off)} rows are off the step, and what was issued for them is of no step"
        raise findings.fatal("issued", rule, "Write their times on the step.", where, count=len(off))
    rows = Rows(row, series, *read_moments(table, roles.issued, str(time), times, draft.options, findings))
    every = read_issued(table, roles, rows, draft.times, draft.options, findings)
    cells = np.append(every.values, np.full_like(every.values[:1], np.nan), axis=0)[:, 0]
    covariates = whole_covariates(dataclasses.replace(every, values=cells[origin]), draft)
    last = np.minimum(np.arange(len(origin)), len(draft.times) - 1)
    return dataclasses.replace(covariates, values=covariates.at(last))


def _refuse_issues(
    table: RawTable, time: str | None, times: pd.Index, options: ReadOptions, roles: Roles, findings: Findings
) -> None:
    """Refuse rows that repeat a time where another column of times tells them apart: the earlier one is the issue."""
    other = find_issued(table, time, times, options) if options.duplicates == "error" else None
    if other is None or time is None:
        return
    moments, sound = parse_times(table, other, options, Findings(""))
    is_later = False
    with contextlib.suppress(TypeError):  # one of them has a time zone
        is_later = bool((moments > times[sound]).mean() > 0.5)
    fixes = [Fix("issued", time), Fix("read.time_column", other)] if is_later else [Fix("issued", other)]
    fixes += [] if roles.future else [Fix("future", like="NAME,NAME")]
    parts: list[str | Fix] = [part for fix in fixes for part in (fix, " ")]
    rule = f"rows repeat a time in '{quote(time)}', and '{quote(other)}' tells them apart"
    advice = "If one says when the covariates of a row were issued, name it and them ("
    raise findings.fatal("issued", rule, (advice, *parts[:-1], ")."))


def _read_wide(
    table: RawTable,
    time: str | None,
    times: pd.Index,
    options: ReadOptions,
    findings: Findings,
    later: Later | None,
    *,
    has_issues: bool,
) -> Draft:
    """A row per time, a column per series, as the table has them."""
    names = [name for name in table.names if name != time]
    if later is not None:
        names = later.among(names, findings)
    elif options.variates is not None:
        names = require_columns(names, options.variates, "variates", findings)
    else:
        columns = list(table.columns[name] for name in names)
        same = [each.name for each in columns if each.is_one_word]
        if same:
            findings.add("columns", "note", f"columns {list_some(same)} say the same in every row and are left out")
        dated = [each.name for each in columns if each.kind == "date"]
        if dated:
            findings.add("columns", "note", f"columns {list_some(dated)} hold other times and are left out")
            same += dated
        remarks = [each.name for each in columns if each.is_remark]
        if remarks:
            findings.add("columns", "note", f"columns {list_some(remarks)} hold words in few rows and are left out")
            same += remarks
        clocks = [] if time is not None else [each.name for each in columns if each.is_clock]
        if clocks and len(clocks) + len(same) < len(names):
            findings.add("columns", "note", f"columns {list_some(clocks)} rise by one step a row and are left out")
            same += clocks
        empty = [each.name for each in columns if options.missing != "mask" and not each.is_present.any()]
        if empty and len(empty) + len(same) < len(names):
            findings.add("columns", "warning", f"columns {list_some(empty)} hold no value at all and are left out")
            same += empty
        names = [name for name in names if name not in same]
        _refuse_several(table, names, times, findings)
    truths = [name for name in names if table.columns[name].is_truth] if options.variates is None else []
    if truths and len(truths) < len(names):
        are = f"{list_some(truths)} {'is' if len(truths) == 1 else 'are'}"
        fix = ("If known ahead and a reason for the others, name it (", Fix("future", like=",".join(truths)), ").")
        rule = f"{are} true or false, and read as series to forecast"
        findings.add("covariates", "warning", rule, fix)
    if not names:
        rule = "there is no column of values" + ("" if time is None else f" next to '{quote(time)}'")
        raise findings.fatal("columns", rule, "Give at least one series; columns are separated by , ; | or tabs.")
    values = parse_numbers(table, names, findings)
    when = "rows are counted" if time is None else f"times in '{quote(time)}'"
    findings.add("layout", "note", f"read as wide: {when}, {len(names)} series in columns")
    origin = np.arange(len(times))
    if has_issues:
        stamps, unique = pd.factorize(times, sort=True)
        values, origin = join_targets(values, stamps, names, table, findings)
        times = pd.Index(unique)
    return Draft(
        values=values,
        times=times,
        names=tuple(names),
        origin=origin[:, None],
        table=table,
        options=options,
        findings=findings,
    )


def _refuse_several(table: RawTable, names: Sequence[str], times: pd.Index, findings: Findings) -> None:
    """Refuse rows that are out of order as a whole, and in order within what the words of a column name."""
    backwards = np.count_nonzero(times[1:] < times[:-1])
    if backwards == len(times) - 1 or not (backwards or times.has_duplicates):
        return
    for name in names:
        column = table.columns[name]
        cells = column.cells
        if pd.api.types.is_numeric_dtype(cells) or cells.nunique() < 2 or cells.nunique() > len(cells) / SHORTEST:
            continue
        steps = pd.Series(times).groupby(cells.to_numpy()).diff().dropna()
        late = steps <= (pd.Timedelta(0) if isinstance(times, pd.DatetimeIndex) else 0)
        if not column.holds_numbers and not column.looks_like_time and float(late.mean()) <= FEW_LATE:
            rule = f"times run backwards or repeat, and not among the rows that say the same in '{quote(name)}'"
            fix = ("If it names series, say so (", Fix("read.id_column", like=quote(name)), ").")
            raise findings.fatal("columns", rule, fix)


CELL = ["stamp", "series"]


def _read_long(
    table: RawTable,
    time: str | None,
    times: pd.Index,
    options: ReadOptions,
    findings: Findings,
    later: Later | None,
    *,
    long: Long,
    has_issues: bool,
) -> Draft:
    """A row per time, a column per series in order of appearance, NaN where a series has no row."""
    unused = [name for name in table.names if name not in (time, *long.ids, long.value)]
    if unused:
        fix = propose_roles(table, unused, long.ids)
        rule = f"columns {list_some(unused)} are not used: they hold neither times nor names nor the values"
        findings.add("columns", "warning", rule, fix)
    numbers = parse_numbers(table, [long.value], findings)[:, 0]
    labels, series = labels_of(table, long.ids, findings)
    names = labels
    if later is not None:
        names = later.among(names, findings)
    elif options.variates is not None:
        names = require_columns(names, options.variates, "variates", findings)
    place = pd.Index(names).get_indexer(pd.Index(labels)).astype(np.int32)
    series, rows = place[series], np.arange(len(series), dtype=np.int32)
    if (place < 0).any():
        rows = rows[series >= 0]
        times, series, numbers = times[rows], series[rows], numbers[rows]
    stamps, unique = pd.factorize(times, sort=True)
    size = len(unique) * len(names)
    if size > MAX_CELLS:
        rule = f"{len(names):,} series at {len(unique):,} different times would take {size * 8e-9:.1f} GB"
        raise findings.fatal("memory", rule, ("Choose fewer with variates (", CHOOSE, ")."))
    draft = Draft(
        values=np.full((len(unique), len(names)), np.nan),
        times=pd.Index(unique),
        names=tuple(names),
        origin=np.full((len(unique), len(names)), -1),
        table=table,
        options=options,
        findings=findings,
    )
    cell = stamps * len(names) + series
    draft.origin.reshape(-1)[cell] = rows
    if np.count_nonzero(draft.origin >= 0) == len(rows):
        draft.values.reshape(-1)[cell] = numbers
    elif has_issues:
        cell, group = np.unique(cell, return_inverse=True)
        joined, first = join_targets(numbers[:, None], group, [long.value], table.take(rows.astype(np.int64)), findings)
        draft.values.reshape(-1)[cell], draft.origin.reshape(-1)[cell] = joined[:, 0], rows[first]
    else:
        cells = pd.DataFrame({"time": times, "stamp": stamps, "series": series, "row": rows, "number": numbers})
        cells = _without_repeats(cells.sort_values("stamp", kind="stable"), draft)
        draft.values[cells["stamp"], cells["series"]] = cells["number"]
        draft.origin[cells["stamp"], cells["series"]] = cells["row"]
    when = "rows are counted" if time is None else f"times in '{quote(time)}'"
    ids = " and ".join(f"'{quote(name)}'" for name in long.ids)
    said = f"read as long: {when}, names in {ids}, values in '{quote(long.value)}', {len(names)} series"
    findings.add("layout", "note", said)
    return draft


def labels_of(table: RawTable, ids: Sequence[str], findings: Findings) -> tuple[list[str], NDArray[np.int32]]:
    """Series names as they are written, in order of appearance, and which one each row has.

    Parts of a name are joined by a slash; whole numbers have no fraction.
    """
    parts: list[tuple[NDArray[np.object_], NDArray[np.int32]]] = []
    has_name = table.broken.copy()
    for name in ids:
        cells, rows = distinct_cells(table.columns[name].raw)
        text = as_text(cells)
        has_name |= (text != "").to_numpy(bool)[rows]
        written = text if pd.api.types.is_float_dtype(cells) else cells.astype(str)
        codes, labels = pd.factorize(written.to_numpy(object))
        parts.append((np.asarray(labels, dtype=object), codes.astype(np.int32)[rows]))
    absent = np.flatnonzero(~has_name)  # of several parts one may be empty, as of a country without provinces
    if len(absent):
        places = [table.place(int(row), ids[0]) for row in absent[:KEPT_PER_KIND]]
        raise findings.fatal("columns", f"{len(absent)} rows name no series", "Name them.", places, count=len(absent))
    if len(parts) == 1:
        return list(parts[0][0]), parts[0][1]
    sizes = [len(labels) for labels, _ in parts]
    series, combined = pd.factorize(np.ravel_multi_index([codes for _, codes in parts], sizes))
    places_of = np.unravel_index(combined, sizes)
    columns = [labels[place] for (labels, _), place in zip(parts, places_of, strict=True)]
    names = list(map("/".join, zip(*columns, strict=True)))
    if len(set(names)) < len(names):
        rule = f"two series would have one name where {list_some(ids)} are joined by a slash"
        raise findings.fatal("columns", rule, "Write names without slashes.")
    return names, series.astype(np.int32)


def places_of(table: RawTable, ids: Sequence[str], names: Sequence[str], findings: Findings) -> NDArray[np.int64]:
    """Which of some series each row is of, -1 where it is of none; 0 in a wide table, which has no `ids`."""
    if not ids:
        return np.zeros(len(table.rows), np.int64)
    labels, codes = labels_of(table, ids, findings)
    return pd.Index(names).get_indexer(pd.Index(labels))[codes].astype(np.int64)


def _without_repeats(cells: pd.DataFrame, draft: Draft) -> pd.DataFrame:
    """Cells of a long table without repeats of one series at one time: one of them, or their mean."""
    repeated, policy, by = cells[cells.duplicated(CELL)], draft.options.duplicates, draft.options.resample
    if repeated.empty:
        return cells
    if policy == "error" and by is not None:
        return cells.assign(number=cells.groupby(CELL)["number"].transform(by)).drop_duplicates(CELL, keep="last")
    first = repeated[:KEPT_PER_KIND]
    places = [
        draft.table.place(row, detail=f"time {time}") for row, time in zip(first["row"], first["time"], strict=True)
    ]
    refused, rule = "error" if policy == "keep" else "", f"{len(repeated)} rows repeat a time of their series"
    hint = " (Not keep: the table is long.)"
    draft.note_places("duplicates", places, len(repeated), rule, hint, policy=refused)
    if policy == "mean":
        cells = cells.assign(number=cells.groupby(CELL)["number"].transform("mean"))
    return cells.drop_duplicates(CELL, keep="last" if policy == "last" else "first")


def with_static(source: object, static: object, options: ReadOptions) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Rows of a long table with what its series are, from a table with a row for each, and the names of its columns.

    The columns that both tables have name the series.

    Raises:
        DataError: They share no column, a series has two rows there, or none.
    """
    rows, each = (soundly(source_name(table), partial(frame_of, table, options)) for table in (source, static))
    keys = [name for name in each.columns if name in rows.columns and name != options.time_column]
    where = source_name(static)
    if not keys or len(keys) == len(each.columns):
        raise DataError(
            f"{where}: it has the columns {list_some(each.columns)} and the series {list_some(rows.columns)}. Give a "
            "long "
            "table, and one that shares the columns of its names and has others that say what each series is."
        )
    own, theirs = (pd.MultiIndex.from_frame(table[keys].apply(as_text)) for table in (rows, each))
    place = theirs.get_indexer(own) if theirs.is_unique else None
    if place is None or (place < 0).any():
        name = theirs[theirs.duplicated()][0] if place is None else own[place < 0][0]
        count = "two rows" if place is None else "no row"
        raise DataError(f"{where}: {'/'.join(map(str, name))} has {count}. Give one for each series.")
    added = each.drop(columns=keys).iloc[place].set_axis(rows.index)
    whole = pd.concat([rows, added], axis=1)
    whole.attrs[SOURCE] = source_name(source)
    return whole, tuple(added.columns)


def describe_source(config: ForecastConfig, source: object) -> tuple[object, ReadOptions, Roles]:
    """A file or frame, what its series are, how it is read, and the roles of its columns."""
    roles = config.roles
    if config.static_data is not None:
        source, names = with_static(source, datasets.locate(config.static_data), config.read)
        roles = roles.replace(static=(*roles.static, *names))
    return source, config.read, roles


def frame_of(source: object, options: ReadOptions, findings: Findings) -> pd.DataFrame:
    """Columns as they are written, a row for each time."""
    return load_series_table(source, options, options.time_column, findings).frame


def options_of_training(source: object, options: ReadOptions, columns: Columns) -> ReadOptions:
    """How a later table is read: by the columns of the training, where it has them, and its order of day and month."""
    there, wanted = set(column_names(source)), {columns.time, *columns.ids, columns.value} - {None}
    is_across = wanted - there == {TIME, VALUE}
    named: dict[str, object] = {"day_first": columns.day_first}
    if wanted <= there or is_across:
        named |= {"time_column": columns.time, "id_column": columns.ids or None, "value_column": columns.value}
    return options.replace(**{name: value for name, value in named.items() if getattr(options, name) is None})


def later_panel(
    source: object,
    options: ReadOptions,
    names: Sequence[str],
    frequency: str | None,
    roles: Roles = ALONE,
    zone: str | None = None,
) -> Panel:
    """Read a file or frame under a run's policies and bring its columns into the run's order by name.

    A series of the run that is absent has no value at any time, and is named in a warning; so are series that are new
    to a run that took all.
    """
    later = Later(names, zone)
    try:
        panel = soundly(source_name(source), partial(_read, source, options, roles, later, usual=frequency))
    except DataError as error:
        if not any(isinstance(part, Fix) for part in error.args):
            raise
        kept = " A run keeps the options it was trained with: fix the file, or train anew."
        raise DataError(*error.args, kept) from None
    absent = [name for name in names if name not in panel.names]
    for what, which in {
        "not there": absent,
        "new to the run": [] if options.variates is not None else later.new,
    }.items():
        if which:
            verb = "is" if len(which) == 1 else "are"
            warn(f"{panel.source}: {list_some(which)} {verb} {what} and left out; the others are forecast.")
    return _at_frequency(with_absent(panel, names), frequency, strict=options.gaps != "ignore")


def _at_frequency(panel: Panel, frequency: str | None, *, strict: bool) -> Panel:
    """Take over a run's step, also where the panel is too short to infer one; if strict, only where it follows it.

    Stamps follow a step that has them on its grid as often as their own step, and more often than not: business days
    are days too, and not every day is one.
    """
    times = panel.times
    if frequency is None or not isinstance(times, pd.DatetimeIndex):
        return panel

    own = min(in_step(times, frequency))
    if not strict or (own > 0.5 and (panel.frequency is None or own >= min(in_step(times, panel.frequency)))):
        return dataclasses.replace(panel, frequency=frequency)
    raise DataError(
        f"{panel.source}: the run was trained on steps of {frequency}; these rows follow "
        f"{panel.frequency or 'no regular step'}. Resample them, or train a run on them."
    )
