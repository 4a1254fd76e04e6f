"""Forecasts that someone else made at past moments, from a table with a row for each series, cutoff and time."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import nn

from multiway.data import datasets
from multiway.data.findings import Findings, list_some, soundly
from multiway.data.options import ReadOptions
from multiway.data.sources.columns import RawTable, parse_times
from multiway.data.sources.frames import source_name
from multiway.data.sources.tables import load_table
from multiway.data.sources.values import parse_numbers
from multiway.errors import DataError
from multiway.models.windows import Others
from multiway.tasks.forecasting.candidate import candidates
from multiway.tasks.forecasting.config import Held
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.read import labels_of
from multiway.tasks.protocol import OURS

CUTOFF = "cutoff"
BAND = re.compile(r".*-(lo|hi|q)-[\d.]+")
"""Names of edges of bands, which are no forecasts."""
TAKEN = {OURS, *dir(nn.ModuleDict)}
"""Names that no model can have."""


def read_others(
    source: object, options: ReadOptions, panel: Panel, horizon: int, targets: int, names: Sequence[str] | None = None
) -> Others:
    """What other models forecast of the last series of a panel, its targets, from its times on.

    The columns are those of the panel that name series and times, or `unique_id` and `ds`; `cutoff`, the last time that
    a forecast knows; and one of forecasts for each model. The actual values and edges of bands may stand there too.
    Cutoffs before the first and after the last time of the panel are left out.

    Args:
        source: Path or frame.
        options: How a table is read.
        panel: The history.
        horizon: Steps that are kept.
        targets: How many series are forecast.
        names: Models of a run, in its order; those of the table if not given.

    Raises:
        DataError: A column, a model or a series lacks; a cutoff is no time of the panel, or not before what is forecast
            from it; or a row repeats another.
    """
    source = source.frame if isinstance(source, Held) else source
    source = datasets.locate(source) if isinstance(source, str) else source
    return soundly(source_name(source), partial(_read, source, options, panel, (horizon, targets), names))


def _read(
    source: object,
    options: ReadOptions,
    panel: Panel,
    sizes: tuple[int, int],
    names: Sequence[str] | None,
    findings: Findings,
) -> Others:
    table, (horizon, targets) = load_table(source, options, findings), sizes
    time, ids = _keys_of(table, panel, targets, findings)
    rest = [name for name in table.names if name not in (time, CUTOFF, *ids, panel.columns.value, "y")]
    models = tuple(names or (name for name in rest if not BAND.fullmatch(name)))
    _check_models(models, rest, findings)
    stamps, good = parse_times(table, time, options, findings)
    moments, known = parse_times(table, CUTOFF, options, findings)
    if not (good.all() and known.all()):
        raise DataError(f"{findings.source}: each row needs a time and a cutoff. Leave the others out.")
    times = panel.times.append(panel.future_times(horizon))
    zone = times.tz if isinstance(times, pd.DatetimeIndex) else None
    if {isinstance(each, pd.DatetimeIndex) for each in (stamps, moments)} != {isinstance(times, pd.DatetimeIndex)}:
        rule = f"times are written like {stamps[0]} and cutoffs like {moments[0]}, those of the history like {times[0]}"
        raise findings.fatal("time", rule, "Write them alike.")
    times, stamps, moments = (_in_zone(each, zone) for each in (times, stamps, moments))
    if not times.is_unique:
        raise findings.fatal("duplicates", "times of the history repeat", "Leave one row of each.")
    late = np.flatnonzero(stamps <= moments)
    if len(late):
        row, count = int(late[0]), len(late)
        said = f"{count} rows are not, such as that of {stamps[row]} from {moments[row]}"
        rule, fix = f"a forecast is of times after its cutoff, and {said}", "The cutoff is the last time that it knows."
        raise findings.fatal("time", rule, fix, [table.place(row, CUTOFF)], count)
    labels, codes = labels_of(table, ids, findings) if ids else ([panel.names[-1]], np.zeros(len(stamps), np.int32))
    series = pd.Index(panel.names[-targets:]).get_indexer(pd.Index(labels))[codes]
    seen = np.flatnonzero((~np.isnan(panel.values[:, -targets:])).any(0))
    absent = sorted({panel.names[-targets:][place] for place in seen} - {*labels})
    if absent:
        raise findings.fatal("series", f"there is no forecast of {list_some(absent)}", "Give one of every series.")
    ends, steps = _places(stamps, moments, times, panel.num_rows, findings)
    chosen = np.flatnonzero((ends > 0) & (series >= 0) & (steps >= 0) & (steps < horizon))
    rows, at = np.unique(ends[chosen], return_inverse=True)
    cells = np.ravel_multi_index((at, steps[chosen], series[chosen]), (max(len(rows), 1), horizon, targets))
    if len(np.unique(cells)) < len(cells):
        raise findings.fatal("duplicates", "rows repeat a series, cutoff and time", "Leave one of them.")
    values = np.full((len(rows) * horizon * targets, len(models)), np.nan)
    values[cells] = parse_numbers(table, list(models), findings)[chosen]
    whole = values.reshape(len(rows), horizon, targets, len(models))
    return Others(torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(whole), models)


def _keys_of(table: RawTable, panel: Panel, targets: int, findings: Findings) -> tuple[str, tuple[str, ...]]:
    """The columns of times and of names of series; no names for a series alone."""
    columns, there = panel.columns, set(table.names)
    time = columns.time if columns.time in there else "ds"
    ids = columns.ids if columns.ids and there.issuperset(columns.ids) else ("unique_id",)
    ids = () if targets == 1 and not there.issuperset(ids) else ids
    lacking = [name for name in (time, CUTOFF, *ids) if name not in there]
    if lacking:
        own = [name for name in (*columns.ids, columns.time) if name is not None and name not in columns.made]
        like = f"{list_some(own)} as in the history, or unique_id and ds" if own else "unique_id and ds"
        rule = f"there is no column {list_some(lacking)}. It has {list_some(table.names)}"
        raise findings.fatal("columns", rule, f"Forecasts of others have {like}; cutoff; and a column for each model.")
    return str(time), ids


def _check_models(models: Sequence[str], there: Sequence[str], findings: Findings) -> None:
    """Refuse models that are not there, and names that another has."""
    lacking = [name for name in models if name not in there]
    if lacking or not models:
        rule = f"there is no column {list_some(lacking)} of forecasts" if lacking else "no column holds forecasts"
        raise findings.fatal("columns", rule, f"It has {list_some(there)}." if there else "Add one for each model.")
    taken = [name for name in models if name in TAKEN or name in candidates() or "." in name]
    if taken:
        raise findings.fatal("columns", f"no model of others can be called {list_some(taken)}", "Rename the column.")


def _places(
    stamps: pd.Index, moments: pd.Index, times: pd.Index, rows: int, findings: Findings
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows before the future of each forecast, 0 where they are none of the history, and its step from 0."""
    last, known = times.get_indexer(moments), (moments >= times[0]) & (moments <= times[rows - 1])
    wrong = np.flatnonzero(known & (last < 0))
    if len(wrong):
        rule = f"the cutoff {moments[wrong[0]]} is none of the times of the history, {times[0]} to {times[rows - 1]}"
        raise findings.fatal("time", rule, "Name the last time that a forecast knows.", count=len(wrong))
    place = times.get_indexer(stamps)
    wrong = np.flatnonzero(known & (place < 0) & (stamps <= times[-1]))
    if len(wrong):
        rule = f"the time {stamps[wrong[0]]} is no step of the history"
        raise findings.fatal("time", rule, "Write times as in the history.", count=len(wrong))
    return np.where(known, last + 1, 0), np.where(place < 0, len(times), place - last - 1)


def absent_models(panel: Panel, names: Sequence[str], targets: int, horizon: int, row: int) -> list[str]:
    """Those of some models of others that have no whole forecast from before a row of a panel.

    Series without a value in it need none.
    """
    there, others = ~np.isnan(panel.values[:, -targets:]).all(0), panel.others
    if others is None:
        return list(names)
    ahead = others.values[others.ends == row][:, :horizon, torch.from_numpy(there)]
    found = {name: ahead[..., place] for place, name in enumerate(others.names)}
    return [name for name in names if not len(ahead) or not bool(found[name].isfinite().all())]


def _in_zone(times: pd.Index, zone: Any) -> pd.Index:
    """Times as those of a zone are in UTC, or by the clock on the wall without one, in one unit."""
    if not isinstance(times, pd.DatetimeIndex):
        return times
    if zone is not None:
        known = times.tz_localize(zone, ambiguous="NaT", nonexistent="NaT") if times.tz is None else times
        times = known.tz_convert("UTC")
    return times.tz_localize(None).as_unit("us")
