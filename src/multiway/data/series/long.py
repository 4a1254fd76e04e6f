"""From long rows (time, name, value) to a panel in the making."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.columns import parse_numbers, require_columns
from multiway.data.findings import Findings, listed
from multiway.data.options import ReadOptions
from multiway.data.raw import Table
from multiway.data.series.policies import Draft, note

MAX_CELLS = 2_000_000_000


def pivoted(
    table: Table, time: str | None, long: tuple[str, str], times: pd.Index, options: ReadOptions, findings: Findings
) -> Draft:
    """Pivot: a row per time, a column per series in order of appearance, NaN where a series has no row."""
    label, value = long
    unused = [name for name in table.names if name not in (time, label, value)]
    if unused:
        findings.add("columns", "warning", f"columns {listed(unused)} are not used")
    numbers = parse_numbers(table, [value], findings)[:, 0]
    labels = _labels(table, label, findings)
    names = list(options.variates) if options.variates is not None else list(dict.fromkeys(labels))
    if options.variates is not None:
        names = require_columns(list(dict.fromkeys(labels)), names, "variates", findings)
    rows = np.flatnonzero(pd.Index(names).get_indexer(pd.Index(labels)) >= 0)
    order = np.argsort(times[rows].to_numpy(), kind="stable")
    return _pivot(
        table, times[rows[order]], labels[rows[order]], numbers[rows[order]], rows[order], names, options, findings
    )


def _labels(table: Table, label: str, findings: Findings) -> NDArray[np.object_]:
    """Series names as text; whole numbers without a fraction."""
    raw = table.frame[label]
    if pd.api.types.is_float_dtype(raw) and (raw == np.round(raw)).all():
        raw = raw.astype(np.int64)
    absent = np.flatnonzero((raw.isna() | (raw.astype(str).str.strip() == "")).to_numpy(bool) & ~table.broken)
    if len(absent):
        places = [table.place(int(row), label) for row in absent[:20]]
        raise findings.fatal("columns", f"{len(absent)} rows name no series", "Name them.", places, count=len(absent))
    labels: NDArray[np.object_] = raw.astype(str).to_numpy(dtype=object)
    return labels


def _pivot(
    table: Table,
    times: pd.Index,
    labels: NDArray[np.object_],
    numbers: NDArray[np.float64],
    rows: NDArray[np.int64],
    names: list[str],
    options: ReadOptions,
    findings: Findings,
) -> Draft:
    stamps, unique = times.factorize()
    series = pd.Index(names).get_indexer(pd.Index(labels))
    if len(unique) * len(names) > MAX_CELLS:
        size = len(unique) * len(names) * 8e-9
        rule = f"{len(names):,} series at {len(unique):,} different times would take {size:.1f} GB"
        raise findings.fatal("memory", rule, "Choose fewer with variates (--variates NAME,NAME).")
    cells = pd.Series(np.asarray(stamps) * len(names) + series)
    repeated = np.flatnonzero(cells.duplicated())
    if len(repeated):
        numbers = _once(table, cells, numbers, rows, times, repeated, options, findings)
    kept = np.flatnonzero(~cells.duplicated(keep="last" if options.duplicates == "last" else "first"))
    values = np.full((len(unique), len(names)), np.nan)
    origin = np.full(values.shape, -1, dtype=np.int64)
    values[stamps[kept], series[kept]], origin[stamps[kept], series[kept]] = numbers[kept], rows[kept]
    index = pd.DatetimeIndex(unique) if isinstance(times, pd.DatetimeIndex) else pd.Index(unique)
    return Draft(values=values, times=index, names=tuple(names), origin=origin, table=table)


def _once(
    table: Table,
    cells: pd.Series,
    numbers: NDArray[np.float64],
    rows: NDArray[np.int64],
    times: pd.Index,
    repeated: NDArray[np.int64],
    options: ReadOptions,
    findings: Findings,
) -> NDArray[np.float64]:
    """Report repeats of one series at one time; average them if that is the policy."""
    places = [table.place(int(rows[row]), detail=f"time {times[row]}") for row in repeated[:20]]
    rule = f"{len(repeated)} rows repeat a time of their series"
    policy = "error" if options.duplicates == "keep" else options.duplicates
    note("duplicates", policy, rule, places, len(repeated), findings, " (Not keep: the table is long.)")
    if options.duplicates == "mean":
        means: NDArray[np.float64] = pd.Series(numbers).groupby(cells).transform("mean").to_numpy()
        return means
    return numbers
