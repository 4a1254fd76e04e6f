"""Bytes to a panel: one pass over a file or frame that notes every flaw and applies the chosen policies."""

import collections
import contextlib
import dataclasses
import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data import datasets
from multiway.data.findings import KEPT_PER_KIND, CheckReport, Findings, Unreadable, list_some, quote, soundly
from multiway.data.long_tables import SHORTEST, Long, find_long
from multiway.data.options import ReadOptions
from multiway.data.sources import columns as col
from multiway.data.sources.bytes import once
from multiway.data.sources.cells import RawTable, as_text, distinct_cells, looks_numeric, words
from multiway.data.sources.layouts import TIME, VALUE, load_series_table
from multiway.data.sources.tables import SOURCE, column_names, source_name
from multiway.data.sources.times import is_day_first, looks_like_time, parse_times
from multiway.errors import DataError, Fix, MultiwayError, warn
from multiway.tasks.forecasting.calendar import (
    GridTooLong,
    check_frequency,
    infer_frequency,
    season_of,
    step_times,
    zone_of,
)
from multiway.tasks.forecasting.config import ROLES, ForecastConfig, Roles, SplitOptions
from multiway.tasks.forecasting.covariates import is_truth, propose_roles, read_covariates
from multiway.tasks.forecasting.panel import Columns, Panel, outside, with_absent
from multiway.tasks.forecasting.policies import (
    CHOOSE,
    FREQUENCY,
    Draft,
    in_time_order,
    note_constant,
    on_step,
    once_each,
    whole_covariates,
    with_missing,
    without_gaps,
)
from multiway.tasks.forecasting.splitting import borders_of, words_on_young, young_series

MAX_CELLS = 2_000_000_000
"""Of a panel that a long table makes."""
FEW_LATE = 0.02
"""Share of the rows of series that may be out of order, as flaws."""
ALONE = Roles()
"""Series without covariates."""


def read_panel(source: object, options: ReadOptions | None = None, roles: Roles = ALONE) -> Panel:
    """Read a file or frame under the chosen policies.

    Args:
        source: Path of a CSV, CSV.gz or Parquet file, or a pandas or polars frame; wide or long.
        options: What to do with flaws; by default every flaw is refused.
        roles: Columns that are covariates.

    Raises:
        DataError: A flaw that no policy covers: one line with the file, the place, the value and the fix.
    """
    return soundly(source_name(source), lambda findings: _read(source, options or ReadOptions(), findings, roles))


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
        panel = _read(source, options or ReadOptions(), findings, roles)
    if panel is not None and split is not None and not findings.errors():
        _look_at_split(panel, split, findings)
    counts = {} if panel is None else dict(zip(panel.names, _missing(panel).sum(0).tolist(), strict=True))
    return CheckReport(
        source=findings.source,
        findings=findings.ordered(),
        summary={"encoding": findings.encoding} if panel is None else _summary(panel, findings),
        missing={name: count for name, count in counts.items() if count},
    )


def _look_at_split(panel: Panel, split: SplitOptions, findings: Findings) -> None:
    """Note series that begin after the training rows; a split that cannot be made is a matter of training."""
    with contextlib.suppress(MultiwayError):
        names = list(itertools.compress(panel.names, young_series(panel, borders_of(panel, split))))
        if names:
            findings.add("young", "warning", words_on_young(names), count=len(names))


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
        "step": panel.frequency or "row",
        "season": season_of(panel.frequency),
        "layout": panel.layout,
        "encoding": findings.encoding,
        "missing cells": int(_missing(panel).sum()),
        "sentinel cells": counts["sentinel"],
        "repeated times": counts["duplicates"],
        "gaps": counts["gaps"],
        "constant columns": counts["constant"],
    }


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

    def on_clock(self, times: pd.Index) -> pd.Index:
        """Times by the clocks of the run."""
        if self.zone is None or not isinstance(times, pd.DatetimeIndex) or times.tz is None:
            return times
        return times.tz_convert(self.zone)


def _read(source: object, options: ReadOptions, findings: Findings, roles: Roles, later: Later | None = None) -> Panel:
    """Read as far as the file allows, noting flaws; the panel is sound only where no finding is an error."""
    if later is not None or not isinstance(source, str | Path):
        return _make(source, options, findings, roles, later)
    return once((Panel, str(source), options, roles), findings, lambda own: _make(source, options, own, roles, None))


def _make(source: object, options: ReadOptions, findings: Findings, roles: Roles, later: Later | None) -> Panel:
    if options.frequency is not None:
        check_frequency(options.frequency)
    table = load_series_table(source, options, options.time_column, findings)
    time = col.find_time_column(table, options, findings)
    table, times = read_times(table, time, options, findings)
    times = times if later is None else later.on_clock(times)
    day_first = None if time is None else is_day_first(table.frame[time], times)
    for role in ROLES:
        col.require_columns([name for name in table.names if name != time], getattr(roles, role), role, findings)
    own = table.drop(list(roles.columns))
    long = find_long(own, time, times, options, findings)
    own = own if long is None else own.as_text(long.ids)  # 007 is not 7
    draft = (
        _wide(own, time, times, options, findings, later)
        if long is None
        else _pivot(own, time, long, times, options, findings, later)
    )
    _note_layout(time, long, draft)
    if long is None and roles.static:
        raise findings.fatal(
            "covariates",
            f"static names {list_some(roles.static)}, and a wide table has no column for each series",
            "Give a long table, or leave static out.",
        )
    draft = once_each(in_time_order(draft))
    frequency = infer_frequency(draft.times)
    if options.frequency is not None and isinstance(draft.times, pd.DatetimeIndex):
        frequency = options.frequency
    try:
        draft, ahead = _without_plan(without_gaps(on_step(draft), frequency), roles)
        draft = with_missing(draft)
    except GridTooLong as error:
        raise findings.fatal("gaps", str(error), ("Correct the first or last time, or ", *FREQUENCY)) from None
    note_constant(draft)
    covariates = read_covariates(table, roles, np.concatenate([draft.origin, ahead]), findings)
    if covariates is not None:
        covariates = whole_covariates(covariates, draft)
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
            ids=() if long is None else long.ids,
            value=None if long is None else long.value,
            day_first=day_first,
            zone=zone_of(draft.times),
        ),
        covariates=covariates,
    )


def _without_plan(draft: Draft, roles: Roles) -> tuple[Draft, NDArray[np.int64]]:
    """Without the last rows where no series has a value, which are a plan of covariates; and where those come from."""
    there = np.flatnonzero(~np.isnan(draft.values).all(1))
    count = len(draft.values)
    is_left_out = roles.future or draft.options.missing != "error"
    stop = int(there[-1]) + 1 if len(there) and is_left_out else count
    if stop < count and not roles.future:
        rule = f"no value in the last {count - stop} rows, which are left out"
        draft.findings.add("span", "warning", f"{rule}: a forecast begins after {draft.times[stop - 1]}")
    return draft.take(np.arange(stop)), draft.origin[stop:]


def read_times(
    table: RawTable, time: str | None, options: ReadOptions, findings: Findings
) -> tuple[RawTable, pd.Index]:
    """The rows whose time is sound, and those times."""
    if time is None:
        return table, pd.RangeIndex(len(table.frame))
    times, good = parse_times(table, time, options, findings)
    return table if good.all() else table.take(good), times


def _note_layout(time: str | None, long: Long | None, draft: Draft) -> None:
    """Say how the table was understood."""
    when = "rows are counted" if time is None else f"times in '{quote(time)}'"
    if long is None:
        text = f"read as wide: {when}, {len(draft.names)} series in columns"
    else:
        names = " and ".join(f"'{quote(name)}'" for name in long.ids)
        text = f"read as long: {when}, names in {names}, values in '{quote(long.value)}', {len(draft.names)} series"
    draft.findings.add("layout", "note", text)


def _wide(
    table: RawTable, time: str | None, times: pd.Index, options: ReadOptions, findings: Findings, later: Later | None
) -> Draft:
    names = [name for name in table.names if name != time]
    if later is not None:
        names = later.among(names, findings)
    elif options.variates is not None:
        names = col.require_columns(names, options.variates, "variates", findings)
    else:
        names = _without_idle(table, names, options, findings)
    if later is None and options.variates is None:
        _refuse_several(table, names, times, findings)
    _note_truths(table, names, options, findings)
    if not names:
        rule = "there is no column of values" + ("" if time is None else f" next to '{quote(time)}'")
        raise findings.fatal("columns", rule, "Give at least one series; columns are separated by , ; | or tabs.")
    return Draft(
        values=col.parse_numbers(table, names, findings),
        times=times,
        names=tuple(names),
        origin=np.arange(len(times))[:, None],
        table=table,
        options=options,
        findings=findings,
    )


def _without_idle(table: RawTable, names: list[str], options: ReadOptions, findings: Findings) -> list[str]:
    """Columns that can be series: without those of one word, and those without a value unless these are masked."""
    same = [name for name in names if _is_one_word(table.frame[name])]
    if same:
        findings.add("columns", "note", f"columns {list_some(same)} say the same in every row and are left out")
    empty = [name for name in names if _is_empty(table.frame[name])] if options.missing != "mask" else []
    if empty and len(empty) + len(same) < len(names):
        findings.add("columns", "warning", f"columns {list_some(empty)} hold no value at all and are left out")
        same += empty
    return [name for name in names if name not in same]


def _refuse_several(table: RawTable, names: Sequence[str], times: pd.Index, findings: Findings) -> None:
    """Refuse rows that are out of order as a whole, and in order within what the words of a column name."""
    backwards = np.count_nonzero(times[1:] < times[:-1])
    if backwards == len(times) - 1 or not (backwards or times.has_duplicates):
        return
    for name in names:
        if _names_series(table.frame[name], times):
            rule = f"times run backwards or repeat, and not among the rows that say the same in '{quote(name)}'"
            fix = ("If it names series, say so (", Fix("read.id_column", like=quote(name)), ").")
            raise findings.fatal("columns", rule, fix)


def _names_series(raw: pd.Series, times: pd.Index) -> bool:
    """Whether words repeat, and the rows of each are in the order of time but for few."""
    if pd.api.types.is_numeric_dtype(raw) or raw.nunique() < 2 or raw.nunique() > len(raw) / SHORTEST:
        return False
    steps = pd.Series(times).groupby(raw.to_numpy()).diff().dropna()
    late = steps <= (pd.Timedelta(0) if isinstance(times, pd.DatetimeIndex) else 0)
    return not looks_numeric(words(raw)) and not looks_like_time(raw) and float(late.mean()) <= FEW_LATE


def _note_truths(table: RawTable, names: Sequence[str], options: ReadOptions, findings: Findings) -> None:
    """Note columns that are true or false among others: they hardly are series to forecast."""
    truths = [name for name in names if is_truth(table.frame[name])] if options.variates is None else []
    if truths and len(truths) < len(names):
        rule = (
            f"{list_some(truths)} {'is' if len(truths) == 1 else 'are'} true or false, and read as series to forecast"
        )
        fix = ("If known ahead and a reason for the others, name it (", Fix("future", like=",".join(truths)), ").")
        findings.add("covariates", "warning", rule, fix)


def _is_one_word(raw: pd.Series) -> bool:
    """Whether a column says one word throughout, as the name of the only shop."""
    return isinstance(raw.iloc[0], str) and raw.nunique(dropna=False) == 1 and not looks_numeric(words(raw.iloc[:1]))


def _is_empty(raw: pd.Series) -> bool:
    """Whether no cell of a column holds anything."""
    return bool(raw.isna().all() if pd.api.types.is_numeric_dtype(raw) else (words(raw) == "").all())


CELL = ["stamp", "series"]


def _pivot(
    table: RawTable,
    time: str | None,
    long: Long,
    times: pd.Index,
    options: ReadOptions,
    findings: Findings,
    later: Later | None,
) -> Draft:
    """A row per time, a column per series in order of appearance, NaN where a series has no row."""
    unused = [name for name in table.names if name not in (time, *long.ids, long.value)]
    if unused:
        rule = f"columns {list_some(unused)} are not used: they hold neither times nor names nor the values"
        fixes = propose_roles(table, unused, long.ids)
        spaced: list[str | Fix] = [part for fix in fixes for part in (fix, " ")]
        findings.add("columns", "warning", rule, ("If they explain the values, name them (", *spaced[:-1], ")."))
    numbers = col.parse_numbers(table, [long.value], findings)[:, 0]
    labels, series = labels_of(table, long.ids, findings)
    names = labels
    if later is not None:
        names = later.among(names, findings)
    elif options.variates is not None:
        names = col.require_columns(names, options.variates, "variates", findings)
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
        return draft
    cells = pd.DataFrame({"time": times, "stamp": stamps, "series": series, "row": rows})
    cells = _once(cells.assign(number=numbers).sort_values("stamp", kind="stable"), draft)
    draft.values[cells["stamp"], cells["series"]] = cells["number"]
    draft.origin[cells["stamp"], cells["series"]] = cells["row"]
    return draft


def labels_of(table: RawTable, ids: Sequence[str], findings: Findings) -> tuple[list[str], NDArray[np.int32]]:
    """Series names as text in order of appearance, parts of one joined by a slash, and which one each row has."""
    parts = [_names(table, name, findings) for name in ids]
    if len(parts) == 1:
        return list(parts[0][0]), parts[0][1]
    sizes = [len(names) for names, _ in parts]
    series, cells = pd.factorize(np.ravel_multi_index([codes for _, codes in parts], sizes))
    places = np.unravel_index(cells, sizes)
    columns = [names[place] for (names, _), place in zip(parts, places, strict=True)]
    labels = list(map("/".join, zip(*columns, strict=True)))
    if len(set(labels)) < len(labels):
        rule = f"two series would have one name where {list_some(ids)} are joined by a slash"
        raise findings.fatal("columns", rule, "Write names without slashes.")
    return labels, series.astype(np.int32)


def _names(table: RawTable, column: str, findings: Findings) -> tuple[NDArray[np.object_], NDArray[np.int32]]:
    """Different cells of a column as they are written, each of which names something, and which one each row has.

    Whole numbers have no fraction.
    """
    raw = table.frame[column]
    cells, rows = distinct_cells(raw)
    absent = np.flatnonzero((as_text(cells) == "").to_numpy(bool)[rows] & ~table.broken)
    if len(absent):
        places = [table.place(int(row), column) for row in absent[:KEPT_PER_KIND]]
        raise findings.fatal("columns", f"{len(absent)} rows name no series", "Name them.", places, count=len(absent))
    text = as_text(cells) if pd.api.types.is_float_dtype(raw) else cells.astype(str)
    codes, names = pd.factorize(text.to_numpy(object))
    return np.asarray(names, dtype=object), codes.astype(np.int32)[rows]


def _once(cells: pd.DataFrame, draft: Draft) -> pd.DataFrame:
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

    A series of the run that is absent has no value at any time, and is named in a warning; so are series that are new.
    """
    try:
        panel = _read_some(source, options, Later(names, zone), roles)
    except DataError as error:
        if not any(isinstance(part, Fix) for part in error.args):
            raise
        kept = " A run keeps the options it was trained with: fix the file, or train anew."
        raise DataError(*error.args, kept) from None
    return _at_frequency(with_absent(panel, names), frequency, strict=options.gaps != "ignore")


def _read_some(source: object, options: ReadOptions, later: Later, roles: Roles) -> Panel:
    """Those of some series that are there; series that are absent, or new to a run that took all, are named."""
    panel = soundly(source_name(source), lambda findings: _read(source, options, findings, roles, later))
    absent = [name for name in later.names if name not in panel.names]
    told = {"not there": absent, "new to the run": later.new if options.variates is None else []}
    for what, which in told.items():
        if which:
            verb = "is" if len(which) == 1 else "are"
            words = f"{panel.source}: {list_some(which)} {verb} {what} and left out; the others are forecast."
            warn(words)
    return panel


def _at_frequency(panel: Panel, frequency: str | None, *, strict: bool) -> Panel:
    """Take over a run's step, also where the panel is too short to infer one; if strict, only where it follows it."""
    if frequency is None or not isinstance(panel.times, pd.DatetimeIndex):
        return panel
    if not strict or _follows(panel.times, frequency, panel.frequency):
        return dataclasses.replace(panel, frequency=frequency)
    raise DataError(
        f"{panel.source}: the run was trained on steps of {frequency}; these rows follow "
        f"{panel.frequency or 'no regular step'}. Resample them, or train a run on them."
    )


def _follows(times: pd.DatetimeIndex, frequency: str, own: str | None) -> bool:
    """Whether stamps are on the grid of the step as often as on that of their own, and more often than not.

    Business days are days too, and not every day is one.
    """
    return _fit(times, frequency) > 0.5 and (own is None or _fit(times, frequency) >= _fit(times, own))


def _fit(times: pd.DatetimeIndex, frequency: str) -> float:
    """Share of the stamps that are on the grid of a step, or of the grid that is there if that is less."""
    grid = step_times(times[0], frequency, times[-1])
    return float(min(times.isin(grid).mean(), grid.isin(times).mean())) if len(grid) else 0.0
