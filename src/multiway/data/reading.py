"""`read_panel` and `check_file`: one pass over a file that notes every flaw and applies the chosen policies."""

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data import columns as col
from multiway.data.findings import CheckReport, Finding, Findings, Unreadable, quoted
from multiway.data.frequency import expected_times, infer_frequency, integer_step, season_of
from multiway.data.options import ReadOptions
from multiway.data.panel import Panel
from multiway.data.tables import Table, load_table, source_name

Values = NDArray[np.float64]


def read_panel(source: Any, options: ReadOptions | None = None) -> Panel:
    """Read a file or frame under the chosen policies.

    Args:
        source: Path of a CSV, CSV.gz or Parquet file, or a pandas or polars frame; wide or long.
        options: What to do with flaws.

    Raises:
        DataError: A flaw that no policy covers; one line with place, value and mend.
    """
    findings = Findings(source_name(source))
    panel = _read(source, options or ReadOptions(), findings)
    error = findings.error()
    if error is not None or panel is None:
        raise error or AssertionError("reading ended without a finding")
    return panel


def check_file(source: Any, options: ReadOptions | None = None) -> CheckReport:
    """Say what is in a file and all that is wrong with it under these policies."""
    findings, options = Findings(source_name(source)), options or ReadOptions()
    panel = _read(source, options, findings)
    order = {"error": 0, "warning": 1, "note": 2}
    found = tuple(sorted(findings.found, key=lambda finding: order[finding.severity]))
    return CheckReport(source=findings.source, summary=_summary(panel), findings=found)


def _summary(panel: Panel | None) -> dict[str, Any]:
    if panel is None:
        return {}
    return {
        "rows": panel.num_rows,
        "variates": panel.num_variates,
        "names": ", ".join(map(quoted, panel.names[:12])) + (" …" if panel.num_variates > 12 else ""),
        "from": str(panel.times[0]),
        "to": str(panel.times[-1]),
        "step": panel.frequency or "row",
        "layout": panel.layout,
        "season": season_of(panel.frequency),
        "missing cells": int(np.isnan(panel.values).sum()),
    }


def _read(source: Any, options: ReadOptions, findings: Findings) -> Panel | None:
    """Read as far as the file allows; None when it allowed nothing."""
    try:
        table = load_table(source, options.encoding, findings)
        time = col.find_time_column(table, options, findings)
        times = col.parse_times(table, time, options, findings)
        long = col.find_long_columns(table, time, options)
        names, values, times, lines = (
            _wide(table, time, times, options, findings)
            if long is None
            else _long(table, long, times, options, findings)
        )
    except Unreadable:
        return None
    layout: Literal["wide", "long"] = "wide" if long is None else "long"
    col.note_layout(layout, time, len(names), findings)
    where = _Places(table if layout == "wide" else None, lines, times, names)
    values, times, where = _order(values, times, where, options, findings)
    values, times, where = _duplicates(values, times, where, options, findings)
    frequency = options.frequency or (infer_frequency(times) if isinstance(times, pd.DatetimeIndex) else None)
    values, times = _gaps(values, times, frequency, options, findings)
    values = _missing(values, times, names, options, findings, where)
    _constant(values, names, findings)
    notes = tuple(finding.line() for finding in findings.found if finding.severity != "error")
    return Panel(
        values=values, times=times, names=names, frequency=frequency, layout=layout, source=findings.source, notes=notes
    )


class _Places:
    """Names rows to the user: by line while rows are still those of the file, else by time."""

    def __init__(self, table: Table | None, lines: NDArray[np.int64], times: pd.Index, names: tuple[str, ...]) -> None:
        self.table, self.lines, self.times, self.names = table, lines, times, names

    def take(self, rows: NDArray[np.int64]) -> "_Places":
        return _Places(self.table, self.lines[rows], self.times[rows], self.names)

    def row(self, row: int) -> str:
        stamp = f"time {self.times[row]}"
        return stamp if self.table is None else f"{self.table.place(int(self.lines[row]))}, {stamp}"


def _wide(
    table: Table, time: str, times: pd.Index, options: ReadOptions, findings: Findings
) -> tuple[tuple[str, ...], Values, pd.Index, NDArray[np.int64]]:
    names = [str(name) for name in table.frame.columns if name != time]
    if options.variates is not None:
        names = [col.require_column(names, name, "variates", findings) for name in options.variates]
    if not names:
        raise findings.fatal("columns", f"there is no column beside {quoted(time)}", "Give at least one series.")
    return tuple(names), col.parse_numbers(table, names, findings), times, np.arange(len(times))


def _long(
    table: Table, long: tuple[str, str], times: pd.Index, options: ReadOptions, findings: Findings
) -> tuple[tuple[str, ...], Values, pd.Index, NDArray[np.int64]]:
    """Pivot: a row per time, a column per series, NaN where a series has no row."""
    ids, value = long
    numbers = col.parse_numbers(table, [value], findings)[:, 0]
    labels = table.frame[ids].astype(str)
    if options.variates is not None:
        known = sorted(labels.unique())
        for name in options.variates:
            col.require_column(known, name, "variates", findings)
        kept = labels.isin(options.variates).to_numpy()
        labels, numbers, times = labels[kept], numbers[kept], times[kept]
    frame = pd.DataFrame({"time": times, "id": labels.to_numpy(), "value": numbers})
    repeated = frame.duplicated(["time", "id"], keep=False).to_numpy()
    if repeated.any():
        frame = _long_duplicates(table, frame, repeated, options, findings)
    ordered = frame["id"].drop_duplicates() if options.variates is None else pd.Series(options.variates)
    wide = frame.pivot(index="time", columns="id", values="value").reindex(columns=ordered.to_list())
    stamps = pd.DatetimeIndex(wide.index) if isinstance(times, pd.DatetimeIndex) else pd.Index(wide.index)
    return tuple(ordered), wide.to_numpy(np.float64), stamps, np.arange(len(wide))


def _long_duplicates(
    table: Table, frame: pd.DataFrame, repeated: NDArray[np.bool_], options: ReadOptions, findings: Findings
) -> pd.DataFrame:
    places = tuple(f"{table.place(int(row))}, time {frame['time'][row]}" for row in np.flatnonzero(repeated)[:20])
    _note_policy(
        "duplicates", "time stamps of one series repeat", options.duplicates, places, int(repeated.sum()), findings
    )
    if options.duplicates in {"error", "keep"}:
        if options.duplicates == "keep":
            raise findings.fatal("duplicates", "duplicates=keep needs the wide layout", "Choose first, last or mean.")
        raise Unreadable
    if options.duplicates == "mean":
        return frame.groupby(["time", "id"], sort=False, as_index=False)["value"].mean()
    return frame.drop_duplicates(["time", "id"], keep=options.duplicates)


def _note_policy(kind: str, rule: str, policy: str, places: tuple[str, ...], count: int, findings: Findings) -> None:
    """An error that names the option, or a note of what the option did."""
    mends = {
        "duplicates": "Choose --duplicates first, last, mean or keep.",
        "gaps": "Choose --gaps fill or ignore.",
        "missing": "Choose --missing mask or ffill.",
        "unsorted": "Sort the file, or choose --set read.unsorted=sort.",
    }
    if policy == "error":
        findings.add(Finding(kind=kind, severity="error", rule=rule, places=places, count=count, mend=mends[kind]))
    else:
        done = f"{rule} (met by {kind}={policy})"
        findings.add(Finding(kind=kind, severity="warning", rule=done, places=places, count=count))


def _order(
    values: Values, times: pd.Index, where: _Places, options: ReadOptions, findings: Findings
) -> tuple[Values, pd.Index, _Places]:
    backwards = np.flatnonzero(times[1:] < times[:-1]) + 1
    if not len(backwards):
        return values, times, where
    places = tuple(where.row(int(row)) for row in backwards[:20])
    _note_policy("unsorted", "times run backwards", options.unsorted, places, len(backwards), findings)
    order = np.argsort(times.to_numpy(), kind="stable")
    return values[order], times[order], where.take(order)


def _duplicates(
    values: Values, times: pd.Index, where: _Places, options: ReadOptions, findings: Findings
) -> tuple[Values, pd.Index, _Places]:
    repeated = np.flatnonzero(times.duplicated())
    if not len(repeated):
        return values, times, where
    places = tuple(where.row(int(row)) for row in repeated[:20])
    _note_policy("duplicates", "time stamps repeat", options.duplicates, places, len(repeated), findings)
    if options.duplicates == "keep":
        return values, times, where
    if options.duplicates == "mean":
        grouped = pd.DataFrame(values).groupby(np.asarray(times.factorize()[0])).mean()
        values = grouped.to_numpy()[times.factorize()[0]]
    keep: Literal["first", "last"] = "last" if options.duplicates == "last" else "first"
    rows = np.flatnonzero(~times.duplicated(keep=keep))
    return values[rows], times[rows], where.take(rows)


def _gaps(
    values: Values, times: pd.Index, frequency: str | None, options: ReadOptions, findings: Findings
) -> tuple[Values, pd.Index]:
    if options.gaps == "ignore" or len(times) < 3:
        return values, times
    if isinstance(times, pd.DatetimeIndex):
        if frequency is None:
            _note_policy("gaps", "times follow no regular step", options.gaps, (), 1, findings)
            return values, times
        grid: pd.Index = expected_times(times, frequency)
    else:
        grid = pd.Index(np.arange(times[0], times[-1] + 1, integer_step(times)))
    absent, off = grid.difference(times), times.difference(grid)
    if len(off):
        shown = tuple(f"time {time}" for time in off[:20])
        _note_policy("gaps", f"times are off the step of {frequency}", options.gaps, shown, len(off), findings)
    if len(absent):
        places = tuple(f"{first} to {last} ({count} steps)" for first, last, count in _runs(grid, absent)[:20])
        _note_policy(
            "gaps", f"{len(absent)} time stamps are absent", options.gaps, places, len(_runs(grid, absent)), findings
        )
    if options.gaps != "fill" or not (len(absent) or len(off)) or times.has_duplicates:
        return values, times
    rows = times.get_indexer(grid)
    return np.where((rows >= 0)[:, None], values[rows], np.nan), grid


def _runs(grid: pd.Index, absent: pd.Index) -> list[tuple[Any, Any, int]]:
    """Stretches of successive absent times: first, last, and how many."""
    rows = grid.get_indexer(absent)
    parts = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    return [(grid[part[0]], grid[part[-1]], len(part)) for part in parts]


def _missing(
    values: Values,
    times: pd.Index,
    names: tuple[str, ...],
    options: ReadOptions,
    findings: Findings,
    where: _Places,
) -> Values:
    """Turn sentinels into NaN, then apply the policy for missing cells."""
    lines = where if len(where.lines) == len(values) else _Places(None, np.arange(len(values)), times, names)
    sentinel = np.isin(values, options.sentinels) if options.sentinels else np.zeros(values.shape, bool)
    missing = np.isnan(values) | sentinel
    for kind, cells in (("sentinel", sentinel), ("empty", missing & ~sentinel)):
        if cells.any():
            places = tuple(
                f"{lines.row(int(row))}, column {quoted(names[column])}"
                + (f", value {values[row, column]:g}" if kind == "sentinel" else "")
                for row, column in np.argwhere(cells)[:20]
            )
            rule = "cells hold a number that means missing" if kind == "sentinel" else "cells are missing"
            _note_policy("missing", rule, options.missing, places, int(cells.sum()), findings)
    values = np.where(missing, np.nan, values)
    absent = [quoted(names[column]) for column in np.flatnonzero(missing.all(0))]
    if absent:
        findings.add(
            Finding(kind="missing", severity="error", rule="columns hold no value", places=tuple(absent), count=len(absent),
                    mend="Leave them out with --variates.")
        )  # fmt: skip
    return _forward_fill(values, names, findings) if options.missing == "ffill" else values


def _forward_fill(values: Values, names: tuple[str, ...], findings: Findings) -> Values:
    leading = np.isnan(values[0])
    filled = pd.DataFrame(values).ffill().to_numpy()
    if leading.any():
        shown = tuple(quoted(names[column]) for column in np.flatnonzero(leading))
        findings.add(
            Finding(kind="missing", severity="error", rule="nothing stands before the first missing cell to repeat",
                    places=shown, count=len(shown), mend="Choose --missing mask, or start the file later.")
        )  # fmt: skip
    return filled


def _constant(values: Values, names: tuple[str, ...], findings: Findings) -> None:
    low, high = np.nanmin(values, 0, initial=np.inf), np.nanmax(values, 0, initial=-np.inf)
    constant = np.flatnonzero((low == high) & np.isfinite(low))
    if len(constant):
        shown = tuple(quoted(names[column]) for column in constant)
        findings.add(
            Finding(kind="constant", severity="warning", rule="columns never change", places=shown, count=len(shown),
                    mend="Their forecast is that number; leave them out with --variates.")
        )  # fmt: skip
