"""`read_panel` and `check_file`: one pass over a file that notes every flaw and applies the chosen policies."""

import dataclasses
from typing import Any, Literal

import numpy as np
import pandas as pd

from multiway.data import columns as col
from multiway.data.findings import CheckReport, Findings, Unreadable, listed, quoted
from multiway.data.loading import load_table, source_name
from multiway.data.options import ReadOptions
from multiway.data.raw import Table
from multiway.data.series.frequency import check_frequency, infer_frequency, season_of
from multiway.data.series.long import pivoted
from multiway.data.series.panel import Panel
from multiway.data.series.policies import (
    Draft,
    in_order,
    on_step,
    once_each,
    report_constant,
    with_missing,
    without_gaps,
)
from multiway.data.series.splits import SplitOptions, about_young, borders_of, young_series
from multiway.data.times import parse_times
from multiway.errors import MultiwayError


def read_panel(source: Any, options: ReadOptions | None = None) -> Panel:
    """Read a file or frame under the chosen policies.

    Args:
        source: Path of a CSV, CSV.gz or Parquet file, or a pandas or polars frame; wide or long.
        options: What to do with flaws; by default every flaw is refused.

    Raises:
        DataError: A flaw that no policy covers: one line with the file, the place, the value and the fix.
    """
    findings = Findings(source_name(source))
    try:
        panel = _read(source, options or ReadOptions(), findings)
    except Unreadable:
        raise findings.error() from None
    if findings.errors():
        raise findings.error()
    return panel


def check_file(source: Any, options: ReadOptions | None = None, split: SplitOptions | None = None) -> CheckReport:
    """Say what is in a file and all that is wrong with it under these policies and this split.

    Raises:
        DataError: There is no such file, or the source is no table.
    """
    findings = Findings(source_name(source))
    try:
        panel = _read(source, options or ReadOptions(), findings)
    except Unreadable:
        panel = None
    if panel is not None and split is not None and not findings.errors():
        _look_at_split(panel, split, findings)
    order = {"error": 0, "warning": 1, "note": 2}
    found = tuple(sorted(findings.found, key=lambda finding: order[finding.severity]))
    missing = {} if panel is None else _missing_by_name(panel)
    return CheckReport(source=findings.source, summary=_summary(panel, findings), findings=found, missing=missing)


def _look_at_split(panel: Panel, split: SplitOptions, findings: Findings) -> None:
    """Note series that begin after the training rows; a split that cannot be made is a matter of training."""
    try:
        young = young_series(panel, borders_of(panel, split))
    except MultiwayError:
        return
    if young.any():
        names = [name for name, is_young in zip(panel.names, young, strict=True) if is_young]
        findings.add("young", "warning", about_young(names), count=len(names))


def _missing_by_name(panel: Panel) -> dict[str, int]:
    counts = np.isnan(panel.values).sum(0)
    return {name: int(count) for name, count in zip(panel.names, counts, strict=True) if count}


def _summary(panel: Panel | None, findings: Findings) -> dict[str, Any]:
    if panel is None:
        return {"encoding": findings.encoding}
    counts = {
        kind: sum(finding.count for finding in findings.found if finding.kind == kind)
        for kind in ("sentinel", "duplicates", "gaps", "constant")
    }
    return {
        "rows": panel.num_rows,
        "variates": panel.num_variates,
        "names": listed(panel.names, 12),
        "from": str(panel.times[0]),
        "to": str(panel.times[-1]),
        "step": panel.frequency or "row",
        "season": season_of(panel.frequency),
        "layout": panel.layout,
        "encoding": findings.encoding,
        "missing cells": int(np.isnan(panel.values).sum()),
        "sentinel cells": counts["sentinel"],
        "repeated times": counts["duplicates"],
        "gaps": counts["gaps"],
        "constant columns": counts["constant"],
    }


def _read(source: Any, options: ReadOptions, findings: Findings) -> Panel:
    """Read as far as the file allows, noting flaws; the panel is sound only where no finding is an error."""
    if options.frequency is not None:
        check_frequency(options.frequency)
    table = load_table(source, options, findings)
    time = col.find_time_column(table, options, findings)
    table, times = _timed(table, time, options, findings)
    long = col.find_long_columns(table, time, options, findings)
    draft = (
        _wide(table, time, times, options, findings)
        if long is None
        else pivoted(table, time, long, times, options, findings)
    )
    _note_layout(time, long, draft, findings)
    draft = once_each(in_order(draft, options, findings), options, findings)
    frequency = infer_frequency(draft.times)
    if options.frequency is not None and isinstance(draft.times, pd.DatetimeIndex):
        frequency = options.frequency
    draft = on_step(draft, options, findings)
    draft = with_missing(without_gaps(draft, frequency, options, findings), options, findings)
    report_constant(draft, findings)
    layout: Literal["wide", "long"] = "wide" if long is None else "long"
    notes = tuple(finding.line() for finding in findings.found if finding.severity != "error")
    return Panel(
        values=draft.values, times=draft.times, names=draft.names, frequency=frequency, layout=layout,
        source=findings.source, notes=notes,
    )  # fmt: skip


def _timed(table: Table, time: str | None, options: ReadOptions, findings: Findings) -> tuple[Table, pd.Index]:
    """The rows whose time is sound, and those times."""
    if time is None:
        return table, pd.RangeIndex(len(table.frame))
    times, good = parse_times(table, time, options, findings)
    if good.all():
        return table, times
    frame = table.frame[good].reset_index(drop=True)
    return dataclasses.replace(table, frame=frame, rows=table.rows[good], broken=table.broken[good]), times


def _note_layout(time: str | None, long: tuple[str, str] | None, draft: Draft, findings: Findings) -> None:
    """Say how the table was understood."""
    when = "rows are counted" if time is None else f"times in '{quoted(time)}'"
    if long is None:
        text = f"read as wide: {when}, {len(draft.names)} series in columns"
    else:
        names, values = (f"'{quoted(name)}'" for name in long)
        text = f"read as long: {when}, names in {names}, values in {values}, {len(draft.names)} series"
    findings.add("layout", "note", text)


def _wide(table: Table, time: str | None, times: pd.Index, options: ReadOptions, findings: Findings) -> Draft:
    names = [name for name in table.names if name != time]
    if options.variates is not None:
        names = col.require_columns(names, options.variates, "variates", findings)
    if not names:
        rule = "there is no column of values" + ("" if time is None else f" beside '{quoted(time)}'")
        raise findings.fatal("columns", rule, "Give at least one series; columns are separated by , ; | or tabs.")
    values = col.parse_numbers(table, names, findings)
    return Draft(values=values, times=times, names=tuple(names), origin=np.arange(len(times))[:, None], table=table)
