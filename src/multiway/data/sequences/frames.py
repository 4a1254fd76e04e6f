"""Long tables of labelled series: a row per step, with columns of the series' name, its times, values and class."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.cells import as_text
from multiway.data.columns import parse_numbers, require_column
from multiway.data.findings import Findings, Place, listed, quoted
from multiway.data.loading import load_table
from multiway.data.raw import ID_NAMES, TIME_NAMES, Table
from multiway.data.sequences.options import SequenceOptions
from multiway.data.sequences.sequences import Sequences, check_observed, padded
from multiway.data.times import parse_times

CLASS_NAMES = ("class", "label", "target")
CHOSEN = "Choose the columns of numbers (--columns NAME,NAME)"
Codes = NDArray[np.int64]


def read_long(source: Any, options: SequenceOptions, findings: Findings, *, has_target: bool = True) -> Sequences:
    """Read a long table; rows of a series are successive steps, in the order of their times.

    Raises:
        Unreadable: A column lacks, a series has two classes, or a time twice; it is noted.
    """
    table = load_table(source, options.reading(), findings)
    name = _column(table, options.id, "id", ID_NAMES, findings)
    if name is None:
        fix = "Name it (--id NAME): a long table has a row per step, and a column that says of which series."
        raise findings.fatal("columns", f"no column of series is among {listed(table.names)}", fix)
    target = _column(table, options.target, "target", CLASS_NAMES, findings) if has_target else None
    time = _column(table, options.time, "time", TIME_NAMES, findings)
    group = _column(table, options.group, "group", (), findings)
    variates = _variates(table, {name, target, time, group}, options, findings)
    values = parse_numbers(table, variates, findings, emptied="Correct or empty them.", chosen=CHOSEN)
    codes, ids = pd.factorize(as_text(table.frame[name]))
    order = _order(table, codes, ids, time, options, findings)
    series = np.split(values[order], np.flatnonzero(np.diff(codes[order])) + 1)
    check_observed(series, [Place(column=name, value=str(each)) for each in ids], findings)
    return Sequences(
        values=padded(series), names=tuple(map(str, ids)), variates=tuple(variates), source=findings.source,
        labels=_constant(table, target, codes, ids, findings), groups=_constant(table, group, codes, ids, findings),
    )  # fmt: skip


def looks_long(names: Sequence[str]) -> bool:
    """Whether columns are called as those of labelled series: a name, a time and a class."""
    known = {name.lower() for name in names}
    return all(known & set(usual) for usual in (ID_NAMES, TIME_NAMES, CLASS_NAMES))


def _column(table: Table, named: str | None, option: str, usual: tuple[str, ...], findings: Findings) -> str | None:
    """The named column, or the first with a usual name."""
    if named is not None:
        return require_column(table.names, named, option, findings)
    return next((name for name in table.names if name.lower() in usual), None)


def _variates(table: Table, roles: set[str | None], options: SequenceOptions, findings: Findings) -> list[str]:
    named = [require_column(table.names, name, "columns", findings) for name in options.columns or ()]
    variates = named or [name for name in table.names if name not in roles]
    if not variates:
        raise findings.fatal("columns", "no column of values is left", f"There are {listed(table.names)}.")
    return variates


def _order(
    table: Table, codes: Codes, ids: pd.Index, time: str | None, options: SequenceOptions, findings: Findings
) -> NDArray[np.int64]:
    """Rows series by series, each in the order of time; two rows of one series at one time are refused."""
    if time is None:
        return np.argsort(codes, kind="stable")
    times, good = parse_times(table, time, options.reading(), findings, other="name another column (--time NAME)")
    if not good.all():
        raise findings.fatal("time", "rows have no sound time", "Correct them.")
    stamps = times.to_numpy()
    order: NDArray[np.int64] = np.lexsort((stamps, codes))
    again = np.flatnonzero((np.diff(codes[order]) == 0) & (stamps[order][1:] == stamps[order][:-1]))
    if len(again):
        places = [
            table.place(int(order[at + 1]), time, detail=f"series {ids[codes[order[at + 1]]]}") for at in again[:20]
        ]
        rule = f"{len(again)} rows have the series and the time of another one"
        raise findings.fatal("time", rule, "Keep one row per series and time.", places, len(again))
    return order


def _constant(
    table: Table, column: str | None, codes: Codes, ids: pd.Index, findings: Findings
) -> tuple[str, ...] | None:
    """Class or group of each series; every row of a series says the same."""
    if column is None:
        return None
    words = as_text(table.frame[column]).to_numpy(object)
    _, first = np.unique(codes, return_index=True)
    of_series = words[first]
    other = np.flatnonzero((words != of_series[codes]) | (words == ""))
    if len(other):
        place = table.place(int(other[0]), column, words[other[0]], f"series {quoted(ids[codes[other[0]]])}")
        fix = "Write the same in every row of a series, or name another column (--target NAME)."
        raise findings.fatal("class", f"a series has one {column}, in each of its rows", fix, [place], len(other))
    return tuple(map(str, of_series))
